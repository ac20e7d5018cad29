/**
 * The kinds of values of settings.
 *
 * Each kind has one text that says what it allows. That text is the message of all its issues; `problems.ts` adds
 * what was found.
 */
import { z } from 'zod'
import { type Address, type DomainName, tryParseAddress } from '../mail/address.js'
import { parseRoute, type Route } from '../mail/route.js'
import { type DnsServer, parseDnsServer } from '../platform/dns/transport.js'
import { type Network, parseNetwork } from '../platform/ip-address.js'
import { isPhoneCountry } from '../platform/phone-countries.js'
import type { ApiListenAddress, ListenAddress, SmppServer } from './network-values.js'
import * as parsers from './network-values.js'

/** A setting written as a string. `secret` says that it may hold a password, so no message repeats it. */
function textValue<T>(
  allowed: string,
  parse: (written: string) => T | undefined,
  secret = false,
): z.ZodType<T, string> {
  const kind = z.string(allowed).transform((written, context): T => {
    const value = parse(written)
    if (value !== undefined) return value
    context.addIssue({ code: 'custom', message: allowed, params: { secret } })
    return z.NEVER
  })
  if (secret) secretKinds.add(kind)
  return kind
}

const secretKinds = new WeakSet<z.core.$ZodType>()

/** Tells whether a value of this kind may hold a password. */
export function isSecretKind(kind: z.core.$ZodType): boolean {
  return secretKinds.has(kind)
}

function valueInRange(value: number | undefined, min: number, max: number): number | undefined {
  return value !== undefined && value >= min && value <= max ? value : undefined
}

const milliseconds = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const
/** `MB` is 1,048,576 bytes, as everywhere in Posthorn. */
const bytesPerUnit = { KB: 1024, MB: 1024 ** 2, GB: 1024 ** 3 } as const

/** `90s`, `5m`, `8h`, `4d` as milliseconds. */
function parseDuration(text: string): number | undefined {
  const match = /^(\d{1,6})([smhd])$/.exec(text)
  return match ? Number(match[1]) * milliseconds[match[2] as keyof typeof milliseconds] : undefined
}

/** `512KB`, `15MB`, `1GB` as bytes. */
function parseSize(text: string): number | undefined {
  const match = /^(\d{1,6})(KB|MB|GB)$/.exec(text)
  return match ? Number(match[1]) * bytesPerUnit[match[2] as keyof typeof bytesPerUnit] : undefined
}

/** Milliseconds, at least one second. */
export function duration(max?: string): z.ZodType<number, string> {
  const limit = max === undefined ? undefined : parseDuration(max)
  const allowed = `a duration such as "90s", "5m", "8h", "4d"${max === undefined ? '' : `, up to "${max}"`}`
  return textValue(allowed, (written) => valueInRange(parseDuration(written), 1000, limit ?? Number.POSITIVE_INFINITY))
}

/** Bytes, from `min` to `max`. */
export function size(min: string, max: string): z.ZodType<number, string> {
  const [lower, upper] = [parseSize(min) ?? 0, parseSize(max) ?? 0]
  const allowed = `a size such as "500KB", "15MB", from "${min}" to "${max}"`
  return textValue(allowed, (written) => valueInRange(parseSize(written), lower, upper))
}

const allowedBytes = 'a number of bytes, or a size such as "500MB", "10GB"'
/** A limit in bytes, written as a number or a size. */
export const bytes: z.ZodType<number, number | string> = z
  .union([z.int().min(0), z.string()], allowedBytes)
  .transform((written, context): number => {
    const value = typeof written === 'number' ? written : parseSize(written)
    if (value !== undefined) return value
    context.addIssue({ code: 'custom', message: allowedBytes })
    return z.NEVER
  })

export function count(min: number, max: number): z.ZodType<number, number> {
  const allowed = `a whole number from ${min} to ${max}`
  return z.int(allowed).min(min, allowed).max(max, allowed)
}

const allowedWeight = 'a number above 0, up to 100, with two decimals at most'
/** A spam score, or a contribution to one; scores are stored in hundredths. */
export const weight: z.ZodType<number, number> = z
  .number(allowedWeight)
  .positive(allowedWeight)
  .max(100, allowedWeight)
  .multipleOf(0.01, allowedWeight)

export function oneOf<const T extends string>(...words: readonly T[]): z.ZodType<T, T> {
  return z.enum(words, `one of ${words.map((word) => JSON.stringify(word)).join(', ')}`)
}

export function list<T, W>(item: z.ZodType<T, W>, allowed: string): z.ZodArray<z.ZodType<T, W>> {
  return z.array(item, `a list of ${allowed}`)
}

/** A list of at least one. */
export function nonEmptyList<T, W>(item: z.ZodType<T, W>, allowed: string): z.ZodType<readonly [T, ...T[]], W[]> {
  const text = `a list of ${allowed}, at least one`
  return z.array(item, text).transform((items, context): readonly [T, ...T[]] => {
    const [first, ...rest] = items
    if (first !== undefined) return [first, ...rest]
    context.addIssue({ code: 'custom', message: text })
    return z.NEVER
  })
}

export const flag: z.ZodType<boolean, boolean> = z.boolean('true or false')

/** The path of a file or folder, not empty. */
export const path: z.ZodType<string, string> = textValue('a path', (written) => (written === '' ? undefined : written))
export const pathOrNone: z.ZodType<string, string> = z.string('a path, or "" for none')

function parseMailbox(written: string): Address | undefined {
  const [local = '', domain = '', ...more] = written.split('@')
  const isPlain = /^[\w!#$%&'*+/=?^`{|}~-]+(\.[\w!#$%&'*+/=?^`{|}~-]+)*$/.test(local)
  if (!isPlain || more.length > 0 || parsers.parseHostName(domain) === undefined) return undefined
  return tryParseAddress(written) ?? undefined
}

export const hostName: z.ZodType<DomainName, string> = textValue(
  'a host name such as "mail.example.net" (international names in their xn-- form)',
  parsers.parseHostName,
)
export const mailbox: z.ZodType<Address, string> = textValue('an address such as "posthorn@example.net"', parseMailbox)
/** Null if there is none. */
export const mailboxOrNone: z.ZodType<Address | null, string> = textValue(
  'an address such as "postmaster@example.net", or "" for none',
  (written) => (written === '' ? null : parseMailbox(written)),
)
export const publicUrl: z.ZodType<string, string> = textValue(
  'an address such as "https://mail.example.net", without a query',
  parsers.parsePublicUrl,
)
export const listen: z.ZodType<ListenAddress, string> = textValue(
  'an address with a port such as "127.0.0.1:587", "[::1]:587"',
  parsers.parseListenAddress,
)
export const apiListen: z.ZodType<ApiListenAddress, string> = textValue(
  'an address with a port such as "127.0.0.1:8443", "http://" before a loopback address and a port, or "unix:" and a path',
  parsers.parseApiListenAddress,
)
export const address: z.ZodType<string, string> = textValue('an IPv4 or IPv6 address', parsers.parseIp)
export const hostAddress: z.ZodType<string, string> = textValue(
  'the IPv4 or IPv6 address of one machine',
  parsers.parseHostAddress,
)
export const network: z.ZodType<Network, string> = textValue(
  'a network such as "192.168.1.0/24", "fd00::/8"',
  (written) => parseNetwork(written) ?? undefined,
)
export const dnsServer: z.ZodType<DnsServer, string> = textValue(
  'the address of a DNS server such as "192.0.2.53", "127.0.0.1:5353", "[::1]:5353"',
  (written) => parseDnsServer(written) ?? undefined,
)
export const workspaceId: z.ZodType<string, string> = textValue('the id of a workspace, "ws_..."', (written) =>
  /^ws_[0-9a-f-]+$/.test(written) ? written : undefined,
)
export const planName: z.ZodType<string, string> = textValue('the name of a plan, up to 100 characters', (written) =>
  /^[^\p{Cc}]{1,100}$/u.test(written) ? written : undefined,
)
export const poolName: z.ZodType<string, string> = textValue(
  'the name of a pool: up to 50 letters, digits, "-", "_" and "."',
  (written) => (/^[\w.-]{1,50}$/.test(written) ? written : undefined),
)
export const routeDomain: z.ZodType<string, string> = textValue('a domain, or "*"', parsers.parseRouteDomain)
export const routeTarget: z.ZodType<Route, string> = textValue(
  '"host:port" or "smtps://user:password@host:port" (@ / % in the password percent-encoded)',
  (written) => {
    const parsed = parseRoute(written)
    return parsed.kind === 'route' ? parsed.route : undefined
  },
  true,
)
/** Null if there is none. */
export const routeOrNone: z.ZodType<Route | null, string> = textValue(
  '"host:port" or "smtps://user:password@host:port" (@ / % in the password percent-encoded), or "" for none',
  (written) => {
    const parsed = written === '' ? null : parseRoute(written)
    if (parsed === null) return null
    return parsed.kind === 'route' ? parsed.route : undefined
  },
  true,
)
/** Null if there is none. */
export const httpUrlOrNone: z.ZodType<URL | null, string> = textValue(
  'an "http://" or "https://" URL with a host, without "?" and "#", or "" for none',
  (written) => (written === '' ? null : parsers.parseHttpUrl(written)),
  true,
)
/** Null if there is none. */
export const httpsUrlOrNone: z.ZodType<URL | null, string> = textValue(
  'an "https://" URL with a host, without "?" and "#", or "" for none',
  (written) => {
    const url = written === '' ? null : parsers.parseHttpUrl(written)
    return url?.protocol === 'http:' ? undefined : url
  },
  true,
)

export const httpsUrl: z.ZodType<URL, string> = textValue(
  'an "https://" URL with a host, without "?", "#" and a password',
  (written) => {
    const url = parsers.parseHttpUrl(written)
    return url?.protocol === 'https:' && url.username === '' && url.password === '' ? url : undefined
  },
  true,
)

/** A country with numbers that codes may be sent to, as ISO 3166-1 alpha-2 in upper case. */
export const phoneCountry: z.ZodType<string, string> = textValue(
  'the two letters of a country (ISO 3166-1) such as "DE", "GB"',
  (written) => (isPhoneCountry(written.toUpperCase()) ? written.toUpperCase() : undefined),
)
export const smsSender: z.ZodType<string, string> = textValue(
  'up to 11 letters, digits and spaces, a number of 3 to 15 digits, or the "MG..." of a messaging service',
  (written) =>
    /^(?:(?=.*[A-Za-z])[A-Za-z0-9 ._&-]{1,11}|\+?\d{3,15}|MG[0-9a-f]{32})$/.test(written) ? written : undefined,
)
/** A user name, a password, or a text that may hold one. No message repeats it. */
export const secret: z.ZodType<string, string> = textValue(
  'a text of up to 2,000 characters without control characters',
  (written) => (/^[^\p{Cc}]{0,2000}$/u.test(written) ? written : undefined),
  true,
)
/** Empty for none. It may hold a password. */
export const postgresUrlOrNone: z.ZodType<string, string> = textValue(
  '"postgres://USER@HOST:5432/NAME", or "" for SQLite',
  (written) => (/^(?:$|postgres(?:ql)?:\/\/)/.test(written) ? written : undefined),
  true,
)
export const schemaName: z.ZodType<string, string> = textValue(
  'small letters, digits and "_", up to 63, not beginning with a digit or "pg_"',
  (written) => (/^(?!pg_)[a-z_][a-z\d_]{0,62}$/.test(written) ? written : undefined),
)
export const nodeName: z.ZodType<string, string> = textValue(
  'letters, digits, ".", "-" and "_", up to 253, beginning with a letter or digit, "$HOSTNAME" for the name of the machine, or "" for service.hostname',
  (written) => (/^(?:\$HOSTNAME|[A-Za-z\d][A-Za-z\d._-]{0,252})?$/.test(written) ? written : undefined),
)
/** Null if there is none. */
export const smppUrlOrNone: z.ZodType<SmppServer | null, string> = textValue(
  '"smpp://host:port" or "smpps://host:port", or "" for none',
  (written) => (written === '' ? null : parsers.parseSmppUrl(written)),
  true,
)
