/**
 * A walk over the events of a workspace in their order, with a cursor. All events up to the cursor are settled, or
 * the webhook does not want them. The walk of a webhook has the events of one slot, where none appears before others that
 * are visible. The walk of a replay has those of all slots.
 *
 * The walk takes events in order and settles them in any order. The cursor stays before the oldest event that is not
 * settled, and the walk takes events only up to `MAX_AHEAD` beyond it. So a walk that resumes after a crash has to
 * look up at most that many of its first events, to see which of them were settled before.
 */
import { namedUuidv7 } from '../../base/platform/ids.js'
import type { EventPages, LoggedEvent } from './event-pages.js'

const MAX_AHEAD = 1_000
/** Events without a delivery after which a commit stores only the cursor. */
const MAX_SKIPPED = 500

interface WalkSettings {
  /** The id of the webhook or of the replay. It names the deliveries of the walk. */
  readonly id: string
  readonly workspaceId: string
  /** Null means all slots. */
  readonly slot: number | null
  /** All events up to this `seq` are settled. */
  readonly cursor: number
  /** The last `seq`. It is null if there is none. */
  readonly end: number | null
  /** The time in the ids of deliveries, in epoch milliseconds. Null means the time of each event. */
  readonly idTime: number | null
  readonly accepts: (event: LoggedEvent) => boolean
}

interface WalkReads {
  readonly events: Pick<EventPages, 'after'>
  /** Tells whether there is a delivery with this id. */
  readonly isStored: (deliveryId: string) => Promise<boolean>
}

export interface WalkEvent {
  readonly deliveryId: string
  readonly event: LoggedEvent
}

export class EventWalk {
  /** False means that the page had the last event. */
  private hasMore = true
  private wakes = 0
  private page: readonly LoggedEvent[] = []
  private pageIndex = 0
  private taken: number
  private committed: number
  private skipped = 0
  /** Events that were taken, and given back without an attempt. */
  private readonly returned: WalkEvent[] = []
  private takenCount = 0
  /** Events that are taken and not settled, in order, with the number of each. */
  private readonly open = new Map<number, number>()

  constructor(readonly settings: WalkSettings) {
    this.taken = settings.cursor
    this.committed = settings.cursor
  }

  /** The last event that was taken or passed over. */
  get position(): number {
    return this.taken
  }

  /** The cursor on disk, as far as this walk knows. */
  get committedCursor(): number {
    return this.committed
  }

  /** True if all events of the walk are settled. */
  get isComplete(): boolean {
    return this.isCompleteAfter(new Set())
  }

  /** True if all events are settled once `done` are settled too. */
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

  /** Says that there may be new events. */
  wake(): void {
    this.hasMore = true
    this.wakes += 1
  }

  /**
   * Takes the next event to deliver. It reads one page at most, so null means that there is none yet while `mayTake`
   * is true. Call it again only when the call before has ended.
   */
  async take(reads: WalkReads): Promise<WalkEvent | null> {
    const returned = this.returned.shift()
    if (returned !== undefined) return returned
    if (this.isBlocked || !this.canRead) return null
    if (this.pageIndex === this.page.length) await this.readPage(reads)
    while (this.pageIndex < this.page.length) {
      const event = this.page[this.pageIndex]
      if (event === undefined) break
      // The call may throw. Then the walk has not passed the event.
      const delivery = this.settings.accepts(event) ? await this.nameDelivery(event, reads) : null
      this.pageIndex += 1
      this.taken = event.seq
      if (delivery !== null) return delivery
      this.skipped += 1
    }
    return null
  }

  /** Returns an attempt without a known outcome. The walk takes its event again, before newer ones. */
  giveBack(delivery: WalkEvent): void {
    this.returned.push(delivery)
    this.returned.sort((a, b) => a.event.seq - b.event.seq)
  }

  /** True if the walk has an event to take, or may find one. */
  get mayTake(): boolean {
    return this.returned.length > 0 || (this.canRead && !this.isBlocked)
  }

  /** The cursor after the commit that settles `done`. */
  cursorAfter(done: ReadonlySet<number>): number {
    for (const seq of this.open.keys()) if (!done.has(seq)) return Math.max(this.committed, seq - 1)
    return this.taken
  }

  /** Call this when the commit is on disk. */
  settle(done: Iterable<number>, cursor: number): void {
    for (const seq of done) this.open.delete(seq)
    this.committed = Math.max(this.committed, cursor)
    this.skipped = 0
  }

  /** True if the cursor has passed many events since its last commit. */
  get needsCommit(): boolean {
    return this.skipped >= MAX_SKIPPED && this.open.size === 0
  }

  private async readPage({ events }: WalkReads): Promise<void> {
    const { workspaceId, slot, end } = this.settings
    const { wakes } = this
    const page = await events.after(workspaceId, this.taken, slot)
    this.page = end === null ? page : page.filter(({ seq }) => seq <= end)
    this.pageIndex = 0
    // An event that woke the walk during the read may have come too late for the page.
    this.hasMore = wakes !== this.wakes || (page.length > 0 && this.page.length === page.length)
  }

  private async nameDelivery(event: LoggedEvent, { isStored }: WalkReads): Promise<WalkEvent | null> {
    const deliveryId = namedUuidv7(this.settings.idTime ?? event.created_at, `${this.settings.id} ${event.id}`)
    if (this.takenCount < MAX_AHEAD && (await isStored(deliveryId))) {
      this.takenCount += 1
      return null
    }
    this.open.set(event.seq, this.takenCount)
    this.takenCount += 1
    return { deliveryId, event }
  }
}
