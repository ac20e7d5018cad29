/**
 * The queue in groups: entries of one provider, or of one domain that no known provider has, with the same reason.
 *
 * It reads the entries of a filter in short steps, so it takes long for a long queue and blocks nothing.
 */
import { providerOf } from '../../../base/mail/mailbox-providers.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import type { ListedEntry, QueueFilter } from './queue-admin.js'
import { walkEntries } from './queue-pages.js'
import { type WaitReason, waitReasonOf } from './wait-reason.js'

/** Groups that are counted; entries of further ones are counted together, by reason. */
const MAX_GROUPS = 10_000
const OTHERS = '(others)'

interface SummaryGroup {
  /** Id of a provider; null: none of the list. */
  readonly provider: string | null
  /** Null for a provider, whose domains are counted together. */
  readonly domain: string | null
  readonly reason: WaitReason
  readonly count: number
  /** When the oldest of them was accepted, or became due. */
  readonly oldestAt: number
  /** The first next attempt of them; null: all of them are held or being sent. */
  readonly nextAt: number | null
  /** The reply that the newest of them had, or what it waits for. */
  readonly lastReply: string | null
}

export interface QueueSummary {
  readonly total: number
  /** Largest first. */
  readonly groups: readonly SummaryGroup[]
}

export async function summarizeQueue(
  read: Read,
  filter: QueueFilter,
  onStep: (looked: number) => void,
): Promise<QueueSummary> {
  const groups = new Map<string, SummaryGroup>()
  let total = 0
  for await (const entries of walkEntries(read, filter, onStep)) {
    total += entries.length
    for (const entry of entries) addEntry(groups, entry)
  }
  return { total, groups: [...groups.values()].sort((one, other) => other.count - one.count) }
}

function addEntry(groups: Map<string, SummaryGroup>, entry: ListedEntry): void {
  const provider = providerOf(entry)
  const reason = waitReasonOf(entry)
  const place = provider ?? entry.domain
  const isKnown = groups.has(`${place} ${reason}`) || groups.size < MAX_GROUPS
  const key = `${isKnown ? place : OTHERS} ${reason}`
  const nextAt = entry.held !== 0 || entry.leased === 1 ? null : entry.next_attempt_at
  const found = groups.get(key)
  const domain = isKnown ? entry.domain : OTHERS
  groups.set(key, {
    provider: isKnown ? provider : null,
    domain: isKnown && provider !== null ? null : domain,
    reason,
    count: (found?.count ?? 0) + 1,
    oldestAt: Math.min(found?.oldestAt ?? entry.enqueued_at, entry.enqueued_at),
    nextAt: earlier(found?.nextAt ?? null, nextAt),
    lastReply: entry.waits_for ?? entry.last_response ?? found?.lastReply ?? null,
  })
}

function earlier(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.min(one, other)
}
