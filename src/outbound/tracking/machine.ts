/**
 * Decides whether an open or a click came from a machine. A *machine* is a program that opens or clicks without a
 * person, such as an image proxy or a scanner. Pure. `link-sweeps.ts` finds what a scanner does over several clicks.
 *
 * The user agent alone suffices. Opens soon after the delivery count as a person's, because apps show new mail at once.
 * No person follows a link within two seconds, or while the message is still being handed over.
 */
import { isInSomeNetwork, type Network, parseNetwork } from '../../base/platform/ip-address.js'

/**
 * Egress networks of Apple's Mail Privacy Protection, which shares them with iCloud Private Relay. Source:
 * https://mask-api.icloud.com/egress-ip-ranges.csv of February 2026: its 280,000 entries of three operators (Akamai,
 * Cloudflare, Fastly) in the smallest common networks. People who browse with Private Relay use them too, so a network
 * alone decides nothing.
 */
const APPLE_EGRESS_NETWORKS = parseAll([
  '104.28.0.0/16',
  '140.248.0.0/16',
  '146.75.128.0/17',
  '172.224.0.0/14',
  '2606:54c0::/30',
  '2a02:26f7::/32',
  '2a04:4e41::/32',
  '2a09:bac2::/31',
])

/**
 * Networks of Google's own servers, from which Gmail loads images, sometimes with the agent of a browser. Source:
 * the SPF records _netblocks.google.com, _netblocks2 and _netblocks3, as of 2025. Google Cloud's customers have
 * other networks.
 */
const GOOGLE_NETWORKS = parseAll([
  ...['64.233.160.0/19', '66.102.0.0/20', '66.249.80.0/20', '72.14.192.0/18', '74.125.0.0/16', '108.177.8.0/21'],
  ...['108.177.96.0/19', '172.217.0.0/19', '172.217.32.0/20', '172.217.128.0/19', '172.217.160.0/20'],
  ...['172.217.192.0/19', '172.253.56.0/21', '172.253.112.0/20', '173.194.0.0/16', '209.85.128.0/17'],
  ...['216.58.192.0/19', '216.239.32.0/19', '2001:4860:4000::/36', '2404:6800:4000::/36', '2607:f8b0:4000::/36'],
  ...['2800:3f0:4000::/36', '2a00:1450:4000::/36', '2c0f:fb50:4000::/36'],
])

/** Texts in lower case. An agent that contains one of them is a machine. */
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

/** The agent of Mail Privacy Protection: Mozilla/5.0 and nothing else. No browser sends it. */
const BARE_AGENT = 'mozilla/5.0'

/** The client that requested a pixel or a link. */
export interface Requester {
  /** Null if the request has no such field. */
  readonly userAgent: string | null
  /** The client's address, also if our proxies forwarded the request. */
  readonly address: string
}

/** How far the delivery of an email has come. */
export interface DeliveryProgress {
  /** Epoch milliseconds of its latest delivery to a recipient. Null if there was none yet. */
  readonly deliveredAt: number | null
  /** True while an attempt to deliver it is under way. */
  readonly isUnderWay: boolean
}

/** Milliseconds after a delivery in which a click counts as a scanner's. */
const SCAN_TIME = 2_000

export function isMachineOpen(requester: Requester): boolean {
  return isMachineRequester(requester) || isGoogleServer(requester.address)
}

export function isMachineClick(
  requester: Requester,
  { deliveredAt, isUnderWay }: DeliveryProgress,
  at: number,
): boolean {
  if (isMachineRequester(requester)) return true
  return deliveredAt === null ? isUnderWay : at - deliveredAt < SCAN_TIME
}

function isMachineRequester({ userAgent, address }: Requester): boolean {
  if (userAgent === null) return false
  return isMachineAgent(userAgent) || (isBareAgent(userAgent) && isAppleEgress(address))
}

/**
 * Recognizes the user agents of programs that fetch what is in a message without a person: image proxies, link
 * previews, mail scanners, crawlers. HTTP libraries are not among them: a person's own mail program may use one.
 *
 * Source: the agents that their operators publish, as collected in public lists of crawlers and of mail proxies, read
 * in November 2026. A program that calls itself a browser is not found here. Matching is a search for plain texts.
 */
export function isMachineAgent(userAgent: string): boolean {
  const text = userAgent.toLowerCase()
  return MACHINE_AGENTS.some((name) => text.includes(name))
}

function isBareAgent(userAgent: string): boolean {
  return userAgent.trim().toLowerCase() === BARE_AGENT
}

/**
 * Networks from which providers load the images of messages on behalf of their users.
 *
 * These lists age. A network that is missing here makes an open of a machine count as a person's; that is why agents
 * are looked at first. They cannot be fetched at run time: the daemon contacts nothing that it was not configured for.
 */
function isAppleEgress(address: string): boolean {
  return isInSomeNetwork(APPLE_EGRESS_NETWORKS, address)
}

function isGoogleServer(address: string): boolean {
  return isInSomeNetwork(GOOGLE_NETWORKS, address)
}

function parseAll(texts: readonly string[]): readonly Network[] {
  return texts.map((text) => {
    const network = parseNetwork(text)
    if (network === null) throw new Error(`not a network: ${text}`)
    return network
  })
}
