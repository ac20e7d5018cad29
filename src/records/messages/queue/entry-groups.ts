/** Counts entries of the queue in groups that have something in common. */
import { HOLD } from '../../../base/storage/tables/hold.js'
import type { ListedEntry } from './queue-admin.js'
import { type QueueStatus, queueStatuses } from './queue-status.js'
import { queueStatusOf, type WaitReason, waitReasonOf } from './wait-reason.js'

/** The part of an entry that is counted. */
type CountedEntry = Omit<
  ListedEntry,
  'email_id' | 'workspace_id' | 'recipient' | 'hold_rule' | 'node' | 'from_email' | 'subject' | 'tags'
>

export type StateCounts = Readonly<Record<QueueStatus, number>>

export class EntryGroup {
  total = 0
  readonly states: Record<QueueStatus, number> = { ...noEntries }
  /** The number of entries that are due now. */
  due = 0
  /** The held entries that a release frees. A hold rule and a paused broadcast free their own. */
  releasable = 0
  /** When the oldest entry was accepted, or became due. */
  oldestAt = Number.POSITIVE_INFINITY
  /** The earliest next attempt of the entries. Null if all of them are held or being sent. */
  nextAt: number | null = null
  /** The reply to the newest of them. Null if there is none. */
  lastResponse: string | null = null
  /** The same reply, or what the entry waits for. */
  lastReply: string | null = null

  /** Add the oldest entries first. */
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

  /** The number of entries that are not due, not held and not being sent. */
  get waiting(): number {
    const { held, sending } = this.states
    return this.total - held - sending - this.due
  }
}

const noEntries = Object.fromEntries(queueStatuses.map((status) => [status, 0])) as Record<QueueStatus, number>

/** A group of entries that is also counted by reason. */
export class ReasonedGroup extends EntryGroup {
  readonly reasons = new Map<WaitReason, EntryGroup>()

  override add(entry: CountedEntry, now: number): void {
    super.add(entry, now)
    groupOf(this.reasons, waitReasonOf(entry), () => new EntryGroup()).add(entry, now)
  }
}

/** The name of the group of all entries that found no room in another group. */
export const OTHERS = '(others)'

/** Returns the group of this name. Beyond `max` groups, returns that of `others`. */
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

/** Returns the groups that have most entries, with their names. */
export function listLargest<Name, Group extends { readonly total: number }>(
  groups: ReadonlyMap<Name, Group>,
  limit = Number.POSITIVE_INFINITY,
): [Name, Group][] {
  return [...groups].sort(([, one], [, other]) => other.total - one.total).slice(0, limit)
}
