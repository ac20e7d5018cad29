/**
 * Looks up a client's address in DNS allow lists that answer as list.dnswl.org does.
 *
 * `127.0.<category>.<trust>`: trust 1 to 3 (low, medium, high) speaks for the client, 0 says nothing. Any other answer
 * is none. Answers by which a list says that it refuses our resolver (`isRefusedQuery`) are reported once for each list.
 * A list that fails or is late says nothing. Addresses that are not public are not queried.
 */
import type { Resolver } from '../../base/platform/dns/resolver.js'
import type { Log } from '../../base/platform/log.js'
import type { AllowListing } from '../../base/storage/tables/inbound-tables.js'
import { askLists, isRefusedQuery, LISTS_TIMEOUT } from './dnsbl.js'

interface AllowList {
  readonly zone: string
  /** Points that each degree of trust takes off the spam score. */
  readonly weight: number
}

interface AllowListDeps {
  readonly resolver: Pick<Resolver, 'resolveAddresses'>
  readonly settings: () => { readonly dnswl: readonly AllowList[] }
  readonly log: Pick<Log, 'warn'>
  /** Milliseconds for all lists together. The default is `LISTS_TIMEOUT`. */
  readonly timeLimit?: number
}

export class AllowLists {
  /** Zones that refuse our queries and were logged for it. */
  private readonly reported = new Set<string>()

  constructor(private readonly deps: AllowListDeps) {}

  /** Returns the listings in the order of the lists. Never rejects. */
  async find(client: string): Promise<readonly AllowListing[]> {
    const { settings, timeLimit = LISTS_TIMEOUT } = this.deps
    return askLists(client, settings().dnswl, timeLimit, (reversed, list) => this.queryList(reversed, list))
  }

  private async queryList(reversed: string, { zone, weight }: AllowList): Promise<readonly AllowListing[]> {
    const lookup = await this.deps.resolver.resolveAddresses(`${reversed}.${zone}`).catch(() => null)
    if (lookup?.kind !== 'records') return []
    const refused = lookup.records.find(isRefusedQuery)
    if (refused !== undefined) {
      this.report(zone, refused)
      return []
    }
    const answers = lookup.records.flatMap((answer) => {
      const trust = trustOf(answer)
      return trust === 0 ? [] : [{ zone, weight, trust, answer }]
    })
    return answers.slice(0, 1)
  }

  private report(zone: string, answer: string): void {
    if (!this.reported.has(zone)) this.deps.log.warn({ zone, answer }, 'a DNS allow list refuses our queries')
    this.reported.add(zone)
  }
}

/** 1 to 3, or 0 if there is none. */
function trustOf(answer: string): number {
  const trust = /^127\.0\.\d{1,3}\.([1-3])$/.exec(answer)?.[1]
  return trust === undefined ? 0 : Number(trust)
}
