/**
 * A walk over the events of a workspace in their order, with a cursor: all events up to it are settled or of no concern.
 *
 * Events are taken in order and settled in any order. The cursor stays before the oldest that is not settled, and events
 * are taken only up to `MAX_AHEAD` beyond it. A walk that resumes after a crash therefore has to look up only so many of
 * its first events, to see which of them were settled before.
 */
import { namedUuidv7 } from '../../base/platform/ids.js'
import type { EventPages, LoggedEvent } from './event-pages.js'

const MAX_AHEAD = 1_000
/** Events without a delivery after which the cursor is worth a commit of its own. */
const MAX_SKIPPED = 500

interface WalkSettings {
  /** The id of the webhook or of the replay; it names the deliveries of the walk. */
  readonly id: string
  readonly workspaceId: string
  /** All events up to this `seq` are settled. */
  readonly cursor: number
  /** The last `seq`; null: there is none. */
  readonly end: number | null
  /** The time in the ids of deliveries, epoch milliseconds; null: that of each event. */
  readonly idTime: number | null
  readonly accepts: (event: LoggedEvent) => boolean
}

interface WalkReads {
  readonly events: Pick<EventPages, 'after'>
  /** Is there a delivery with this id? */
  readonly isStored: (deliveryId: string) => boolean
}

export interface WalkEvent {
  readonly deliveryId: string
  readonly event: LoggedEvent
}

export class EventWalk {
  /** False: there was no further event than those of the page. */
  hasMore = true
  private page: readonly LoggedEvent[] = []
  private pageIndex = 0
  private taken: number
  private committed: number
  private skipped = 0
  /** Taken, and given back without an attempt. */
  private readonly returned: WalkEvent[] = []
  private takenCount = 0
  /** Taken and not settled, in order, each with its number. */
  private readonly open = new Map<number, number>()

  constructor(readonly settings: WalkSettings) {
    this.taken = settings.cursor
    this.committed = settings.cursor
  }

  /** The last event that was taken or passed over. */
  get position(): number {
    return this.taken
  }

  /** All events of the walk are settled. */
  get isComplete(): boolean {
    return this.isCompleteAfter(new Set())
  }

  /** The same, once `done` are settled too. */
  isCompleteAfter(done: ReadonlySet<number>): boolean {
    return !this.canRead && [...this.open.keys()].every((seq) => done.has(seq))
  }

  private get canRead(): boolean {
    return this.hasMore || this.pageIndex < this.page.length
  }

  private get isBlocked(): boolean {
    const [oldest] = this.open.values()
    return oldest !== undefined && this.takenCount - oldest >= MAX_AHEAD
  }

  /** The next event to deliver. Reads one page at most: null means none yet while `mayTake`. */
  take(reads: WalkReads): WalkEvent | null {
    const returned = this.returned.shift()
    if (returned !== undefined) return returned
    if (this.isBlocked || !this.canRead) return null
    if (this.pageIndex === this.page.length) this.readPage(reads)
    while (this.pageIndex < this.page.length) {
      const event = this.page[this.pageIndex]
      if (event === undefined) break
      // It may throw: then the event is not passed.
      const delivery = this.settings.accepts(event) ? this.nameDelivery(event, reads) : null
      this.pageIndex += 1
      this.taken = event.seq
      if (delivery !== null) return delivery
      this.skipped += 1
    }
    return null
  }

  /** No outcome of an attempt is known: the event is taken again, before newer ones. */
  giveBack(delivery: WalkEvent): void {
    this.returned.push(delivery)
    this.returned.sort((a, b) => a.event.seq - b.event.seq)
  }

  /** Has it an event to take, or may it find one? */
  get mayTake(): boolean {
    return this.returned.length > 0 || (this.canRead && !this.isBlocked)
  }

  /** `done` are settled in the commit that this cursor is part of. */
  cursorAfter(done: ReadonlySet<number>): number {
    for (const seq of this.open.keys()) if (!done.has(seq)) return Math.max(this.committed, seq - 1)
    return this.taken
  }

  /** To be called when the commit is on disk. */
  settle(done: Iterable<number>, cursor: number): void {
    for (const seq of done) this.open.delete(seq)
    this.committed = Math.max(this.committed, cursor)
    this.skipped = 0
  }

  /** The cursor has passed many events since its last commit. */
  get needsCommit(): boolean {
    return this.skipped >= MAX_SKIPPED && this.open.size === 0
  }

  private readPage({ events }: WalkReads): void {
    const { workspaceId, end } = this.settings
    const page = events.after(workspaceId, this.taken)
    this.page = end === null ? page : page.filter(({ seq }) => seq <= end)
    this.pageIndex = 0
    this.hasMore = page.length > 0 && this.page.length === page.length
  }

  private nameDelivery(event: LoggedEvent, { isStored }: WalkReads): WalkEvent | null {
    const deliveryId = namedUuidv7(this.settings.idTime ?? event.created_at, `${this.settings.id} ${event.id}`)
    if (this.takenCount < MAX_AHEAD && isStored(deliveryId)) {
      this.takenCount += 1
      return null
    }
    this.open.set(event.seq, this.takenCount)
    this.takenCount += 1
    return { deliveryId, event }
  }
}
