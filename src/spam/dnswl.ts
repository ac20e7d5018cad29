/**
 * Looks up a client's address in DNS allow lists that answer as list.dnswl.org does.
 *
 * `127.0.<category>.<trust>`: trust 1 to 3 (low, medium, high) speaks for the client, 0 says nothing. Any other answer
 * is none. Answers by which a list says that it refuses our resolver (`isRefusedQuery`) are reported once for each list.
 * A list that fails or is late says nothing. Addresses that are not public are not queried.
 */
import type { LookupResult } from '../platform/dns/resolver.js'
import type { AllowListing } from '../storage/tables/inbound-tables.js'
import { isRefusedQuery, reverseAddress } from './dnsbl.js'

interface AllowList {
  readonly zone: string
  /** Points that each degree of trust takes off the spam score. */
  readonly weight: number
}

interface DnswlDeps {
  readonly lists: readonly AllowList[]
  readonly resolveAddresses: (name: string) => Promise<LookupResult<string>>
  /** Milliseconds for all lists together. */
  readonly timeLimit: number
  /** The list answers no query of ours. */
  readonly onRefusedQuery: (zone: string, answer: string) => void
}

/** Never rejects. In the order of the lists. */
export async function findAllowListings(client: string, deps: DnswlDeps): Promise<readonly AllowListing[]> {
  const reversed = reverseAddress(client)
  if (reversed === null || deps.lists.length === 0) return []
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<readonly AllowListing[]>((resolve) => {
    timer = setTimeout(resolve, deps.timeLimit, [])
  })
  const found = await Promise.all(deps.lists.map((list) => Promise.race([queryList(reversed, list, deps), late])))
  clearTimeout(timer)
  return found.flat()
}

async function queryList(
  reversed: string,
  { zone, weight }: AllowList,
  { resolveAddresses, onRefusedQuery }: Pick<DnswlDeps, 'resolveAddresses' | 'onRefusedQuery'>,
): Promise<readonly AllowListing[]> {
  const lookup = await resolveAddresses(`${reversed}.${zone}`).catch(() => null)
  if (lookup?.kind !== 'records') return []
  const refused = lookup.records.find(isRefusedQuery)
  if (refused !== undefined) {
    onRefusedQuery(zone, refused)
    return []
  }
  const answers = lookup.records.flatMap((answer) => {
    const trust = trustOf(answer)
    return trust === 0 ? [] : [{ zone, weight, trust, answer }]
  })
  return answers.slice(0, 1)
}

/** 1 to 3; 0: none. */
function trustOf(answer: string): number {
  const trust = /^127\.0\.\d{1,3}\.([1-3])$/.exec(answer)?.[1]
  return trust === undefined ? 0 : Number(trust)
}
