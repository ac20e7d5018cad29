/**
 * "Does this workspace not send to this address?", answered from memory where it can be.
 *
 * A question to the database takes longer than all else that is asked about a recipient,
 * and nearly all answers are no. So the list of a workspace is kept in memory while it is
 * of a usual length: who is not on it is not asked about. Whoever is on it is looked up,
 * so a suppression that was removed meanwhile does no harm. What is added here comes in by
 * the commit that adds it (`watch`); after another process's commit all is forgotten.
 *
 * Limits: lists of up to 10,000 addresses, 100,000 in all; longer ones are always asked.
 */
import type { Address } from '../mail/address.js'
import { prepareRead, type Read } from '../storage/prepared.js'
import type { Commit } from '../storage/writer/write.js'
import { addedBy, isSuppressed, type Suppression } from './suppressions.js'

export interface SuppressionBook {
  readonly isSuppressed: (workspaceId: string, address: Address) => boolean
  /** The same commit, whose additions the book hears of. */
  readonly watch: (commit: Commit) => Commit
  readonly drop: () => void
}

export interface BookLimits {
  readonly list: number
  readonly inAll: number
}

const usual: BookLimits = { list: 10_000, inAll: 100_000 }

const firstAddresses = prepareRead<{ workspaceId: string; limit: number }>()(({ db, slot }) =>
  db.selectFrom('suppressions').select('email').where('workspace_id', '=', slot('workspaceId')).limit(slot('limit')),
)

export function suppressionBook({ read }: { readonly read: Read }, limits: BookLimits = usual): SuppressionBook {
  /** Null: too long to be kept. */
  const lists = new Map<string, Set<string> | null>()
  let inAll = 0

  function listOf(workspaceId: string): Set<string> | null {
    const known = lists.get(workspaceId)
    if (known !== undefined) return known
    const rows = firstAddresses(read, { workspaceId, limit: limits.list + 1 })
    const list = rows.length > limits.list ? null : new Set(rows.map(({ email }) => email))
    const size = 1 + (list?.size ?? 0)
    if (inAll + size > limits.inAll) drop()
    inAll += size
    lists.set(workspaceId, list)
    return list
  }

  function add({ workspace_id: workspaceId, email }: Suppression): void {
    const list = lists.get(workspaceId)
    if (list == null || list.has(email)) return
    if (inAll >= limits.inAll) drop()
    else if (list.size >= limits.list) {
      lists.set(workspaceId, null)
      inAll -= list.size
    } else {
      list.add(email)
      inAll += 1
    }
  }

  function drop(): void {
    lists.clear()
    inAll = 0
  }

  return {
    isSuppressed: (workspaceId, address) => {
      const list = listOf(workspaceId)
      if (list !== null && !list.has(address.toLowerCase())) return false
      return isSuppressed(read, workspaceId, address)
    },
    watch: (commit) => (writes) => {
      if (!writes.some((write) => addedBy(write) !== null)) return commit(writes)
      // Also where nobody can tell whether they are on disk.
      return commit(writes).finally(() => {
        for (const write of writes) {
          const added = addedBy(write)
          if (added !== null) add(added)
        }
      })
    },
    drop,
  }
}
