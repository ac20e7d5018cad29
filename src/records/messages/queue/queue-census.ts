/**
 * The *census* of the queue counts all entries, by state, recipient domain, reason and mailbox provider.
 *
 * Entries are counted in short steps, beside other work. A short queue is counted while the caller waits; for a long
 * one the caller gets the last complete count, or what is counted so far. A long count is not repeated at once: it
 * rests ten times as long as it took.
 */
import type { Clock } from '../../../base/platform/clock.js'
import { prepareRead, type Read } from '../../../base/storage/db/prepared.js'
import { ROW_STEP, waitForStep } from '../../../base/storage/db/stepped-walk.js'
import { type ProviderCount, ProviderCounts } from './provider-counts.js'
import { queueStatusOf } from './queue-admin.js'
import { reasonOfEntry } from './queue-reason.js'
import { type QueueStatus, queueStatuses } from './queue-status.js'

/** Groups that are counted; entries of further ones are counted together. */
const MAX_GROUPS = 20_000
/** Milliseconds that a caller waits for a count. */
const MAX_WAIT = 100
const REST = 10

/** Ages by which entries are counted, in milliseconds. */
export const AGE_BOUNDS: Readonly<Record<string, number>> = {
  '5m': 300_000,
  '1h': 3_600_000,
  '4h': 14_400_000,
  '1d': 86_400_000,
  '3d': 259_200_000,
}
const ageBounds = Object.entries(AGE_BOUNDS)

export type StateCounts = Readonly<Record<QueueStatus, number>>

interface DomainCount extends StateCounts {
  readonly domain: string
  readonly total: number
  /** When the oldest of them was accepted. */
  readonly oldestAt: number
}

interface ReasonCount {
  readonly reason: string
  /** One of their replies. */
  readonly sample: string | null
  readonly total: number
}

export interface QueueCensus {
  readonly complete: boolean
  /** When it began. */
  readonly countedAt: number
  readonly total: number
  readonly states: StateCounts
  readonly oldestAt: number | null
  /** Entries that are older, by the names of the bounds. */
  readonly ages: Readonly<Record<string, number>>
  readonly domains: ReadonlyMap<string, DomainCount>
  readonly reasons: ReadonlyMap<string, ReasonCount>
  readonly providers: readonly ProviderCount[]
}

const entriesAfter = prepareRead<{ after: string; limit: number }>()(({ db, slot }) =>
  db
    .selectFrom('queue')
    .innerJoin('recipients', 'recipients.id', 'queue.id')
    .select([
      'queue.id',
      'queue.domain',
      'queue.attempts',
      'queue.enqueued_at',
      'queue.next_attempt_at',
      'queue.leased',
      'queue.held',
      'queue.last_response',
      'queue.waits_for',
      'recipients.status as recipient_status',
      'recipients.reason',
      'recipients.mx',
    ])
    .where('queue.id', '>', slot('after'))
    .orderBy('queue.id')
    .limit(slot('limit')),
)

type CountedEntry = ReturnType<typeof entriesAfter>[number]

type Writable<Group> = { -readonly [Field in keyof Group]: Group[Field] }

class Count implements QueueCensus {
  complete = false
  total = 0
  oldestAt: number | null = null
  readonly states = emptyStates()
  readonly ages = Object.fromEntries(ageBounds.map(([name]) => [name, 0]))
  readonly domains = new Map<string, Writable<DomainCount>>()
  readonly reasons = new Map<string, Writable<ReasonCount>>()
  private readonly byProvider = new ProviderCounts()

  constructor(readonly countedAt: number) {}

  get providers(): readonly ProviderCount[] {
    return this.byProvider.list()
  }

  add(entry: CountedEntry): void {
    const state = queueStatusOf(entry)
    this.total += 1
    this.states[state] += 1
    this.oldestAt = Math.min(this.oldestAt ?? entry.enqueued_at, entry.enqueued_at)
    this.addAge(this.countedAt - entry.enqueued_at)
    this.addDomain(entry, state)
    this.addReason(entry, state)
    this.byProvider.add(entry, this.countedAt)
  }

  private addAge(age: number): void {
    for (const [name, bound] of ageBounds) {
      if (age <= bound) return
      this.ages[name] = (this.ages[name] ?? 0) + 1
    }
  }

  private addDomain({ domain, enqueued_at }: CountedEntry, state: QueueStatus): void {
    const name = this.domains.has(domain) || this.domains.size < MAX_GROUPS ? domain : OTHERS
    const group = this.domains.get(name) ?? { domain: name, total: 0, oldestAt: enqueued_at, ...emptyStates() }
    group.total += 1
    group[state] += 1
    group.oldestAt = Math.min(group.oldestAt, enqueued_at)
    this.domains.set(name, group)
  }

  private addReason(entry: CountedEntry, state: QueueStatus): void {
    const found = reasonOfEntry(entry, state)
    const reason = this.reasons.has(found) || this.reasons.size < MAX_GROUPS ? found : OTHERS
    const group = this.reasons.get(reason) ?? { reason, sample: entry.last_response, total: 0 }
    group.total += 1
    this.reasons.set(reason, group)
  }
}

/** The group of entries beyond `MAX_GROUPS`. */
const OTHERS = '(others)'

function emptyStates(): Record<QueueStatus, number> {
  return Object.fromEntries(queueStatuses.map((status) => [status, 0])) as Record<QueueStatus, number>
}

export function createQueueCensus({
  read,
  clock,
}: {
  readonly read: Read
  readonly clock: Clock
}): () => Promise<QueueCensus> {
  let last: { readonly census: QueueCensus; readonly restUntil: number } | null = null
  let running: { readonly count: Count; readonly end: Promise<void> } | null = null
  const begin = (): NonNullable<typeof running> => {
    const count = new Count(clock())
    const end = countAll(read, count)
      .then(() => {
        const took = clock() - count.countedAt
        last = { census: count, restUntil: took < MAX_WAIT ? 0 : clock() + took * REST }
      })
      .finally(() => {
        running = null
      })
    // The caller that waits gets the error; after its wait there is none.
    end.catch(() => undefined)
    return { count, end }
  }
  return async () => {
    if (last !== null && clock() < last.restUntil) return last.census
    running ??= begin()
    const { count, end } = running
    await Promise.race([end, wait()])
    if (count.complete) return count
    return last?.census ?? count
  }
}

function wait(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, MAX_WAIT).unref()
  })
}

async function countAll(read: Read, count: Count): Promise<void> {
  for (let after = ''; ; ) {
    const entries = entriesAfter(read, { after, limit: ROW_STEP })
    for (const entry of entries) count.add(entry)
    after = entries.at(-1)?.id ?? ''
    if (entries.length < ROW_STEP) break
    await waitForStep()
  }
  count.complete = true
}
