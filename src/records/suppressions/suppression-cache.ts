/**
 * A cache of suppression lists, which tells whether an address is suppressed.
 *
 * A query takes longer than all other checks of a recipient, and almost always finds nothing. So the lists of
 * workspaces are cached, unless they are long, and an address that is not on the list needs no query. An address on the
 * list is looked up, so that a removal takes effect at once. The commit that adds an address also adds it to the cache
 * (`watch`); a list whose load began before is not kept. After a change of suppressions by another process the cache is dropped.
 *
 * Limits: lists of up to 10,000 addresses, 100,000 addresses in total. Longer lists are not cached.
 */
import type { Address } from '../../base/mail/address.js'
import { createLruCache, type LruCache } from '../../base/platform/lru-cache.js'
import { SharedLoads } from '../../base/platform/shared-loads.js'
import { prepareRead, type Read } from '../../base/storage/db/prepared.js'
import type { FollowsTables } from '../../base/storage/db/table-changes.js'
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

export class SuppressionCache implements FollowsTables {
  readonly follows = ['suppressions'] as const

  private readonly lists: LruCache<CachedList>
  private readonly loads = new SharedLoads<CachedList>()

  constructor(
    private readonly read: Read,
    private readonly limits: CacheLimits = defaultLimits,
  ) {
    const weightOf = ({ addresses }: CachedList): number => 1 + (addresses?.size ?? 0)
    this.lists = createLruCache<CachedList>({ max: limits.totalAddresses, weightOf })
  }

  async isSuppressed(workspaceId: string, address: Address): Promise<boolean> {
    return (await this.mayHave(workspaceId, address)) && (await isSuppressed(this.read, workspaceId, address))
  }

  /** Returns why the address is suppressed, or null if it is not. */
  async findReason(workspaceId: string, address: Address): Promise<SuppressionReason | null> {
    if (!(await this.mayHave(workspaceId, address))) return null
    return (await findSuppression(this.read, workspaceId, address))?.reason ?? null
  }

  /** Returns the same commit, whose additions enter the cache. */
  watch(commit: Commit): Commit {
    return (writes, options) => {
      if (!writes.some((write) => findAddedSuppression(write) !== null)) return commit(writes, options)
      // This also happens after an error, when it is unknown whether the additions are on disk.
      return commit(writes, options).finally(() => {
        for (const write of writes) {
          const added = findAddedSuppression(write)
          if (added !== null) this.addAddress(added)
        }
      })
    }
  }

  drop(): void {
    this.lists.clear()
    this.loads.forgetAll()
  }

  private async mayHave(workspaceId: string, address: Address): Promise<boolean> {
    const { addresses } = this.lists.get(workspaceId) ?? (await this.joinLoad(workspaceId))
    return addresses?.has(address.toLowerCase()) ?? true
  }

  private joinLoad(workspaceId: string): Promise<CachedList> {
    return this.loads.join(
      workspaceId,
      () => this.load(workspaceId),
      (list) => this.lists.set(workspaceId, list),
    )
  }

  private async load(workspaceId: string): Promise<CachedList> {
    const { addressesPerList: max } = this.limits
    const rows = await selectAddresses(this.read, { workspaceId, limit: max + 1 })
    return { addresses: rows.length > max ? null : new Set(rows.map(({ email }) => email)) }
  }

  private addAddress({ workspace_id: workspaceId, email }: Suppression): void {
    this.loads.forget(workspaceId)
    const list = this.lists.peek(workspaceId)?.addresses
    if (list == null || list.has(email)) return
    if (list.size >= this.limits.addressesPerList) this.lists.set(workspaceId, { addresses: null })
    // This is a new entry, so that the cache weighs it again.
    else this.lists.set(workspaceId, { addresses: list.add(email) })
  }
}
