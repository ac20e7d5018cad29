/**
 * Orders MX hosts as RFC 5321 section 5.1 asks. Pure.
 *
 * Lower preference first, equal ones shuffled. Exchanges that are no domain names are skipped. If this
 * server is among the hosts, it is removed with all hosts of the same or a higher preference value, so
 * that mail cannot loop.
 */
import { type DomainName, tryParseDomainName } from '../../../base/mail/address.js'
import type { MxRecord } from '../../../base/platform/dns/resolver.js'
import type { RandomSource } from '../../../base/platform/random.js'

type MxOrder =
  | { readonly kind: 'hosts'; readonly hosts: readonly DomainName[] }
  /** RFC 7505: the domain takes no mail. */
  | { readonly kind: 'null-mx' }
  /** No host is better than this server. */
  | { readonly kind: 'loop' }
  | { readonly kind: 'junk' }

const MAX_MX_HOSTS = 10

export function orderMxHosts(
  records: readonly MxRecord[],
  ownNames: ReadonlySet<string>,
  random: RandomSource,
): MxOrder {
  if (records.every(({ exchange }) => exchange === '')) return { kind: 'null-mx' }
  const named = records.flatMap(({ preference, exchange }) => {
    const host = tryParseDomainName(exchange)
    return host === null ? [] : [{ preference, host }]
  })
  const own = named.filter(({ host }) => ownNames.has(host)).map(({ preference }) => preference)
  const better = named.filter(({ preference }) => preference < Math.min(...own))
  const sorted = shuffle(better, random).sort((a, b) => a.preference - b.preference)
  const hosts = [...new Set(sorted.map(({ host }) => host))].slice(0, MAX_MX_HOSTS)
  if (hosts.length > 0) return { kind: 'hosts', hosts }
  return { kind: own.length > 0 ? 'loop' : 'junk' }
}

/** The addresses of one host, IPv4 and IPv6 in turn, each family shuffled. */
export function interleaveFamilies(addresses: readonly string[], random: RandomSource): readonly string[] {
  const all = shuffle([...new Set(addresses)], random)
  // IPv4 first: many small machines have no IPv6, or IPv6 without reverse DNS.
  const v4 = all.filter((address) => !address.includes(':'))
  const v6 = all.filter((address) => address.includes(':'))
  return Array.from({ length: Math.max(v4.length, v6.length) }, (_, at) => [v4[at], v6[at]])
    .flat()
    .filter((address) => address !== undefined)
}

/** Fisher–Yates. */
function shuffle<T>(items: readonly T[], random: RandomSource): T[] {
  const left = [...items]
  return items.flatMap(() => left.splice(Math.floor(random() * left.length), 1))
}
