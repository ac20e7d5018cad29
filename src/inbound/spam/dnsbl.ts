/**
 * Looks up a client's address in DNS block lists (RFC 5782).
 *
 * The reversed address is queried below each zone. An answer within 127.0.0.0/8 is a listing; any other answer comes
 * from a dead list or from a resolver that invents answers, and is ignored. An answer by which a list refuses our
 * resolver is ignored too. A list that fails or is late lists nothing: DNS must never cost a message.
 *
 * Addresses that are not public are not queried. Answers are cached by the resolver.
 */
import { isIP } from 'node:net'
import type { Resolver } from '../../base/platform/dns/resolver.js'
import { reverseAddress } from '../../base/platform/ip-address.js'

interface BlockList {
  readonly zone: string
  /** Points that a listing adds to the spam score. */
  readonly weight: number
}

export interface Listing extends BlockList {
  /** For example `127.0.0.2`; each list defines what its answers mean. */
  readonly answer: string
}

interface BlockListDeps {
  readonly resolver: Pick<Resolver, 'resolveAddresses'>
  readonly settings: () => { readonly dnsbl: readonly BlockList[] }
  /** Milliseconds for all lists together. The default is `LISTS_TIMEOUT`. */
  readonly timeLimit?: number
}

/** Milliseconds for all lists together, for one client. */
export const LISTS_TIMEOUT = 5_000

export class BlockLists {
  constructor(private readonly deps: BlockListDeps) {}

  /** Returns the listings in the order of the lists. Never rejects. */
  async find(client: string): Promise<readonly Listing[]> {
    const { settings, timeLimit = LISTS_TIMEOUT } = this.deps
    return askLists(client, settings().dnsbl, timeLimit, (reversed, list) => this.queryList(reversed, list))
  }

  private async queryList(reversed: string, list: BlockList): Promise<readonly Listing[]> {
    const lookup = await this.deps.resolver.resolveAddresses(`${reversed}.${list.zone}`).catch(() => null)
    if (lookup?.kind !== 'records') return []
    // A list with several answers counts once, with its first answer.
    const answer = lookup.records.find(isListing)
    return answer === undefined ? [] : [{ ...list, answer }]
  }
}

/** Asks all lists at the same time. One that does not answer within `timeLimit` milliseconds says nothing. */
export async function askLists<List, Found>(
  client: string,
  lists: readonly List[],
  timeLimit: number,
  query: (reversed: string, list: List) => Promise<readonly Found[]>,
): Promise<readonly Found[]> {
  const reversed = reverseAddress(client)
  if (reversed === null || lists.length === 0) return []
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<readonly Found[]>((resolve) => {
    timer = setTimeout(resolve, timeLimit, [])
  })
  const found = await Promise.all(lists.map((list) => Promise.race([query(reversed, list), late])))
  clearTimeout(timer)
  return found.flat()
}

/** The sum of the weights of a client's listings. */
export function totalWeight(clientListings: readonly Listing[]): number {
  return clientListings.reduce((sum, { weight }) => sum + weight, 0)
}

function isListing(answer: string): boolean {
  return isIP(answer) === 4 && answer.startsWith('127.') && !isRefusedQuery(answer)
}

/**
 * These answers are about the query, not about the client: too many queries, or a public resolver (Spamhaus,
 * dnswl.org).
 */
export function isRefusedQuery(answer: string): boolean {
  return answer === '127.0.0.255' || /^127\.255\.255\.\d{1,3}$/.test(answer)
}
