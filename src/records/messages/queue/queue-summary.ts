/**
 * Groups the entries of the queue by provider and reason. Entries for no known provider are grouped by domain.
 *
 * It reads the entries of a filter in short steps, so it takes long for a long queue and blocks nothing.
 */
import { providerOf } from '../../../base/mail/mailbox-providers.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { EntryGroup, groupOf, OTHERS } from './entry-groups.js'
import type { ListedEntry, QueueFilter } from './queue-admin.js'
import { walkEntries } from './queue-pages.js'
import { type WaitReason, waitReasonOf } from './wait-reason.js'

/** The most groups that are counted. Entries of further ones are counted together, by reason. */
const MAX_GROUPS = 10_000

interface SummaryGroup {
  /** The id of a provider. Null if the list has no such provider. */
  readonly provider: string | null
  /** Null for a provider, because its domains are counted together. */
  readonly domain: string | null
  readonly reason: WaitReason
  readonly entries: EntryGroup
}

export interface QueueSummary {
  readonly total: number
  /** The largest group comes first. */
  readonly groups: readonly SummaryGroup[]
}

export async function summarizeQueue(
  read: Read,
  { filter, now }: { readonly filter: QueueFilter; readonly now: number },
  onStep: (looked: number) => void,
): Promise<QueueSummary> {
  const groups = new Map<string, SummaryGroup>()
  let total = 0
  for await (const entries of walkEntries(read, filter, onStep)) {
    total += entries.length
    for (const entry of entries) findGroup(groups, entry).entries.add(entry, now)
  }
  return { total, groups: [...groups.values()].sort((one, other) => other.entries.total - one.entries.total) }
}

function findGroup(groups: Map<string, SummaryGroup>, entry: ListedEntry): SummaryGroup {
  const provider = providerOf(entry)
  const reason = waitReasonOf(entry)
  const place = provider ?? entry.domain
  const others = `${OTHERS} ${reason}`
  const create = (): SummaryGroup =>
    groups.size < MAX_GROUPS
      ? { provider, domain: provider === null ? entry.domain : null, reason, entries: new EntryGroup() }
      : { provider: null, domain: OTHERS, reason, entries: new EntryGroup() }
  return groupOf(groups, `${place} ${reason}`, create, { max: MAX_GROUPS, others })
}
