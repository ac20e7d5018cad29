/**
 * Pages of the queue with any filter, read in short steps: an index finds the entries of a domain, held entries and
 * those being sent; other filters are applied to each portion that was read.
 *
 * One page looks through a limited number of entries, so it may end before it is full: the next begins there.
 */
import type { Read } from '../../storage/prepared.js'
import { ROW_STEP, waitForStep } from '../../storage/stepped-walk.js'
import { type ListedEntry, listEntries, type QueueFilter, queueStatusOf } from './queue-admin.js'

/** Steps of one page: 5,000 entries. */
const MAX_STEPS = 20

interface QueuePageQuery {
  readonly filter: QueueFilter
  /** Entries whose id comes after this one; empty: all. */
  readonly after: string
  readonly limit: number
}

interface QueuePage {
  readonly entries: readonly ListedEntry[]
  /** Where the next page begins; null: this is the last. */
  readonly next: string | null
}

export async function readQueuePage(read: Read, { filter, after, limit }: QueuePageQuery): Promise<QueuePage> {
  const entries: ListedEntry[] = []
  let position = after
  for (let step = 0; step < MAX_STEPS; step += 1) {
    if (step > 0) await waitForStep()
    const portion = readPortion(read, filter, position)
    for (const entry of portion) {
      if (entries.length === limit) return { entries, next: position }
      position = entry.id
      if (matchesFilter(entry, filter)) entries.push(entry)
    }
    if (portion.length < ROW_STEP) return { entries, next: null }
  }
  return { entries, next: position }
}

/** The next entries that an index finds; `matchesFilter` decides on them. */
function readPortion(read: Read, { domain, status }: QueueFilter, after: string): readonly ListedEntry[] {
  const indexed = status === 'held' || status === 'sending' ? status : undefined
  return listEntries(read, { domain, status: indexed, after, limit: ROW_STEP })
}

function matchesFilter(entry: ListedEntry, { workspaceId, status }: QueueFilter): boolean {
  if (workspaceId !== undefined && entry.workspace_id !== workspaceId) return false
  return status === undefined || queueStatusOf(entry) === status
}
