/**
 * A cache of suppression lists, which tells whether an address is suppressed.
 *
 * A query takes longer than all other checks of a recipient, and almost always finds nothing. So the lists of
 * workspaces are cached, unless they are long, and an address that is not on the list needs no query. An address on the
 * list is looked up, so that a removal takes effect at once. The commit that adds an address also adds it to the cache
 * (`watch`). After a commit of another process the cache is dropped.
 *
 * Limits: lists of up to 10,000 addresses, 100,000 addresses in total. Longer lists are not cached.
 */
import type { Address } from '../../base/mail/address.js'
import { createLruCache, type LruCache } from '../../base/platform/lru-cache.js'
import { prepareRead, type Read } from '../../base/storage/db/prepared.js'
import type { Commit } from '../../base/storage/db/write.js'
import type { SuppressionReason } from '../../base/storage/tables/content-tables.js'
import { findAddedSuppression, findSuppression, isSuppressed, type Suppression } from './suppressions.js'

interface CachedList {
  /** Null if there are too many addresses to be cached. */
  readonly addresses: Set<string> | null
}

export interface CacheLimits {
  readonly addressesPerList: number
  readonly totalAddresses: number
}

const defaultLimits: CacheLimits = { addressesPerList: 10_000, totalAddresses: 100_000 }

const selectAddresses = prepareRead<{ workspaceId: string; limit: number }>()(({ db, slot }) =>
  db.selectFrom('suppressions').select('email').where('workspace_id', '=', slot('workspaceId')).limit(slot('limit')),
)

export class SuppressionCache {
  private readonly lists: LruCache<CachedList>

  constructor(
    private readonly read: Read,
    private readonly limits: CacheLimits = defaultLimits,
  ) {
    const weightOf = ({ addresses }: CachedList): number => 1 + (addresses?.size ?? 0)
    this.lists = createLruCache<CachedList>({ max: limits.totalAddresses, weightOf })
  }

  isSuppressed(workspaceId: string, address: Address): boolean {
    return this.mayHave(workspaceId, address) && isSuppressed(this.read, workspaceId, address)
  }

  /** Returns why the address is suppressed, or null if it is not. */
  findReason(workspaceId: string, address: Address): SuppressionReason | null {
    if (!this.mayHave(workspaceId, address)) return null
    return findSuppression(this.read, workspaceId, address)?.reason ?? null
  }

  /** Returns the same commit, whose additions enter the cache. */
  watch(commit: Commit): Commit {
    return (writes) => {
      if (!writes.some((write) => findAddedSuppression(write) !== null)) return commit(writes)
      // This also happens after an error, when it is unknown whether the additions are on disk.
      return commit(writes).finally(() => {
        for (const write of writes) {
          const added = findAddedSuppression(write)
          if (added !== null) this.addAddress(added)
        }
      })
    }
  }

  drop(): void {
    this.lists.clear()
  }

  private mayHave(workspaceId: string, address: Address): boolean {
    return this.loadList(workspaceId)?.has(address.toLowerCase()) ?? true
  }

  private loadList(workspaceId: string): Set<string> | null {
    const cached = this.lists.get(workspaceId)
    if (cached !== undefined) return cached.addresses
    const { addressesPerList: max } = this.limits
    const rows = selectAddresses(this.read, { workspaceId, limit: max + 1 })
    const addresses = rows.length > max ? null : new Set(rows.map(({ email }) => email))
    this.lists.set(workspaceId, { addresses })
    return addresses
  }

  private addAddress({ workspace_id: workspaceId, email }: Suppression): void {
    const list = this.lists.peek(workspaceId)?.addresses
    if (list == null || list.has(email)) return
    if (list.size >= this.limits.addressesPerList) this.lists.set(workspaceId, { addresses: null })
    // This is a new entry, so that the cache weighs it again.
    else this.lists.set(workspaceId, { addresses: list.add(email) })
  }
}
