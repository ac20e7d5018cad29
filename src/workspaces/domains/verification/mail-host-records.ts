/**
 * Decides whether the records at a customer's mail host have the effect of our CNAME. Pure.
 *
 * Two things are needed: bounces reach us (MX, or without MX the addresses: RFC 5321 section 5.1), and SPF (RFC 7208)
 * authorizes us. An SPF record does if it equals the one at our target, or refers to it by `include:` or `redirect=`.
 */
import type { MxRecord } from '../../../base/platform/dns/resolver.js'

interface MailHostRecords {
  /** Empty: no MX record. */
  readonly mx: readonly MxRecord[]
  readonly addresses: readonly string[]
  readonly txt: readonly string[]
}

/** What the records are compared with. */
interface ExpectedMailHost {
  readonly target: string
  readonly inboundMxHost: string
  /** The TXT records at `target`. */
  readonly addresses: readonly string[]
  readonly txt: readonly string[]
}

export function mxPointsToUs({ mx, addresses }: MailHostRecords, expected: ExpectedMailHost): boolean {
  if (mx.length === 0) return addresses.length > 0 && addresses.every((address) => expected.addresses.includes(address))
  const best = Math.min(...mx.map(({ preference }) => preference))
  const ours = [expected.target, expected.inboundMxHost].map((name) => name.toLowerCase())
  return mx.every(({ preference, exchange }) => preference > best || ours.includes(exchange.toLowerCase()))
}

/** More than one SPF record is an error (RFC 7208 section 4.5). */
export function spfAuthorizesUs({ txt }: Pick<MailHostRecords, 'txt'>, expected: ExpectedMailHost): boolean {
  const [record, ...others] = filterSpfRecords(txt)
  if (record === undefined || others.length > 0) return false
  const terms = parseTerms(record)
  const target = expected.target.toLowerCase()
  const last = terms.findIndex((term) => /^[-+~?]?all$/.test(term))
  // Terms after "all" are ignored, and "redirect=" counts only without "all".
  const effective = last === -1 ? terms : terms.slice(0, last)
  if (effective.some((term) => term === `include:${target}` || term === `+include:${target}`)) return true
  if (last === -1 && terms.includes(`redirect=${target}`)) return true
  const [own] = filterSpfRecords(expected.txt)
  return own !== undefined && hasSameTerms(terms, parseTerms(own))
}

function filterSpfRecords(txt: readonly string[]): readonly string[] {
  return txt.filter((text) => /^v=spf1(?: |$)/i.test(text))
}

function parseTerms(record: string): readonly string[] {
  const [, ...terms] = record.toLowerCase().trim().split(/ +/)
  return terms
}

/** The order of terms that authorize does not matter, since the last one is `all`. */
function hasSameTerms(terms: readonly string[], others: readonly string[]): boolean {
  return terms.at(-1) === others.at(-1) && [...terms].sort().join(' ') === [...others].sort().join(' ')
}
