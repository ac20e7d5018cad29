/**
 * Whether DNS block lists know a client's address (RFC 5782).
 *
 * The address is asked for backwards below each zone; an answer within 127.0.0.0/8 is a
 * listing, anything else is a list that has died or a resolver that invents answers, and
 * means nothing. A list that fails or is late is no listing: DNS must never cost a message.
 *
 * Addresses that are not public are not asked for. Answers are kept by the resolver.
 */
import ipaddr from 'ipaddr.js'
import type { LookupResult } from '../platform/dns/resolver.js'
import { parseIpAddress } from '../platform/ip-address.js'

export interface BlockList {
  readonly zone: string
  /** What a listing adds to a spam score. */
  readonly weight: number
}

export interface Listing extends BlockList {
  /** As `127.0.0.2`: what it stands for is each list's own. */
  readonly answer: string
}

export interface DnsblDeps {
  readonly lists: readonly BlockList[]
  readonly resolveAddresses: (name: string) => Promise<LookupResult<string>>
  /** Milliseconds for all lists together. */
  readonly timeLimit: number
}

/** Never rejects. In the order of the lists. */
export async function findListings(client: string, deps: DnsblDeps): Promise<readonly Listing[]> {
  const reversed = reverseAddress(client)
  if (reversed === null || deps.lists.length === 0) return []
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<readonly Listing[]>((resolve) => {
    timer = setTimeout(resolve, deps.timeLimit, [])
  })
  const found = await Promise.all(deps.lists.map((list) => Promise.race([queryList(reversed, list, deps), late])))
  clearTimeout(timer)
  return found.flat()
}

/** What a client's listings weigh together. */
export function totalWeight(clientListings: readonly Listing[]): number {
  return clientListings.reduce((sum, { weight }) => sum + weight, 0)
}

async function queryList(
  reversed: string,
  list: BlockList,
  { resolveAddresses }: Pick<DnsblDeps, 'resolveAddresses'>,
): Promise<readonly Listing[]> {
  const lookup = await resolveAddresses(`${reversed}.${list.zone}`).catch(() => null)
  if (lookup?.kind !== 'records') return []
  // A list that answers twice is one list: its weight counts once, for its first answer.
  const answer = lookup.records.find(isListing)
  return answer === undefined ? [] : [{ ...list, answer }]
}

function isListing(answer: string): boolean {
  return ipaddr.IPv4.isValidFourPartDecimal(answer) && answer.startsWith('127.')
}

/** `192.0.2.99` as `99.2.0.192`, IPv6 by its 32 nibbles; null: no public address. */
export function reverseAddress(client: string): string | null {
  const address = parseIpAddress(client)
  if (address?.range() !== 'unicast') return null
  if (address instanceof ipaddr.IPv4) return address.octets.toReversed().join('.')
  return [...address.toNormalizedString().split(':')]
    .flatMap((part) => [...part.padStart(4, '0')])
    .toReversed()
    .join('.')
}
