/**
 * A fixed next hop, as the operator writes it: `host:port`, `smtp://host:port` (STARTTLS if offered) or
 * `smtps://host:port` (TLS from the start). The URL forms may have a percent-encoded `user:password@`. IPv6
 * addresses are in brackets. The default port is 25, or 465 for smtps.
 *
 * Invariant: a problem never repeats the text, since it may contain a password.
 */
import { isIP } from 'node:net'
import { tryParseDomainName } from './address.js'

export interface Route {
  /** Domain name in lower case, or IP address without brackets. */
  readonly host: string
  readonly port: number
  readonly tls: 'opportunistic' | 'implicit'
  readonly auth: { readonly user: string; readonly pass: string } | null
}

type ParsedRoute =
  | { readonly kind: 'route'; readonly route: Route }
  | { readonly kind: 'problem'; readonly problem: string }

const routeForm = /^(?:(?<scheme>[a-z][a-z0-9+.-]*):\/\/)?(?:(?<login>[^@/]*)@)?(?<place>[^@/]*)\/?$/i
const hostPortForm = /^(?:\[(?<v6>[^[\]]*)\]|(?<name>[^:[\]]*))(?::(?<port>.*))?$/

export function parseRoute(text: string): ParsedRoute {
  const { scheme, login, place = '' } = routeForm.exec(text.trim())?.groups ?? {}
  if (place === '') return buildProblem('a route is "host:port" or "smtps://user:password@host:port"')
  const tls = parseScheme(scheme)
  if (tls === null) return buildProblem('the scheme of a route is smtp or smtps')
  const auth = login === undefined ? null : parseLogin(login)
  if (auth === undefined) return buildProblem('the login of a route is "user:password", percent-encoded')
  if (auth !== null && scheme === undefined)
    return buildProblem('a route with a login needs smtp:// or smtps:// before it')
  const { v6, name, port: digits } = hostPortForm.exec(place)?.groups ?? {}
  const host = v6 === undefined ? parseHost(name ?? '') : isIP(v6) === 6 ? v6.toLowerCase() : null
  if (host === null)
    return buildProblem('the host of a route is a domain name, an IPv4 address or an IPv6 address in brackets')
  const port = digits === undefined ? defaultPorts[tls] : parsePort(digits)
  if (port === null) return buildProblem('the port of a route is a number from 1 to 65535')
  return { kind: 'route', route: { host, port, tls, auth } }
}

const defaultPorts = { opportunistic: 25, implicit: 465 } as const

function buildProblem(text: string): ParsedRoute {
  return { kind: 'problem', problem: text }
}

function parseScheme(scheme: string | undefined): Route['tls'] | null {
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

function parseLogin(login: string): Route['auth'] | undefined {
  const colon = login.indexOf(':')
  if (colon < 1) return undefined
  try {
    const [user, pass] = [decodeURIComponent(login.slice(0, colon)), decodeURIComponent(login.slice(colon + 1))]
    // NUL separates the parts of AUTH PLAIN (RFC 4616); CR and LF end a command.
    return pass === '' || /[\0\r\n]/.test(user + pass) ? undefined : { user, pass }
  } catch {
    return undefined
  }
}

function parseHost(name: string): string | null {
  return isIP(name) === 4 ? name : tryParseDomainName(name)
}

function parsePort(digits: string): number | null {
  const port = /^\d{1,5}$/.test(digits) ? Number(digits) : 0
  return port >= 1 && port <= 65_535 ? port : null
}
