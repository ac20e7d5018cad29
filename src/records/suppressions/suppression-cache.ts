/**
 * A cache of suppression lists: whether an address is suppressed.
 *
 * A query takes longer than all other checks of a recipient, and almost always finds nothing. So the
 * lists of workspaces are cached, unless they are long, and an address that is not on the list needs no
 * query. An address on the list is looked up, so that a removal takes effect at once. Additions enter
 * the cache by the commit that makes them (`watch`); after a commit of another process the cache is
 * dropped.
 *
 * Limits: lists of up to 10,000 addresses, 100,000 addresses in total; longer lists are not cached.
 */
import type { Address } from '../../base/mail/address.js'
import { createLruCache } from '../../base/platform/lru-cache.js'
import { prepareRead, type Read } from '../../base/storage/db/prepared.js'
import type { Commit } from '../../base/storage/db/write.js'
import type { SuppressionReason } from '../../base/storage/tables/content-tables.js'
import { findAddedSuppression, findSuppression, isSuppressed, type Suppression } from './suppressions.js'

export interface SuppressionCache {
  readonly isSuppressed: (workspaceId: string, address: Address) => boolean
  /** Why it is; null: it is not. */
  readonly findReason: (workspaceId: string, address: Address) => SuppressionReason | null
  /** The same commit, whose additions enter the cache. */
  readonly watch: (commit: Commit) => Commit
  readonly drop: () => void
}

interface CachedList {
  /** Null: too many to be cached. */
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

export function createSuppressionCache(
  { read }: { readonly read: Read },
  limits: CacheLimits = defaultLimits,
): SuppressionCache {
  const lists = createLruCache<CachedList>({
    max: limits.totalAddresses,
    weightOf: ({ addresses }) => 1 + (addresses?.size ?? 0),
  })

  function loadList(workspaceId: string): Set<string> | null {
    const cached = lists.get(workspaceId)
    if (cached !== undefined) return cached.addresses
    const rows = selectAddresses(read, { workspaceId, limit: limits.addressesPerList + 1 })
    const list = rows.length > limits.addressesPerList ? null : new Set(rows.map(({ email }) => email))
    lists.set(workspaceId, { addresses: list })
    return list
  }

  function addAddress({ workspace_id: workspaceId, email }: Suppression): void {
    const list = lists.peek(workspaceId)?.addresses
    if (list == null || list.has(email)) return
    if (list.size >= limits.addressesPerList) lists.set(workspaceId, { addresses: null })
    // A new entry, so that the cache weighs it again.
    else lists.set(workspaceId, { addresses: list.add(email) })
  }

  const mayHave = (workspaceId: string, address: Address): boolean =>
    loadList(workspaceId)?.has(address.toLowerCase()) ?? true
  return {
    isSuppressed: (workspaceId, address) => mayHave(workspaceId, address) && isSuppressed(read, workspaceId, address),
    findReason: (workspaceId, address) =>
      mayHave(workspaceId, address) ? (findSuppression(read, workspaceId, address)?.reason ?? null) : null,
    watch: (commit) => (writes) => {
      if (!writes.some((write) => findAddedSuppression(write) !== null)) return commit(writes)
      // Also after an error, when it is unknown whether they are on disk.
      return commit(writes).finally(() => {
        for (const write of writes) {
          const added = findAddedSuppression(write)
          if (added !== null) addAddress(added)
        }
      })
    },
    drop: () => lists.clear(),
  }
}
