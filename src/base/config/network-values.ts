/**
 * Parsers of settings that name hosts and addresses. Each returns undefined for an invalid text.
 *
 * Names are not resolved here.
 */
import { isIP } from 'node:net'
import { type DomainName, tryParseDomainName } from '../mail/address.js'
import { isLoopback, isPublishable } from '../platform/ip-address.js'

export interface ListenAddress {
  /** Name or address, without brackets. */
  readonly host: string
  /** 0 takes any free port. */
  readonly port: number
}

/** The addresses where the REST API listens. */
export type ApiListenAddress =
  | ({ readonly kind: 'tls' } & ListenAddress)
  /** It has no TLS, for a reverse proxy on this machine. */
  | ({ readonly kind: 'http' } & ListenAddress)
  /** The same, on a Unix socket. */
  | { readonly kind: 'unix'; readonly path: string }

const label = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?'
/** The last label must not be a number: `256.0.0.1` is a mistyped address, not a name. */
const hostNamePattern = new RegExp(`^(?!(?:.*\\.)?\\d+$)${label}(?:\\.${label})*$`)

/** A host name of ASCII letters, digits and hyphens (RFC 1123 section 2.1), in lower case. */
export function parseHostName(text: string): DomainName | undefined {
  const name = text.toLowerCase()
  return hostNamePattern.test(name) ? (tryParseDomainName(name) ?? undefined) : undefined
}

/**
 * An https or http URL to which paths are appended, without a trailing slash. It must have no user, query or
 * fragment.
 */
export function parsePublicUrl(text: string): string | undefined {
  if (!/^https?:\/\/[^\s@?#\\]+$/i.test(text) || !URL.canParse(text)) return undefined
  return new URL(text).href.replace(/(?<!\/)\/+$/, '')
}

/** `name:587`, `192.0.2.1:587`, `[2001:db8::1]:587`. */
export function parseListenAddress(text: string): ListenAddress | undefined {
  const found = /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(text)
  if (found === null) return undefined
  const [, bracketed, plain = '', digits] = found
  const host = bracketed === undefined ? parsePlainHost(plain) : isIP(bracketed) === 6 ? bracketed : undefined
  const port = Number(digits)
  return host === undefined || port > 65_535 ? undefined : { host, port }
}

/** Limit of Linux, without the final zero byte. */
const MAX_SOCKET_PATH_BYTES = 107

/** Parses what `parseListenAddress` does, or `http://` with a loopback address and a port, or `unix:` and a path. */
export function parseApiListenAddress(text: string): ApiListenAddress | undefined {
  if (text.startsWith('unix:')) {
    const path = text.slice('unix:'.length)
    const fits = path !== '' && !path.includes('\0') && Buffer.byteLength(path) <= MAX_SOCKET_PATH_BYTES
    return fits ? { kind: 'unix', path } : undefined
  }
  const plain = text.startsWith('http://')
  const listen = parseListenAddress(plain ? text.slice('http://'.length) : text)
  if (listen === undefined || (plain && !isLoopback(listen.host))) return undefined
  return { kind: plain ? 'http' : 'tls', ...listen }
}

function parsePlainHost(text: string): string | undefined {
  return isIP(text) === 4 ? text : parseHostName(text)
}

/** An IPv4 or IPv6 address. */
export function parseIp(text: string): string | undefined {
  return isIP(text) === 0 ? undefined : text
}

/** An address that DNS can publish. */
export function parseHostAddress(text: string): string | undefined {
  return isPublishable(text) ? text : undefined
}

/** The left side of a route. It is a domain, or `*` for all other domains. */
export function parseRouteDomain(text: string): string | undefined {
  return text === '*' ? text : parseHostName(text)
}

/** The URL of an HTTP server. Credentials in it must be percent-encoded. */
export function parseHttpUrl(text: string): URL | undefined {
  if (!/^https?:\/\/[^\s\p{Cc}?#]+$/iu.test(text) || !URL.canParse(text)) return undefined
  const url = new URL(text)
  return isPercentDecodable(`${url.username}:${url.password}`) && url.port !== '0' ? url : undefined
}

function isPercentDecodable(login: string): boolean {
  try {
    return !/[\0\r\n]/.test(decodeURIComponent(login))
  } catch {
    return false
  }
}

/** A short message service centre (SMPP 3.4). */
export interface SmppServer {
  readonly host: string
  readonly port: number
  /** TLS from the first byte. */
  readonly secure: boolean
}

const SMPP_PORTS = { 'smpp:': 2775, 'smpps:': 3550 } as const

export function parseSmppUrl(text: string): SmppServer | undefined {
  const match = /^(smpps?:)\/\/(\[[0-9a-f:.]+\]|[a-z0-9.-]+)(?::(\d{1,5}))?\/?$/i.exec(text)
  if (match === null) return undefined
  const scheme = match[1]?.toLowerCase() === 'smpps:' ? 'smpps:' : 'smpp:'
  const written = match[2] ?? ''
  const host = written.startsWith('[') ? parseIp(written.slice(1, -1)) : (parseIp(written) ?? parseHostName(written))
  const port = match[3] === undefined ? SMPP_PORTS[scheme] : Number(match[3])
  return host === undefined || port < 1 || port > 65_535 ? undefined : { host, port, secure: scheme === 'smpps:' }
}
