/**
 * Reads pages of the queue with any filter, in short steps. An index finds the entries of a domain, held entries and
 * those being sent; the other filters are applied to each portion that was read.
 *
 * One page looks at a limited number of entries, so it may end before it is full. The next page begins there.
 */
import { domainOf } from '../../../base/mail/address.js'
import { providerGroupOf } from '../../../base/mail/mailbox-providers.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { ROW_STEP, waitForStep } from '../../../base/storage/db/stepped-walk.js'
import { type ListedEntry, listEntries, type QueueFilter } from './queue-admin.js'
import { queueStatusOf, waitReasonOf } from './wait-reason.js'

/** The most steps of one page: 5,000 entries. */
const MAX_STEPS = 20

interface QueuePageQuery {
  readonly filter: QueueFilter
  /** Returns only entries whose id comes after this one. Empty for all. */
  readonly after: string
  readonly limit: number
}

interface QueuePage {
  readonly entries: readonly ListedEntry[]
  /** Where the next page begins. Null if this is the last. */
  readonly next: string | null
}

export async function readQueuePage(read: Read, { filter, after, limit }: QueuePageQuery): Promise<QueuePage> {
  const entries: ListedEntry[] = []
  let position = after
  for (let step = 0; step < MAX_STEPS; step += 1) {
    if (step > 0) await waitForStep()
    const portion = await readPortion(read, filter, position)
    for (const entry of portion) {
      if (entries.length === limit) return { entries, next: position }
      position = entry.id
      if (matchesFilter(entry, filter)) entries.push(entry)
    }
    if (portion.length < ROW_STEP) return { entries, next: null }
  }
  return { entries, next: position }
}

/** Reads the next entries that an index finds. `matchesFilter` decides on them. */
async function readPortion(
  read: Read,
  { domain, status }: QueueFilter,
  after: string,
): Promise<readonly ListedEntry[]> {
  const indexed = status === 'held' || status === 'sending' ? status : undefined
  return listEntries(read, { domain, status: indexed, after, limit: ROW_STEP })
}

function matchesFilter(entry: ListedEntry, filter: QueueFilter): boolean {
  const { workspaceId, status, reason, provider, sender, enqueuedBefore } = filter
  if (workspaceId !== undefined && entry.workspace_id !== workspaceId) return false
  if (status !== undefined && queueStatusOf(entry) !== status) return false
  if (reason !== undefined && waitReasonOf(entry) !== reason) return false
  if (provider !== undefined && providerGroupOf(entry) !== provider) return false
  if (enqueuedBefore !== undefined && entry.enqueued_at >= enqueuedBefore) return false
  return sender === undefined || isFrom(entry, sender)
}

function isFrom({ from_email: from }: ListedEntry, sender: string): boolean {
  return sender.includes('@') ? from.toLowerCase() === sender : domainOf(from) === sender
}

/** Yields all entries that match, oldest first, in portions. `onStep` gets the number of entries seen so far. */
export async function* walkEntries(
  read: Read,
  filter: QueueFilter,
  onStep: (looked: number) => void = () => undefined,
): AsyncGenerator<readonly ListedEntry[]> {
  if (filter.ids !== undefined) {
    for (let at = 0; at < filter.ids.length; at += ROW_STEP) {
      const ids = filter.ids.slice(at, at + ROW_STEP)
      yield (await listEntries(read, { ids, after: '', limit: ROW_STEP })).filter((entry) => isWithin(entry, filter))
    }
    return
  }
  let looked = 0
  for (let after = ''; ; ) {
    const portion = await readPortion(read, filter, after)
    looked += portion.length
    onStep(looked)
    const matching = portion.filter((entry) => matchesFilter(entry, filter))
    if (matching.length > 0) yield matching
    after = portion.at(-1)?.id ?? ''
    if (portion.length < ROW_STEP) return
    await waitForStep()
  }
}

/** Checks the domain if an index has not found the entry by it. */
function isWithin(entry: ListedEntry, filter: QueueFilter): boolean {
  return (filter.domain === undefined || entry.domain === filter.domain) && matchesFilter(entry, filter)
}
