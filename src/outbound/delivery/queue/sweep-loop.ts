/**
 * Runs the sweep of the queue page by page, and refills lanes that have drained. Only one page and one refill are under
 * way at a time, because each moves a place forward or asks for a lane once.
 */
import type { Clock } from '../../../base/platform/clock.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import type { QueueEntry } from '../../../records/messages/queue/queue.js'
import { DueSweep } from './due-sweep.js'
import type { Lanes } from './lanes.js'

/** Milliseconds of pause after a page that found no room for any entry. Reading a page takes one. */
const REFUSED_PAUSE = 20
/** Milliseconds between two full sweeps, which find entries that became due behind the position of the sweep. */
const FULL_SWEEP_INTERVAL = 5 * 60_000

interface SweepLoopDeps {
  readonly read: Read
  /** The name of this node. */
  readonly node: string
  readonly clock: Clock
  readonly lanes: Lanes
  readonly perLane: number
  /** False while nothing may be taken. */
  readonly mayRun: () => boolean
  /** Resolves to undefined, and pauses the runner, if the database cannot be read. */
  readonly tryRead: <Result>(work: () => Promise<Result>) => Promise<Result | undefined>
  /** Called when entries may have come into the lanes. */
  readonly onEntries: () => void
}

export class SweepLoop {
  private readonly sweep: DueSweep
  private next: NodeJS.Timeout | null = null
  /** The page that is being read. Null if there is none. */
  private sweeping: Promise<void> | null = null
  /** True if the sweep must go on at once after that page, because of what happened meanwhile. */
  private goesOn = false
  /** The refill that is under way. Null if there is none. */
  private refilling: Promise<void> | null = null
  private lastFullSweepAt = 0

  constructor(private readonly deps: SweepLoopDeps) {
    this.sweep = new DueSweep(deps.read, deps.node, deps.lanes, deps.perLane)
  }

  /** Sweeps now, or after the page that is being read. */
  run(): void {
    if (!this.deps.mayRun()) return
    if (this.sweeping !== null) {
      this.goesOn = true
      return
    }
    if (this.next !== null) clearTimeout(this.next)
    this.next = null
    this.goesOn = false
    this.sweeping = this.sweepPage().finally(() => {
      this.sweeping = null
      if (this.goesOn) this.run()
    })
  }

  /** Moves the sweep back to an entry that became due at a moment that the sweep may have passed. */
  rewindTo(entry: Pick<QueueEntry, 'workspace_id' | 'next_attempt_at'>): void {
    this.sweep.rewindTo(entry)
  }

  /** Starts over, because any entry may have changed. */
  reset(): void {
    this.sweep.reset()
  }

  /** Fetches more entries for lanes that have drained. */
  refill(): void {
    const refill = this.refilling === null ? this.sweep.refillShortLanes(this.deps.clock()) : null
    if (refill === null) return
    this.refilling = this.deps
      .tryRead(() => refill)
      .then(() => {
        this.refilling = null
        this.deps.onEntries()
      })
  }

  /** Resolves when no read is under way. */
  async stop(): Promise<void> {
    if (this.next !== null) clearTimeout(this.next)
    await Promise.all([this.sweeping, this.refilling])
  }

  /** If a million entries wait for one host, all but the first few are refused. */
  private async sweepPage(): Promise<void> {
    const { clock, mayRun, tryRead, onEntries } = this.deps
    const now = clock()
    if (Math.abs(now - this.lastFullSweepAt) >= FULL_SWEEP_INTERVAL) {
      this.lastFullSweepAt = now
      this.sweep.reset()
    }
    const step = (await tryRead(() => this.sweep.step(now))) ?? 'done'
    onEntries()
    if (step !== 'done' && mayRun()) this.next = setTimeout(() => this.run(), step === 'more' ? 0 : REFUSED_PAUSE)
  }
}
