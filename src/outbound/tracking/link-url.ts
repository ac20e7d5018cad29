/**
 * Decides which href is tracked, and which URL is stored for it.
 *
 * A stored URL is sent as the value of a Location field, so it consists of visible ASCII. It is the href as written if
 * that is an absolute URL in the characters of RFC 3986. Otherwise it is the serialization by the URL Standard, which
 * encodes the rest and removes line ends. Other schemes, relative URLs, text that does not parse, URLs with credentials
 * (a password is not stored), the place of the unsubscribe link, and URLs of this server are not tracked.
 */
import type { DomainName } from '../../base/mail/address.js'

/** The hosts under which this server may have made links for a domain, and the path before `/v1`. */
interface OwnUrls {
  readonly hosts: readonly string[]
  readonly path: string
}

const webUrl = /^[\0-\x20]*h[\t\n\r]*t[\t\n\r]*t[\t\n\r]*p/i
const rfc3986 = /^https?:\/\/[\w.~:/?#[\]@!$&'()*+,;=%-]+$/i
const visibleAscii = /^[\x21-\x7e]+$/
const unsubscribePlace = /\{\{\s*unsubscribe_url\s*\}\}/

/** The host of a URL that needs no parsing: a name in lower case whose last label has only letters, and no port. */
const plainHost = /^https?:\/\/((?:[a-z\d-]{1,63}\.){1,9}[a-z]{2,63})(?:[/?#]|$)/

/** `href` is decoded. Returns null if it stays as it is. */
export function linkUrlOf(href: string, own: OwnUrls): string | null {
  if (isPlainUrl(href, own)) return href
  if (!webUrl.test(href) || unsubscribePlace.test(href)) return null
  const url = parseUrl(href)
  if (url === null) return null
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return null
  if (url.username !== '' || url.password !== '' || isOwnUrl(url, own)) return null
  const stored = rfc3986.test(href) ? href : url.href
  return visibleAscii.test(stored) ? stored : null
}

/** Tells whether the href needs no parsing. Most do not, and parsing one costs as much as the rest of its tracking. */
function isPlainUrl(href: string, own: OwnUrls): boolean {
  const host = plainHost.exec(href)?.[1]
  // `URL` must judge what punycode encodes.
  if (host === undefined || host.includes('xn--') || own.hosts.includes(host)) return false
  return rfc3986.test(href)
}

function parseUrl(href: string): URL | null {
  try {
    return new URL(href)
  } catch {
    return null
  }
}

function isOwnUrl({ host, pathname }: URL, own: OwnUrls): boolean {
  if (!own.hosts.includes(host) || !pathname.startsWith(`${own.path}/v1/`)) return false
  return /^(?:track|unsubscribe)\//.test(pathname.slice(own.path.length + '/v1/'.length))
}

/** `publicUrl` is `service.public_url`. It is parsed once for all domains. */
export function createOwnUrls(publicUrl: string): (mailHost: DomainName) => OwnUrls {
  const { host, port, pathname } = new URL(publicUrl)
  const path = pathname.replace(/\/$/, '')
  return (mailHost) => ({ hosts: [host, port === '' ? mailHost : `${mailHost}:${port}`], path })
}
