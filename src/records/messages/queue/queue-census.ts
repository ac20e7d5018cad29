/**
 * The *census* of the queue counts all entries, by state, recipient domain, reason, mailbox provider and node.
 *
 * It counts entries in short steps, so that other work continues. It counts a short queue while the caller waits; for a
 * long one the caller gets the last complete count, or what is counted so far. A long count is not repeated at once:
 * the census rests ten times as long as the count took.
 */
import { providerGroupOf } from '../../../base/mail/mailbox-providers.js'
import type { Clock } from '../../../base/platform/clock.js'
import { prepareRead, type Read } from '../../../base/storage/db/prepared.js'
import { ROW_STEP, waitForStep } from '../../../base/storage/db/stepped-walk.js'
import { EntryGroup, groupOf, OTHERS, ReasonedGroup } from './entry-groups.js'
import { describeEntry } from './wait-reason.js'

/** The most domains, and the most reasons, that are counted. Entries of further ones are counted together. */
const bounded = { max: 20_000, others: OTHERS }
/** The most milliseconds that a caller waits for a count. */
const MAX_WAIT = 100
const REST = 10

/** The ages by which entries are counted, in milliseconds. */
export const AGE_BOUNDS: Readonly<Record<string, number>> = {
  '5m': 300_000,
  '1h': 3_600_000,
  '4h': 14_400_000,
  '1d': 86_400_000,
  '3d': 259_200_000,
}
const ageBounds = Object.entries(AGE_BOUNDS)

export interface QueueCensus {
  readonly complete: boolean
  /** When the count began. */
  readonly countedAt: number
  readonly all: EntryGroup
  /** The number of older entries, by the names of the bounds. */
  readonly ages: Readonly<Record<string, number>>
  readonly domains: ReadonlyMap<string, EntryGroup>
  /** Groups by the texts of `describeEntry`. */
  readonly reasons: ReadonlyMap<string, EntryGroup>
  /** Groups by `providerGroups`. */
  readonly providers: ReadonlyMap<string, ReasonedGroup>
  /** Numbers of entries by the node that owns them, which has no name on SQLite. */
  readonly nodes: ReadonlyMap<string, number>
}

const entriesAfter = prepareRead<{ after: string; limit: number }>()(({ db, slot }) =>
  db
    .selectFrom('queue')
    .innerJoin('recipients', 'recipients.id', 'queue.id')
    .select([
      'queue.id',
      'queue.node',
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

class Count implements QueueCensus {
  complete = false
  readonly all = new EntryGroup()
  readonly ages = Object.fromEntries(ageBounds.map(([name]) => [name, 0]))
  readonly domains = new Map<string, EntryGroup>()
  readonly reasons = new Map<string, EntryGroup>()
  readonly providers = new Map<string, ReasonedGroup>()
  readonly nodes = new Map<string, number>()

  constructor(readonly countedAt: number) {}

  add(entry: Awaited<ReturnType<typeof entriesAfter>>[number]): void {
    const create = (): EntryGroup => new EntryGroup()
    const groups = [
      this.all,
      groupOf(this.domains, entry.domain, create, bounded),
      groupOf(this.reasons, describeEntry(entry), create, bounded),
      groupOf(this.providers, providerGroupOf(entry), () => new ReasonedGroup()),
    ]
    for (const group of groups) group.add(entry, this.countedAt)
    this.nodes.set(entry.node, (this.nodes.get(entry.node) ?? 0) + 1)
    this.addAge(this.countedAt - entry.enqueued_at)
  }

  private addAge(age: number): void {
    for (const [name, bound] of ageBounds) {
      if (age <= bound) return
      this.ages[name] = (this.ages[name] ?? 0) + 1
    }
  }
}

export class QueueCounter {
  private last: { readonly census: QueueCensus; readonly restUntil: number } | null = null
  private running: { readonly count: Count; readonly end: Promise<void> } | null = null

  constructor(
    private readonly read: Read,
    private readonly clock: Clock,
  ) {}

  async count(): Promise<QueueCensus> {
    if (this.last !== null && this.clock() < this.last.restUntil) return this.last.census
    this.running ??= this.begin()
    const { count, end } = this.running
    await Promise.race([end, wait()])
    return count.complete ? count : (this.last?.census ?? count)
  }

  private begin(): NonNullable<typeof this.running> {
    const count = new Count(this.clock())
    const end = countAll(this.read, count)
      .then(() => {
        const took = this.clock() - count.countedAt
        this.last = { census: count, restUntil: took < MAX_WAIT ? 0 : this.clock() + took * REST }
      })
      .finally(() => {
        this.running = null
      })
    // A caller that waits gets the error. After that wait there is none.
    end.catch(() => undefined)
    return { count, end }
  }
}

function wait(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, MAX_WAIT).unref()
  })
}

async function countAll(read: Read, count: Count): Promise<void> {
  for (let after = ''; ; ) {
    const entries = await entriesAfter(read, { after, limit: ROW_STEP })
    for (const entry of entries) count.add(entry)
    after = entries.at(-1)?.id ?? ''
    if (entries.length < ROW_STEP) break
    await waitForStep()
  }
  count.complete = true
}
