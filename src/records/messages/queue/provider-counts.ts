/** The queue by mailbox provider, and the entries of each by reason: a part of the census. */
import { providerGroupOf } from '../../../base/mail/mailbox-providers.js'
import type { ListedEntry } from './queue-admin.js'
import { type WaitReason, waitReasonOf } from './wait-reason.js'

/** What is looked at of an entry. */
type Counted = Pick<
  ListedEntry,
  | 'domain'
  | 'mx'
  | 'enqueued_at'
  | 'next_attempt_at'
  | 'attempts'
  | 'leased'
  | 'held'
  | 'waits_for'
  | 'last_response'
  | 'reason'
  | 'recipient_status'
>

interface ProviderReason {
  readonly reason: WaitReason
  readonly total: number
  /** The reply that the newest of them had, or what it waits for; null: there is neither. */
  readonly lastReply: string | null
}

export interface ProviderCount {
  /** One of `providerGroups`. */
  readonly provider: string
  readonly total: number
  readonly due: number
  /** For their next attempt, which is later. */
  readonly waiting: number
  readonly sending: number
  readonly held: number
  /** Those of the held ones that a release frees: a hold rule and a paused broadcast free their own. */
  readonly releasable: number
  /** When the oldest of them was accepted, or became due. */
  readonly oldestAt: number
  readonly reasons: ReadonlyMap<WaitReason, ProviderReason>
}

class Group implements ProviderCount {
  total = 0
  due = 0
  waiting = 0
  sending = 0
  held = 0
  releasable = 0
  oldestAt = Number.POSITIVE_INFINITY
  readonly reasons = new Map<WaitReason, ProviderReason>()

  constructor(readonly provider: string) {}

  add(entry: Counted, now: number): void {
    this.total += 1
    this[stateOf(entry, now)] += 1
    if (entry.held === 1 || entry.held === 3) this.releasable += 1
    this.oldestAt = Math.min(this.oldestAt, entry.enqueued_at)
    const reason = waitReasonOf(entry)
    const found = this.reasons.get(reason)
    const lastReply = entry.waits_for ?? entry.last_response ?? found?.lastReply ?? null
    this.reasons.set(reason, { reason, total: (found?.total ?? 0) + 1, lastReply })
  }
}

function stateOf({ held, leased, next_attempt_at: at }: Counted, now: number): 'held' | 'sending' | 'due' | 'waiting' {
  if (held !== 0) return 'held'
  if (leased === 1) return 'sending'
  return at <= now ? 'due' : 'waiting'
}

export class ProviderCounts {
  private readonly groups = new Map<string, Group>()

  /** Entries come oldest first. */
  add(entry: Counted, now: number): void {
    const provider = providerGroupOf(entry)
    const group = this.groups.get(provider) ?? new Group(provider)
    group.add(entry, now)
    this.groups.set(provider, group)
  }

  list(): readonly ProviderCount[] {
    return [...this.groups.values()]
  }
}
