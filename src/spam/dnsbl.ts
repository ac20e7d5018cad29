/**
 * Looks up a client's address in DNS block lists (RFC 5782).
 *
 * The reversed address is queried below each zone. An answer within 127.0.0.0/8 is a listing; any other answer
 * comes from a dead list or from a resolver that invents answers, and is ignored. So is an answer by which a list
 * refuses our resolver. A list that fails or is late lists nothing: DNS must never cost a message.
 *
 * Addresses that are not public are not queried. Answers are cached by the resolver.
 */
import ipaddr from 'ipaddr.js'
import type { LookupResult } from '../platform/dns/resolver.js'
import { parseIpAddress } from '../platform/ip-address.js'

interface BlockList {
  readonly zone: string
  /** Points that a listing adds to the spam score. */
  readonly weight: number
}

export interface Listing extends BlockList {
  /** For example `127.0.0.2`; each list defines what its answers mean. */
  readonly answer: string
}

interface DnsblDeps {
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

/** The sum of the weights of a client's listings. */
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
  // A list with several answers counts once, with its first answer.
  const answer = lookup.records.find(isListing)
  return answer === undefined ? [] : [{ ...list, answer }]
}

function isListing(answer: string): boolean {
  return ipaddr.IPv4.isValidFourPartDecimal(answer) && answer.startsWith('127.') && !isRefusedQuery(answer)
}

/** Answers about the query, not about the client: too many queries, or a public resolver (Spamhaus, dnswl.org). */
export function isRefusedQuery(answer: string): boolean {
  return answer === '127.0.0.255' || /^127\.255\.255\.\d{1,3}$/.test(answer)
}

/** `192.0.2.99` as `99.2.0.192`, IPv6 as its 32 nibbles; null if the address is not public. */
export function reverseAddress(client: string): string | null {
  const address = parseIpAddress(client)
  if (address?.range() !== 'unicast') return null
  if (address instanceof ipaddr.IPv4) return address.octets.toReversed().join('.')
  return [...address.toNormalizedString().split(':')]
    .flatMap((part) => [...part.padStart(4, '0')])
    .toReversed()
    .join('.')
}
