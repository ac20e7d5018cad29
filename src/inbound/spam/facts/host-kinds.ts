/**
 * Kinds of hosts and mailboxes that anyone can get within minutes, mostly for free: data for rules.
 *
 * None is bad in itself, each has honest users. The rules weigh what is asked for there.
 */
import { findOwnerDomain, findRegistryDomain, registrySuffixOf } from '../../../base/mail/public-suffix.js'

export const freeMailDomains: ReadonlySet<string> = new Set([
  ...['gmail.com', 'yahoo.com', 'hotmail.com', 'outlook.com', 'aol.com', 'msn.com', 'live.com', 'gmx.net', 'gmx.de'],
  ...['mail.com', 'mail.ru', 'yandex.ru', 'excite.com', 'lycos.com', 'netscape.net', 'juno.com', 'yahoo.co.uk'],
  ...['email.com', 'usa.net', 'icloud.com', 'proton.me', 'protonmail.com', 'qq.com', '163.com', '126.com', 'web.de'],
])

/** They are apart from `freeMail`, because the weight of its rule was fitted without them. */
const moreFreeMailDomains: ReadonlySet<string> = new Set([
  ...['googlemail.com', 'me.com', 'mac.com', 'yandex.com', 'ya.ru', 'bk.ru', 'inbox.ru', 'list.ru', 'rambler.ru'],
  ...['hotmail.co.uk', 'hotmail.fr', 'hotmail.de', 'hotmail.it', 'hotmail.es', 'live.co.uk', 'live.nl', 'outlook.de'],
  ...['outlook.fr', 'outlook.es', 'outlook.it', 'yahoo.fr', 'yahoo.de', 'yahoo.es', 'yahoo.it', 'yahoo.co.jp'],
  ...['yahoo.com.br', 'yahoo.co.in', 'ymail.com', 'rocketmail.com', 'gmx.com', 'gmx.at', 'gmx.ch', 'freenet.de'],
  ...['t-online.de', 'orange.fr', 'wanadoo.fr', 'free.fr', 'laposte.net', 'sfr.fr', 'libero.it', 'virgilio.it'],
  ...['tiscali.it', 'alice.it', 'uol.com.br', 'bol.com.br', 'terra.com.br', 'hotmail.com.br', 'outlook.com.br'],
  ...['seznam.cz', 'wp.pl', 'o2.pl', 'onet.pl', 'interia.pl', 'abv.bg', 'ukr.net', 'zoho.com', 'zohomail.com'],
  ...['tutanota.com', 'tuta.io', 'fastmail.com', 'hushmail.com', 'comcast.net', 'verizon.net', 'att.net', 'cox.net'],
  ...['sbcglobal.net', 'bellsouth.net', 'btinternet.com', 'naver.com', 'daum.net', 'hanmail.net', 'sina.com'],
  ...['foxmail.com', 'rediffmail.com', 'vip.163.com', 'yeah.net', 'aliyun.com', 'docomo.ne.jp', 'nifty.com'],
])

export function isFreeMail(domain: string): boolean {
  return freeMailDomains.has(domain) || moreFreeMailDomains.has(domain)
}

/** Survey and form services: used by fraud, and by honest surveys with a prize. */
const formHosts: ReadonlySet<string> = new Set([
  ...['forms.gle', 'forms.office.com', 'forms.zohopublic.com', 'typeform.com', 'jotform.com', 'jotform.me'],
  ...['formstack.com', 'wufoo.com', 'cognitoforms.com', 'formsite.com', '123formbuilder.com', 'paperform.co'],
  ...['surveymonkey.com', 'tally.so', 'fillout.com', 'form.run', 'formspree.io', 'smartsurvey.co.uk', 'aidaform.com'],
])

export function isFormHost(host: string): boolean {
  return listSuffixes(host).some((suffix) => formHosts.has(suffix))
}

/** Hosts for pages, forms or files without a domain of one's own. A host below one of them counts. */
const freeHosts: ReadonlySet<string> = new Set([
  // Website builders.
  ...['weebly.com', 'weeblysite.com', 'wixsite.com', 'wixstudio.io', 'editorx.io', 'webflow.io', 'square.site'],
  ...['godaddysites.com', 'mystrikingly.com', 'strikingly.com', 'carrd.co', 'framer.app', 'framer.website'],
  ...['framer.ai', 'notion.site', 'canva.site', 'my.canva.site', 'blogspot.com', 'wordpress.com', 'jimdosite.com'],
  ...['jimdofree.com', 'site123.me', 'webnode.page', 'webnode.com', 'yolasite.com', 'ucraft.net', 'tilda.ws'],
  ...['zyrosite.com', 'websites.co.in', 'mobirisesite.com', 'gitbook.io', 'sites.google.com', 'softr.app'],
  ...['webador.com', 'bravesites.com', 'simdif.com', 'durablesites.com', 'hubspotpagebuilder.com', 'typedream.app'],
  ...['clickfunnels.com', 'myclickfunnels.com', 'systeme.io', 'swipepages.net', 'unbounce.com', 'lpages.co'],
  ...['000webhostapp.com', 'infinityfreeapp.com', 'epizy.com', 'rf.gd', 'byethost.com', 'wuaze.com', 'atwebpages.com'],
  ...['justns.ru', 'beget.tech', 'hostingersite.com', 'mybluehost.me', 'cprapid.com', 'plesk.page', 'temp.site'],
  ...['linktr.ee', 'tripod.com', 'angelfire.com', 'geocities.ws', 'myportfolio.com', 'creatorlink.net', 'telegra.ph'],
  // Application platforms.
  ...['web.app', 'firebaseapp.com', 'pages.dev', 'workers.dev', 'r2.dev', 'trycloudflare.com', 'vercel.app'],
  ...['netlify.app', 'github.io', 'gitlab.io', 'glitch.me', 'replit.app', 'repl.co', 'replit.dev', 'onrender.com'],
  ...['herokuapp.com', 'fly.dev', 'surge.sh', 'deno.dev', 'railway.app', 'up.railway.app', 'azurewebsites.net'],
  ...['azurestaticapps.net', 'azurefd.net', 'azureedge.net', 'cloudapp.azure.com', 'appspot.com', 'run.app'],
  ...['amplifyapp.com', 'elasticbeanstalk.com', 'appdomain.cloud', 'ngrok.io', 'ngrok.app', 'ngrok-free.app'],
  ...['loca.lt', 'codesandbox.io', 'csb.app', 'stackblitz.io', 'lovable.app', 'bubbleapps.io', 'streamlit.app'],
  ...['translate.goog', 'powerappsportals.com', 'dynamics.com', 'mendixcloud.com', 'zapier.app', 'retool.com'],
  // Storage for files and objects.
  ...['storage.googleapis.com', 'firebasestorage.googleapis.com', 's3.amazonaws.com', 'blob.core.windows.net'],
  ...['web.core.windows.net', 'digitaloceanspaces.com', 'backblazeb2.com', 'linodeobjects.com', 'wasabisys.com'],
  ...[
    'contabostorage.com',
    'objectstorage.cloud',
    'oraclecloud.com',
    'myqcloud.com',
    'aliyuncs.com',
    'vultrobjects.com',
  ],
  ...['cloud-object-storage.appdomain.cloud', 'scw.cloud', 'ovh.net', 'file.fm', 'mediafire.com', 'gofile.io'],
  ...['ipfs.io', 'dweb.link', 'cf-ipfs.com', 'cloudflare-ipfs.com', 'nftstorage.link', 'w3s.link', 'fleek.co'],
  ...['4everland.io', 'pinata.cloud', 'mypinata.cloud', 'infura-ipfs.io', 'gateway.pinata.cloud', 'arweave.net'],
  ...['fleek.cool', 'on-fleek.app', 'web3.storage', 'skynetlabs.com', 'hardbin.com'],
  ...formHosts,
  // Dynamic DNS.
  ...['duckdns.org', 'ddns.net', 'no-ip.org', 'no-ip.biz', 'hopto.org', 'zapto.org', 'sytes.net', 'myftp.org'],
  ...['servehttp.com', 'serveftp.com', 'dynu.net', 'ddnsfree.com', 'dynv6.net', 'freedns.afraid.org', 'mooo.com'],
  ...['chickenkiller.com', 'us.to', 'dyndns.org', 'ddns.me', 'webhop.me', 'camdvr.org', 'kozow.com', 'giize.com'],
])

/** Paths on hosts that also serve other content. */
const freePaths: readonly RegExp[] = [
  /^docs\.google\.com\/(?:forms|presentation|drawings)\//,
  /^(?:www\.)?canva\.com\/design\//,
  /^[a-z0-9-]{1,63}\.s3[.-][a-z0-9.-]{1,80}\.amazonaws\.com\//,
  /^s3[.-][a-z0-9.-]{1,80}\.amazonaws\.com\//,
  /^(?:www\.)?google\.[a-z.]{2,10}\/(?:amp\/|url\?)/,
]

export const shorteners: ReadonlySet<string> = new Set([
  ...['bit.ly', 'tinyurl.com', 't.co', 'goo.gl', 'ow.ly', 'is.gd', 'buff.ly', 'cutt.ly', 'rebrand.ly', 'shorturl.at'],
  ...['t.ly', 'rb.gy', 'tiny.cc', 'v.gd', 'lnkd.in', 's.id', 'qr.ae', 'bl.ink'],
])

const moreShorteners: ReadonlySet<string> = new Set([
  ...['bitly.com', 'shorturl.asia', 'short.gy', 'urlz.fr', 'u.to', 'clck.ru', 'vk.cc', 'tny.im', 'x.co', 'soo.gd'],
  ...['qrco.de', 'qr.page', 'me-qr.com', 'qr-code-generator.com', 'linkin.bio', 'page.link', 'app.link', 'onelink.me'],
  ...[
    'tinylink.net',
    'shorte.st',
    'adf.ly',
    'ouo.io',
    'hyperurl.co',
    'dub.sh',
    'n9.cl',
    'abre.ai',
    'encurtador.com.br',
  ],
  ...['linkd.in', 'kutt.it', 'rotf.lol', 'tr.ee', 'snip.ly', 'lihi.cc', 'reurl.cc', 'urlshort.dev', 'did.li', 'goo.su'],
])

export function isShortener(host: string): boolean {
  return shorteners.has(host) || moreShorteners.has(host) || moreShorteners.has(findRegistryDomain(host) ?? host)
}

/** `path` with its leading slash. */
export function isFreeHost(host: string, path: string): boolean {
  if (listSuffixes(host).some((suffix) => freeHosts.has(suffix))) return true
  const whole = `${host}${path.slice(0, 200)}`
  return freePaths.some((one) => one.test(whole))
}

/** The host and its parents, down to two labels. */
function listSuffixes(host: string): readonly string[] {
  const labels = host.slice(-253).split('.').slice(-6)
  return labels.slice(0, -1).map((_, at) => labels.slice(at).join('.'))
}

/** Top-level domains that cost almost nothing and whose names are mostly throwaway registrations. */
const throwawayTlds: ReadonlySet<string> = new Set(
  (
    'top xyz click icu buzz cfd sbs rest cyou bond quest lol monster hair skin makeup beauty autos boats homes ' +
    'motorcycles yachts tk ml ga cf gq pw zip mov stream download racing review date faith science party accountant ' +
    'cricket win bid trade loan men country kim gdn mom work surf fit shop online site website space fun vip uno pics'
  ).split(' '),
)

export function isThrowawayDomain(host: string): boolean {
  return throwawayTlds.has(host.slice(host.lastIndexOf('.') + 1))
}

/** Assigned by the companies themselves. */
const companyTlds: ReadonlySet<string> = new Set(
  'google youtube apple amazon microsoft office azure xbox dhl fedex hsbc barclays chase visa netflix walmart lidl'.split(
    ' ',
  ),
)

export function isCompanySuffix(host: string): boolean {
  return companyTlds.has(host.slice(host.lastIndexOf('.') + 1))
}

/** The label before the public suffix. Empty if there is none. */
export function registeredLabelOf(host: string): string {
  const domain = findOwnerDomain(host)
  return domain === null ? '' : domain.slice(0, domain.indexOf('.'))
}

/** A suffix with controlled registration: com, net, org, or one of a country. */
export function isGuardedSuffix(host: string): boolean {
  const suffix = registrySuffixOf(host)
  const last = suffix.slice(suffix.lastIndexOf('.') + 1)
  return /^(?:com|net|org|gov|edu|bank|email)$/.test(last) || (last.length === 2 && !throwawayTlds.has(last))
}
