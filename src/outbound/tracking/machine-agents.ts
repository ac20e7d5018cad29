/**
 * Recognizes the user agents of programs that fetch what is in a message without a person: image proxies, link
 * previews, mail scanners, crawlers. HTTP libraries are not among them: a person's own mail program may use one.
 *
 * Source: the agents that their operators publish, as collected in public lists of crawlers and of mail proxies, read
 * in November 2026. A program that calls itself a browser is not found here. Matching is a search for plain texts.
 */

/** In lower case; an agent that contains one of them is a machine. */
const MACHINE_AGENTS: readonly string[] = [
  // Proxies that load the images of a message for webmail and apps.
  ...['googleimageproxy', 'ggpht.com', 'yahoomailproxy', 'yahoo mailproxy', 'yahoocachesystem', 'duckduckgo-image'],
  // Previews of links in chats and feeds.
  ...['slackbot', 'slack-imgproxy', 'twitterbot', 'facebookexternalhit', 'facebookcatalog', 'meta-externalagent'],
  ...['meta-externalfetcher', 'whatsapp/', 'telegrambot', 'discordbot', 'linkedinbot', 'skypeuripreview', 'viber/'],
  ...['microsoft teams', 'teamsbot', 'bingpreview', 'pinterestbot', 'redditbot', 'snapchat url', 'vkshare', 'embedly'],
  ...['iframely', 'mastodon/', 'bitlybot', 'google-pagerenderer', 'googlemessages', 'line-poker', 'kakaotalk-scrap'],
  ...['zoombot', 'notionembedder', 'flipboardproxy', 'cardyb', 'applebot', 'urlpreview', 'link-preview'],
  // Scanners of mail gateways and link protection.
  ...['barracuda', 'mimecast', 'proofpoint', 'safelinks', 'microsoft defender', 'microsoft-atp', 'fireeye', 'trellix'],
  ...['forcepoint', 'websense', 'symantec', 'messagelabs', 'mcafee', 'trendmicro', 'trend micro', 'sophos', 'ironport'],
  ...['cisco-email', 'zscaler', 'fortinet', 'fortigate', 'checkpoint', 'bitdefender', 'kaspersky', 'cloudmark'],
  ...['vade secure', 'vadesecure', 'hornetsecurity', 'spamhaus', 'virustotal', 'urlscan', 'phishtank', 'netcraft'],
  ...['google-safebrowsing', 'google-safety', 'abnormalsecurity', 'perception-point', 'mailscanner', 'rspamd'],
  // Search engines and checkers of links.
  ...['googlebot', 'google-inspectiontool', 'google-read-aloud', 'bingbot', 'yandexbot', 'baiduspider', 'duckduckbot'],
  ...['ahrefsbot', 'semrushbot', 'mj12bot', 'petalbot', 'bytespider', 'gptbot', 'chatgpt-user', 'claudebot', 'ccbot'],
  ...['crawler', 'spider/', 'linkchecker', 'w3c_validator', 'w3c-checklink', 'uptimerobot', 'pingdom', 'site24x7'],
]

/** Mozilla/5.0 and nothing else: what Mail Privacy Protection sends; no browser does. */
const BARE_AGENT = 'mozilla/5.0'

export function isMachineAgent(userAgent: string): boolean {
  const text = userAgent.toLowerCase()
  return MACHINE_AGENTS.some((name) => text.includes(name))
}

export function isBareAgent(userAgent: string): boolean {
  return userAgent.trim().toLowerCase() === BARE_AGENT
}
