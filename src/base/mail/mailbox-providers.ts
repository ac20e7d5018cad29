/**
 * A *mailbox provider* runs the mail servers of many domains; this is the list of the large ones, and of filtering
 * services, with the names by which they are recognized.
 *
 * `hosts`: the last labels of their MX hosts. `domains`: those in which they give addresses to the public. The names were
 * collected by hand, not from a published list, and nothing compares them with live DNS: providers rename hosts, and a
 * small one is missing. Mail of a provider that is not recognized is counted with that of no known provider.
 */

interface MailboxProvider {
  /** The id never changes: scripts and dashboards name it. */
  readonly id: string
  readonly name: string
  readonly hosts: readonly string[]
  readonly domains: readonly string[]
}

export const mailboxProviders: readonly MailboxProvider[] = [
  provider('google', 'Google', 'google.com googlemail.com psmtp.com', 'gmail.com googlemail.com'),
  provider(
    'microsoft',
    'Microsoft',
    'outlook.com hotmail.com mx.microsoft office365.us partner.outlook.cn',
    'outlook.com outlook.de outlook.fr outlook.es outlook.it outlook.jp hotmail.com hotmail.co.uk hotmail.de hotmail.es hotmail.fr hotmail.it live.com live.co.uk live.de live.fr live.it live.nl msn.com passport.com',
  ),
  provider(
    'yahoo',
    'Yahoo and AOL',
    'yahoodns.net mx.aol.com',
    'yahoo.com yahoo.co.uk yahoo.co.in yahoo.com.br yahoo.de yahoo.es yahoo.fr yahoo.it ymail.com rocketmail.com aol.com aim.com verizon.net',
  ),
  provider('yahoo-japan', 'Yahoo Japan', 'yahoo.co.jp', 'yahoo.co.jp ybb.ne.jp'),
  provider('apple', 'Apple', 'mail.icloud.com', 'icloud.com me.com mac.com'),
  provider('proton', 'Proton', 'protonmail.ch', 'proton.me protonmail.com protonmail.ch pm.me'),
  provider(
    'gmx',
    'GMX, WEB.DE and mail.com',
    'gmx.net gmx.com web.de mail.com',
    'gmx.net gmx.com gmx.de gmx.at gmx.ch web.de mail.com email.com',
  ),
  provider(
    'ionos',
    'IONOS',
    'kundenserver.de ionos.de ionos.com ionos.co.uk ionos.es ionos.fr 1and1.com 1and1.fr perfora.net',
  ),
  provider('telekom', 'Telekom', 't-online.de', 't-online.de magenta.de'),
  provider('freenet', 'freenet', 'freenet.de', 'freenet.de'),
  provider('orange', 'Orange', 'orange.fr', 'orange.fr wanadoo.fr'),
  provider('free', 'Free', 'free.fr', 'free.fr'),
  provider('sfr', 'SFR', 'sfr.fr', 'sfr.fr neuf.fr cegetel.net'),
  provider('laposte', 'La Poste', 'laposte.net', 'laposte.net'),
  provider('bouygues', 'Bouygues', 'bbox.fr', 'bbox.fr'),
  provider('libero', 'Libero and Virgilio', 'libero.it iol.it virgilio.it', 'libero.it iol.it virgilio.it inwind.it'),
  provider('aruba', 'Aruba', 'aruba.it', 'aruba.it'),
  provider('mailru', 'Mail.ru', 'mail.ru', 'mail.ru bk.ru inbox.ru list.ru internet.ru'),
  provider('yandex', 'Yandex', 'yandex.ru yandex.net', 'yandex.ru yandex.com ya.ru'),
  provider('seznam', 'Seznam', 'seznam.cz', 'seznam.cz email.cz post.cz'),
  provider('wp', 'Wirtualna Polska', 'wp.pl o2.pl', 'wp.pl o2.pl tlen.pl'),
  provider('onet', 'Onet', 'onet.pl', 'onet.pl op.pl vp.pl poczta.onet.pl'),
  provider('interia', 'Interia', 'interia.pl', 'interia.pl'),
  provider('bt', 'BT', 'cpcloud.co.uk', 'btinternet.com btopenworld.com'),
  provider('virgin', 'Virgin Media', 'virginmedia.com', 'virginmedia.com ntlworld.com blueyonder.co.uk'),
  provider('comcast', 'Comcast', 'comcast.net', 'comcast.net'),
  provider('charter', 'Charter Spectrum', 'charter.net', 'charter.net spectrum.net'),
  provider('att', 'AT&T', 'prodigy.net', 'att.net sbcglobal.net bellsouth.net'),
  provider('bigpond', 'Telstra', 'bigpond.com', 'bigpond.com bigpond.net.au telstra.com'),
  provider('uol', 'UOL', 'uol.com.br', 'uol.com.br bol.com.br'),
  provider('qq', 'Tencent', 'qq.com', 'qq.com foxmail.com'),
  provider('netease', 'NetEase', 'netease.com', '163.com 126.com yeah.net'),
  provider('alibaba', 'Alibaba', 'aliyun.com mxhichina.com', 'aliyun.com'),
  provider('naver', 'Naver', 'naver.com', 'naver.com'),
  provider('kakao', 'Kakao', 'hanmail.net', 'hanmail.net daum.net'),
  provider('docomo', 'NTT Docomo', 'docomo.ne.jp', 'docomo.ne.jp'),
  provider('zoho', 'Zoho', 'zoho.com zoho.eu zoho.in zohomail.com', 'zoho.com zohomail.com zohomail.eu'),
  provider('fastmail', 'Fastmail', 'messagingengine.com', 'fastmail.com fastmail.fm'),
  provider('mailbox-org', 'mailbox.org', 'mailbox.org', 'mailbox.org'),
  provider('posteo', 'Posteo', 'posteo.de', 'posteo.de posteo.net'),
  provider('tuta', 'Tuta', 'tutanota.de', 'tutanota.com tuta.com tuta.io'),
  provider('ovh', 'OVHcloud', 'ovh.net ovh.ca'),
  provider('gandi', 'Gandi', 'gandi.net'),
  provider('infomaniak', 'Infomaniak', 'infomaniak.ch', 'ik.me etik.com'),
  provider('strato', 'STRATO', 'rzone.de'),
  provider('hetzner', 'Hetzner', 'your-server.de'),
  provider('one', 'one.com', 'one.com'),
  provider('hostinger', 'Hostinger', 'hostinger.com titan.email'),
  provider('rackspace', 'Rackspace', 'emailsrvr.com'),
  provider('godaddy', 'GoDaddy', 'secureserver.net'),
  provider('namecheap', 'Namecheap', 'privateemail.com registrar-servers.com'),
  provider('amazon', 'Amazon', 'amazonaws.com awsapps.com'),
  provider('cloudflare', 'Cloudflare', 'mx.cloudflare.net'),
  provider('proofpoint', 'Proofpoint', 'pphosted.com ppe-hosted.com gpphosted.com'),
  provider('mimecast', 'Mimecast', 'mimecast.com mimecast.co.za mimecast-offshore.com'),
  provider('barracuda', 'Barracuda', 'barracudanetworks.com'),
  provider('cisco', 'Cisco', 'iphmx.com'),
  provider('broadcom', 'Symantec (Broadcom)', 'messagelabs.com'),
  provider('trend-micro', 'Trend Micro', 'trendmicro.com trendmicro.eu'),
  provider('sophos', 'Sophos', 'sophos.com'),
  provider('hornetsecurity', 'Hornetsecurity', 'hornetsecurity.com antispameurope.com'),
  provider('retarus', 'Retarus', 'retarus.com'),
]

function provider(id: string, name: string, hosts: string, domains = ''): MailboxProvider {
  return { id, name, hosts: hosts.split(' '), domains: domains === '' ? [] : domains.split(' ') }
}

/** Stands in place of an id if the provider is not in the list. */
export const OTHER = 'other'

/** The words of filters and counts: the ids of the list, and the word for all other providers. */
export const providerGroups: readonly string[] = [...mailboxProviders.map(({ id }) => id), OTHER]

const names = new Map(mailboxProviders.map(({ id, name }) => [id, name] as const))

const byHost = new Map(mailboxProviders.flatMap(({ id, hosts }) => hosts.map((host) => [host, id] as const)))
const byDomain = new Map(mailboxProviders.flatMap(({ id, domains }) => domains.map((domain) => [domain, id] as const)))

/** Labels of a name that are compared. No host of the list has more. */
const MAX_LABELS = 4
/** Characters of a DNS name with its final dot. */
const MAX_NAME = 254

/**
 * The id of the provider that has this MX host, in any case, with or without a final dot. Null if it is none of the
 * list.
 */
export function providerOfHost(host: string): string | null {
  const labels = host.slice(-MAX_NAME).toLowerCase().replace(/\.$/, '').split('.').slice(-MAX_LABELS)
  for (let start = 0; start < labels.length; start += 1) {
    const found = byHost.get(labels.slice(start).join('.'))
    if (found !== undefined) return found
  }
  return null
}

/**
 * The provider that gives out addresses in this domain, or null if it is none of the list. Domains of customers are not
 * in it.
 */
export function providerOfDomain(domain: string): string | null {
  return byDomain.get(domain.toLowerCase()) ?? null
}

/**
 * Finds the provider of a message by the host that was called last. If `mx` is null, the recipient's domain decides.
 */
export function providerOf({ mx, domain }: { readonly mx: string | null; readonly domain: string }): string | null {
  return mx === null ? providerOfDomain(domain) : providerOfHost(mx)
}

/** One of `providerGroups`. */
export function providerGroupOf(message: Parameters<typeof providerOf>[0]): string {
  return providerOf(message) ?? OTHER
}

/** One of `providerGroups`. */
export function providerGroupOfHost(host: string): string {
  return providerOfHost(host) ?? OTHER
}

/** The name that people read. */
export function nameProviderGroup(group: string): string {
  return names.get(group) ?? 'No known provider'
}
