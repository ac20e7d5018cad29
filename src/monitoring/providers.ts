/**
 * Which large receiver an MX host belongs to, by the end of its name. The list is closed, because its words are
 * values of a label: a host that is not in it is `other`.
 */
const suffixes: ReadonlyMap<string, string> = new Map(
  Object.entries({
    'google.com': 'google',
    'googlemail.com': 'google',
    'psmtp.com': 'google',
    'outlook.com': 'microsoft',
    'mx.microsoft': 'microsoft',
    'hotmail.com': 'microsoft',
    'yahoodns.net': 'yahoo',
    'icloud.com': 'apple',
    'gmx.net': 'gmx',
    'web.de': 'gmx',
    'kundenserver.de': 'ionos',
    'ionos.de': 'ionos',
    'ionos.com': 'ionos',
    '1and1.com': 'ionos',
    't-online.de': 'telekom',
    'rzone.de': 'strato',
    'your-server.de': 'hetzner',
    'ovh.net': 'ovh',
    'orange.fr': 'orange',
    'libero.it': 'libero',
    'comcast.net': 'comcast',
    'protonmail.ch': 'proton',
    'messagingengine.com': 'fastmail',
    'zoho.com': 'zoho',
    'zoho.eu': 'zoho',
    'yandex.net': 'yandex',
    'yandex.ru': 'yandex',
    'mail.ru': 'mail-ru',
    'qq.com': 'qq',
    'netease.com': 'netease',
    'amazonaws.com': 'amazon',
    'mimecast.com': 'mimecast',
    'pphosted.com': 'proofpoint',
    'ppe-hosted.com': 'proofpoint',
    'iphmx.com': 'cisco',
    'messagelabs.com': 'symantec',
    'barracudanetworks.com': 'barracuda',
    'mx.cloudflare.net': 'cloudflare',
  }),
)

/** The attempt ended before a host was called. */
const NO_HOST = 'none'
const OTHER = 'other'

export const providers: readonly string[] = [...new Set(suffixes.values()), NO_HOST, OTHER]

/** `mx`: the host's name; null: none was called. */
export function providerOf(mx: string | null): string {
  if (mx === null) return NO_HOST
  const name = mx.toLowerCase()
  const beforeLast = name.lastIndexOf('.', name.lastIndexOf('.') - 1)
  const found = suffixes.get(name.slice(beforeLast + 1))
  if (found !== undefined || beforeLast === -1) return found ?? OTHER
  return suffixes.get(name.slice(name.lastIndexOf('.', beforeLast - 1) + 1)) ?? OTHER
}
