/**
 * Whether what stands at a customer's mail host does what our CNAME would do. Pure.
 *
 * Two things count: bounces reach us (MX, or without one the addresses: RFC 5321 section
 * 5.1), and SPF (RFC 7208) lets us send. An SPF record does so when it says the same as
 * the one at our target, or hands over to it by `include:` or `redirect=`.
 */
import type { MxRecord } from '../../platform/dns/resolver.js'

export interface MailHostRecords {
  /** Empty: there is none. */
  readonly mx: readonly MxRecord[]
  readonly addresses: readonly string[]
  readonly txt: readonly string[]
}

/** What `records` must be equal to. */
export interface ExpectedMailHost {
  readonly target: string
  readonly inboundMxHost: string
  /** What stands at `target`. */
  readonly addresses: readonly string[]
  readonly txt: readonly string[]
}

export function mxPointsToUs({ mx, addresses }: MailHostRecords, wanted: ExpectedMailHost): boolean {
  if (mx.length === 0) return addresses.length > 0 && addresses.every((address) => wanted.addresses.includes(address))
  const best = Math.min(...mx.map(({ preference }) => preference))
  const ours = [wanted.target, wanted.inboundMxHost].map((name) => name.toLowerCase())
  return mx.every(({ preference, exchange }) => preference > best || ours.includes(exchange.toLowerCase()))
}

/** More than one record is an error to every receiver (RFC 7208 section 4.5). */
export function spfAuthorizesUs({ txt }: Pick<MailHostRecords, 'txt'>, wanted: ExpectedMailHost): boolean {
  const [record, ...others] = filterSpfRecords(txt)
  if (record === undefined || others.length > 0) return false
  const terms = parseTerms(record)
  const target = wanted.target.toLowerCase()
  const last = terms.findIndex((term) => /^[-+~?]?all$/.test(term))
  // What stands behind "all" counts no more, and "redirect=" counts only without it.
  const effective = last === -1 ? terms : terms.slice(0, last)
  if (effective.some((term) => term === `include:${target}` || term === `+include:${target}`)) return true
  if (last === -1 && terms.includes(`redirect=${target}`)) return true
  const [own] = filterSpfRecords(wanted.txt)
  return own !== undefined && hasSameTerms(terms, parseTerms(own))
}

export function filterSpfRecords(txt: readonly string[]): readonly string[] {
  return txt.filter((text) => /^v=spf1(?: |$)/i.test(text))
}

function parseTerms(record: string): readonly string[] {
  const [, ...terms] = record.toLowerCase().trim().split(/ +/)
  return terms
}

/** The order decides where a term matches first, but not among those that let us send: the last one is `all`. */
function hasSameTerms(terms: readonly string[], others: readonly string[]): boolean {
  return terms.at(-1) === others.at(-1) && [...terms].sort().join(' ') === [...others].sort().join(' ')
}
