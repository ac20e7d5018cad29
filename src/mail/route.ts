/**
 * A fixed next hop, as the operator writes it.
 *
 * `host:port`, `smtp://host:port` (STARTTLS where offered) or `smtps://host:port` (TLS
 * from the start), each URL form optionally with `user:password@`, percent-encoded as in
 * any URL. IPv6 addresses stand in brackets. Without a port: 25, or 465 for smtps.
 *
 * Invariant: a problem never repeats the text, since a password may stand in it.
 */
import { isIP } from 'node:net'
import { domainNameOrNull } from './address.js'

export interface Route {
  /** Domain name in lower case, or IP address without brackets. */
  readonly host: string
  readonly port: number
  readonly tls: 'opportunistic' | 'implicit'
  readonly auth: { readonly user: string; readonly pass: string } | null
}

export type ParsedRoute =
  | { readonly kind: 'route'; readonly route: Route }
  | { readonly kind: 'problem'; readonly problem: string }

const form = /^(?:(?<scheme>[a-z][a-z0-9+.-]*):\/\/)?(?:(?<login>[^@/]*)@)?(?<place>[^@/]*)\/?$/i
const placeForm = /^(?:\[(?<v6>[^[\]]*)\]|(?<name>[^:[\]]*))(?::(?<port>.*))?$/

export function parseRoute(text: string): ParsedRoute {
  const { scheme, login, place = '' } = form.exec(text.trim())?.groups ?? {}
  if (place === '') return problem('a route is "host:port" or "smtps://user:password@host:port"')
  const tls = tlsOf(scheme)
  if (tls === null) return problem('the scheme of a route is smtp or smtps')
  const auth = login === undefined ? null : authOf(login)
  if (auth === undefined) return problem('the login of a route is "user:password", percent-encoded')
  if (auth !== null && scheme === undefined) return problem('a route with a login needs smtp:// or smtps:// before it')
  const { v6, name, port: digits } = placeForm.exec(place)?.groups ?? {}
  const host = v6 === undefined ? hostOf(name ?? '') : isIP(v6) === 6 ? v6.toLowerCase() : null
  if (host === null)
    return problem('the host of a route is a domain name, an IPv4 address or an IPv6 address in brackets')
  const port = digits === undefined ? defaultPorts[tls] : portOf(digits)
  if (port === null) return problem('the port of a route is a number from 1 to 65535')
  return { kind: 'route', route: { host, port, tls, auth } }
}

const defaultPorts = { opportunistic: 25, implicit: 465 } as const

function problem(text: string): ParsedRoute {
  return { kind: 'problem', problem: text }
}

function tlsOf(scheme: string | undefined): Route['tls'] | null {
  switch (scheme?.toLowerCase()) {
    case undefined:
    case 'smtp':
      return 'opportunistic'
    case 'smtps':
      return 'implicit'
    default:
      return null
  }
}

function authOf(login: string): Route['auth'] | undefined {
  const colon = login.indexOf(':')
  if (colon < 1) return undefined
  try {
    const [user, pass] = [decodeURIComponent(login.slice(0, colon)), decodeURIComponent(login.slice(colon + 1))]
    // NUL separates the parts of AUTH PLAIN (RFC 4616), CR and LF end a command.
    return pass === '' || /[\0\r\n]/.test(user + pass) ? undefined : { user, pass }
  } catch {
    return undefined
  }
}

function hostOf(name: string): string | null {
  return isIP(name) === 4 ? name : domainNameOrNull(name)
}

function portOf(digits: string): number | null {
  const port = /^\d{1,5}$/.test(digits) ? Number(digits) : 0
  return port >= 1 && port <= 65_535 ? port : null
}
