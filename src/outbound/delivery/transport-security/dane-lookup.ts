/**
 * Finds the TLSA records of an MX host (RFC 7672 section 2.2).
 *
 * They count only where DNSSEC covers the whole chain: the MX records (which the caller has checked), the addresses of
 * the host, and the TLSA records. If the name of the host is an alias and the whole chain is secure, its target comes
 * first, and then the name itself. A failed look-up never means "no DANE": otherwise an attacker who makes it fail
 * could remove the encryption.
 */
import type { DnssecResolver, JudgedLookup } from '../../../base/platform/dns/resolver.js'
import { listUsableRecords, type TlsaRecord } from '../hosts/tlsa-record.js'

export type DaneFinding =
  | { readonly kind: 'none' }
  /** `records` are the usable ones. `strings` are all records, in presentation form. */
  | {
      readonly kind: 'dane'
      readonly base: string
      readonly records: readonly TlsaRecord[]
      readonly strings: readonly string[]
    }
  /** `what` is a text such as `TLSA _25._tcp.mx.example: SERVFAIL`. */
  | { readonly kind: 'failed'; readonly what: string }

type Judge = DnssecResolver['judgeRecords']

export async function findDane(judge: Judge, mx: string, port: number): Promise<DaneFinding> {
  const bases = await findBaseDomains(judge, mx)
  if ('what' in bases) return { kind: 'failed', ...bases }
  for (const base of bases) {
    const name = `_${port}._tcp.${base}`
    const { lookup, isAuthentic } = await judge(name, 'TLSA')
    if (lookup.kind === 'failure') return { kind: 'failed', what: `TLSA ${name}: ${lookup.detail}` }
    if (lookup.kind !== 'records' || !isAuthentic) continue
    return { kind: 'dane', base, records: listUsableRecords(lookup.records), strings: lookup.records }
  }
  return { kind: 'none' }
}

/** Finds the base domains in the order in which they are tried. Empty if DNSSEC does not secure the host. */
async function findBaseDomains(judge: Judge, mx: string): Promise<readonly string[] | { readonly what: string }> {
  const answers = await Promise.all([judge(mx, 'A'), judge(mx, 'AAAA')])
  const found = answers.filter(({ lookup }) => lookup.kind === 'records')
  const alias = found.map((answer) => answer.alias).find((name) => name !== null)
  if (found.length > 0 && found.every(isSecure)) return alias === undefined ? [mx] : [alias, mx]
  // The addresses were there when the host was found. A look-up fails only if that answer has left the cache.
  const failure = answers.map(({ lookup }) => lookup).find((lookup) => lookup.kind === 'failure')
  if (found.length === 0 && failure !== undefined) return { what: `A, AAAA ${mx}: ${failure.detail}` }
  if (alias === undefined) return []
  // The target is outside DNSSEC, but the zone of the name itself may be secure.
  const own = await judge(mx, 'CNAME')
  if (own.lookup.kind === 'failure') return { what: `CNAME ${mx}: ${own.lookup.detail}` }
  return own.lookup.kind === 'records' && own.isAuthentic ? [mx] : []
}

function isSecure({ isAuthentic }: JudgedLookup<string>): boolean {
  return isAuthentic
}
