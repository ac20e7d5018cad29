/**
 * Which MX hosts are worth asking, in the order of RFC 5321 section 5.1. Pure.
 *
 * Lower preference first, equals shuffled. Exchanges that are no domain names (literals,
 * junk) are skipped. Where we stand among them ourselves, we and all that is not better
 * than us go: mail must only move closer to its end.
 */
import { type DomainName, tryParseDomainName } from '../../mail/address.js'
import type { MxRecord } from '../../platform/dns/resolver.js'
import type { RandomSource } from '../../platform/random.js'

export type MxOrder =
  | { readonly kind: 'hosts'; readonly hosts: readonly DomainName[] }
  /** RFC 7505: the domain takes no mail. */
  | { readonly kind: 'null-mx' }
  /** Nothing is better than ourselves. */
  | { readonly kind: 'loop' }
  | { readonly kind: 'junk' }

export const MAX_MX_HOSTS = 10

export function orderMxHosts(records: readonly MxRecord[], ownNames: ReadonlySet<string>, dice: RandomSource): MxOrder {
  if (records.every(({ exchange }) => exchange === '')) return { kind: 'null-mx' }
  const named = records.flatMap(({ preference, exchange }) => {
    const host = tryParseDomainName(exchange)
    return host === null ? [] : [{ preference, host }]
  })
  const own = named.filter(({ host }) => ownNames.has(host)).map(({ preference }) => preference)
  const better = named.filter(({ preference }) => preference < Math.min(...own))
  const sorted = shuffle(better, dice).sort((a, b) => a.preference - b.preference)
  const hosts = [...new Set(sorted.map(({ host }) => host))].slice(0, MAX_MX_HOSTS)
  if (hosts.length > 0) return { kind: 'hosts', hosts }
  return { kind: own.length > 0 ? 'loop' : 'junk' }
}

/** One host's addresses, IPv4 and IPv6 in turn, each family shuffled. */
export function interleaveFamilies(addresses: readonly string[], dice: RandomSource): readonly string[] {
  const all = shuffle([...new Set(addresses)], dice)
  // IPv4 first: many a small machine has no IPv6, or one without reverse DNS.
  const v4 = all.filter((address) => !address.includes(':'))
  const v6 = all.filter((address) => address.includes(':'))
  return Array.from({ length: Math.max(v4.length, v6.length) }, (_, at) => [v4[at], v6[at]])
    .flat()
    .filter((address) => address !== undefined)
}

/** Fisher and Yates. */
function shuffle<T>(items: readonly T[], dice: RandomSource): T[] {
  const left = [...items]
  return items.flatMap(() => left.splice(Math.floor(dice() * left.length), 1))
}
