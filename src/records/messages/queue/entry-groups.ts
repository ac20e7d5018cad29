/** Counts entries of the queue that have something in common. */
import { HOLD } from '../../../base/storage/tables/hold.js'
import type { ListedEntry } from './queue-admin.js'
import { type QueueStatus, queueStatuses } from './queue-status.js'
import { queueStatusOf, type WaitReason, waitReasonOf } from './wait-reason.js'

/** What is looked at of an entry. */
type CountedEntry = Omit<
  ListedEntry,
  'email_id' | 'workspace_id' | 'recipient' | 'hold_rule' | 'from_email' | 'subject' | 'tags'
>

export type StateCounts = Readonly<Record<QueueStatus, number>>

export class EntryGroup {
  total = 0
  readonly states: Record<QueueStatus, number> = { ...noEntries }
  /** They are to be attempted now. */
  due = 0
  /** Those of the held ones that a release frees: a hold rule and a paused broadcast free their own. */
  releasable = 0
  /** When the oldest of them was accepted, or became due. */
  oldestAt = Number.POSITIVE_INFINITY
  /** The first next attempt of them; null: all of them are held or being sent. */
  nextAt: number | null = null
  /** The reply that the newest of them had; null: there is none. */
  lastResponse: string | null = null
  /** The same, or what it waits for. */
  lastReply: string | null = null

  /** Entries come oldest first. */
  add(entry: CountedEntry, now: number): void {
    const { held, enqueued_at, next_attempt_at: nextAt, last_response: response } = entry
    const state = queueStatusOf(entry)
    this.total += 1
    this.states[state] += 1
    if (state !== 'held' && state !== 'sending') {
      if (nextAt <= now) this.due += 1
      this.nextAt = Math.min(this.nextAt ?? nextAt, nextAt)
    }
    if (held === HOLD.byOperator || held === HOLD.byMember) this.releasable += 1
    this.oldestAt = Math.min(this.oldestAt, enqueued_at)
    this.lastResponse = response ?? this.lastResponse
    this.lastReply = entry.waits_for ?? response ?? this.lastReply
  }

  /** Those that are not due, not held and not being sent. */
  get waiting(): number {
    const { held, sending } = this.states
    return this.total - held - sending - this.due
  }
}

const noEntries = Object.fromEntries(queueStatuses.map((status) => [status, 0])) as Record<QueueStatus, number>

/** Entries that are counted together, and by reason too. */
export class ReasonedGroup extends EntryGroup {
  readonly reasons = new Map<WaitReason, EntryGroup>()

  override add(entry: CountedEntry, now: number): void {
    super.add(entry, now)
    groupOf(this.reasons, waitReasonOf(entry), () => new EntryGroup()).add(entry, now)
  }
}

/** The name of the group of all entries that found no room in one of their own. */
export const OTHERS = '(others)'

/** The group of this name; beyond `max` groups, that of `others`. */
export function groupOf<Name, Group>(
  groups: Map<Name, Group>,
  name: Name,
  create: () => Group,
  { max, others }: { readonly max: number; readonly others: Name } = { max: Number.POSITIVE_INFINITY, others: name },
): Group {
  const key = groups.has(name) || groups.size < max ? name : others
  const group = groups.get(key) ?? create()
  groups.set(key, group)
  return group
}

/** The groups that have most entries, with their names. */
export function listLargest<Name, Group extends { readonly total: number }>(
  groups: ReadonlyMap<Name, Group>,
  limit = Number.POSITIVE_INFINITY,
): [Name, Group][] {
  return [...groups].sort(([, one], [, other]) => other.total - one.total).slice(0, limit)
}
