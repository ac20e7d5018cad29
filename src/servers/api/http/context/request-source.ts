/**
 * Decides where a request comes from: the client's address and scheme, and the page that sent it.
 *
 * `X-Forwarded-For` and `X-Forwarded-Proto` count only from a peer that we trust. The first is read
 * from the right, where our own proxies write: the first address that is not a proxy of ours is the
 * client. Anything further left may be forged. An entry that is not an address ends the search.
 */
import type { IncomingMessage } from 'node:http'
import { Refusal } from '../../../../base/mail/refusal.js'
import { parseIpAddress } from '../../../../base/platform/ip-address.js'

/** The other end of a connection. */
export interface Peer {
  readonly address: string
  /** The `X-Forwarded-…` fields of this peer are believed. */
  readonly trusted: boolean
  readonly tls: boolean
}

/** The address of a client of a Unix socket. Such a client has none and runs on this machine. */
export const LOOPBACK_ADDRESS = '127.0.0.1'

export type IsProxy = (address: string) => boolean
type Scheme = 'http' | 'https'

export function findClientAddress(peer: Peer, forwardedFor: string | undefined, isProxy: IsProxy): string {
  if (forwardedFor === undefined || !peer.trusted) return peer.address
  let nearest = peer.address
  for (const entry of forwardedFor.split(',').reverse()) {
    const address = parseAddressEntry(entry.trim())
    if (address === null) return nearest
    nearest = address
    if (!isProxy(address)) return nearest
  }
  return nearest
}

/** The scheme between the client and us, or its nearest proxy, or null if it is unknown. */
export function findClientScheme(peer: Peer, forwardedProto: string | undefined): Scheme | null {
  const forwarded = peer.trusted ? forwardedProto?.split(',').at(-1)?.trim().toLowerCase() : undefined
  if (forwarded === 'http' || forwarded === 'https') return forwarded
  return peer.tls ? 'https' : null
}

/** The scheme of a request, as `findClientScheme` tells it. */
export function schemeOf({ headers }: IncomingMessage, peer: Peer): Scheme | null {
  const forwarded = headers['x-forwarded-proto']
  return findClientScheme(peer, Array.isArray(forwarded) ? forwarded.join(',') : forwarded)
}

/** Refuses plain HTTP between a client and its proxy, because pages have passwords. */
export function requireHttps(request: IncomingMessage, peer: Peer): void {
  if (!peer.trusted || schemeOf(request, peer) !== 'http') return
  throw new Refusal('invalid-parameter', 'pages are served over HTTPS only')
}

/**
 * Reads `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1` and `[2001:db8::1]:80`; IPv4-mapped IPv6 becomes IPv4. A zone
 * (`%eth0`) is dropped: it names an interface of the proxy.
 */
function parseAddressEntry(entry: string): string | null {
  const address = /^\[([^\]]+)\](?::\d+)?$/.exec(entry)?.[1] ?? /^([\d.]+):\d+$/.exec(entry)?.[1] ?? entry
  const [unzoned = ''] = address.split('%', 1)
  return parseIpAddress(unzoned)?.toString() ?? null
}

/** Whether `Origin` (RFC 6454) names a page of another site. If `scheme` is null, any scheme is ours. */
export function isForeignOrigin(origin: string, host: string | undefined, scheme: Scheme | null): boolean {
  const [, given, authority] = /^(https?):\/\/([^/?#@]+)$/i.exec(origin) ?? []
  if (given === undefined || authority === undefined || host === undefined) return true
  const originScheme = given.toLowerCase()
  if (scheme !== null && scheme !== originScheme) return true
  return stripDefaultPort(authority, originScheme) !== stripDefaultPort(host, originScheme)
}

/** Browsers omit the default port of a scheme, other clients may name it. */
function stripDefaultPort(authority: string, scheme: string): string {
  return authority.toLowerCase().replace(scheme === 'https' ? /:443$/ : /:80$/, '')
}
