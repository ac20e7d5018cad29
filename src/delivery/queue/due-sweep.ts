/**
 * Brings due entries from the database into the lanes, a small page at a time.
 *
 * Each workspace has a sweep of its own that walks its due entries in order of time and
 * keeps its place, so an entry is looked at once when it becomes due, however long the
 * queue is. What finds its lane full is passed over; the lane is refilled by itself
 * when it has drained. A change from outside (`reset`) starts the sweeps over.
 */
import { dueEntriesOfLane, dueEntriesOfWorkspace, nextWorkspaceInQueue } from '../../messages/queue/due-entries.js'
import type { QueueEntry } from '../../messages/queue/queue.js'
import type { Read } from '../../storage/prepared.js'
import type { Lanes, ShortLane } from './lanes.js'

interface SweepPosition {
  time: number
  id: string
}

const PAGE_SIZE = 200

export class DueSweep {
  private readonly positions = new Map<string, SweepPosition>()

  constructor(
    private readonly read: Read,
    private readonly lanes: Lanes,
    private readonly perLane: number,
  ) {}

  /** One page of each workspace. True when some workspace has more that is due and room for it. */
  step(now: number): boolean {
    this.refillShortLanes(now)
    let more = false
    for (const workspaceId of this.iterateWorkspaces()) {
      if (this.lanes.hasRoom(workspaceId) && this.sweepWorkspace(workspaceId, now)) more = true
    }
    return more
  }

  /** Fetches the rest of lanes that have drained. */
  refillShortLanes(now: number): void {
    for (let lane = this.lanes.takeShortLane(); lane !== null; lane = this.lanes.takeShortLane())
      this.refillLane(lane, now)
  }

  /** An entry that became due at a moment that the sweep may have passed already. */
  rewindTo(entry: Pick<QueueEntry, 'workspace_id' | 'next_attempt_at'>): void {
    const place = this.positions.get(entry.workspace_id)
    if (place !== undefined && place.time >= entry.next_attempt_at) {
      place.time = entry.next_attempt_at
      place.id = ''
    }
  }

  /** Anything may have changed. */
  reset(): void {
    this.positions.clear()
  }

  private *iterateWorkspaces(): Generator<string> {
    let after = ''
    for (;;) {
      const next = nextWorkspaceInQueue(this.read, { after })[0]
      if (next === undefined) return
      after = next.workspace_id
      yield after
    }
  }

  private sweepWorkspace(workspaceId: string, now: number): boolean {
    const place = this.positions.get(workspaceId) ?? { time: 0, id: '' }
    this.positions.set(workspaceId, place)
    // The clock was set back: what is due now may lie before the place.
    if (place.time > now) Object.assign(place, { time: 0, id: '' })
    const page = dueEntriesOfWorkspace(this.read, {
      workspaceId,
      afterTime: place.time,
      afterId: place.id,
      now,
      limit: PAGE_SIZE,
    })
    for (const entry of page) {
      this.lanes.add(entry)
      place.time = entry.next_attempt_at
      place.id = entry.id
    }
    return page.length === PAGE_SIZE
  }

  /** Those that wait or are under way come back too: ask for as many more. */
  private refillLane({ workspaceId, domain, priority }: ShortLane, now: number): void {
    const limit = this.perLane * 2
    const due = dueEntriesOfLane(this.read, { workspaceId, domain, priority, now, limit })
    for (const entry of due) this.lanes.add(entry)
    if (due.length === limit) this.lanes.markMore({ workspaceId, domain, priority })
  }
}
