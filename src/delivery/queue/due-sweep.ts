/**
 * Brings due entries from the database into the lanes, a small page at a time.
 *
 * Each workspace has a sweep of its own that walks its due entries in order of time and
 * keeps its place, so an entry is looked at once when it becomes due, however long the
 * queue is. What finds its lane full is passed over; the lane is refilled by itself
 * when it has drained. A change from outside (`reset`) starts the sweeps over.
 */
import { dueOfLane, dueOfWorkspace } from '../../messages/queue/due-entries.js'
import type { QueueEntry } from '../../messages/queue/queue.js'
import { nextWorkspaceInQueue } from '../../messages/queue/queue-workspaces.js'
import type { Read } from '../../storage/prepared.js'
import type { Lanes, ShortLane } from './lanes.js'

interface Place {
  time: number
  id: string
}

const PAGE = 200

export class DueSweep {
  private readonly places = new Map<string, Place>()

  constructor(
    private readonly read: Read,
    private readonly lanes: Lanes,
    private readonly perLane: number,
  ) {}

  /** One page of each workspace. True when some workspace has more that is due and room for it. */
  step(now: number): boolean {
    this.refillShort(now)
    let more = false
    for (const workspaceId of this.workspaces()) {
      if (this.lanes.hasRoom(workspaceId) && this.sweep(workspaceId, now)) more = true
    }
    return more
  }

  /** Fetches the rest of lanes that have drained. */
  refillShort(now: number): void {
    for (let lane = this.lanes.nextShort(); lane !== null; lane = this.lanes.nextShort()) this.refill(lane, now)
  }

  /** An entry that became due at a moment that the sweep may have passed already. */
  missed(entry: Pick<QueueEntry, 'workspace_id' | 'next_attempt_at'>): void {
    const place = this.places.get(entry.workspace_id)
    if (place !== undefined && place.time >= entry.next_attempt_at) {
      place.time = entry.next_attempt_at
      place.id = ''
    }
  }

  /** Anything may have changed. */
  reset(): void {
    this.places.clear()
  }

  private *workspaces(): Generator<string> {
    let after = ''
    for (;;) {
      const next = nextWorkspaceInQueue(this.read, { after })[0]
      if (next === undefined) return
      after = next.workspace_id
      yield after
    }
  }

  private sweep(workspaceId: string, now: number): boolean {
    const place = this.places.get(workspaceId) ?? { time: 0, id: '' }
    this.places.set(workspaceId, place)
    // The clock was set back: what is due now may lie before the place.
    if (place.time > now) Object.assign(place, { time: 0, id: '' })
    const page = dueOfWorkspace(this.read, {
      workspaceId,
      afterTime: place.time,
      afterId: place.id,
      now,
      limit: PAGE,
    })
    for (const entry of page) {
      this.lanes.add(entry)
      place.time = entry.next_attempt_at
      place.id = entry.id
    }
    return page.length === PAGE
  }

  /** Those that wait or are under way come back too: ask for as many more. */
  private refill({ workspaceId, domain, priority }: ShortLane, now: number): void {
    const limit = this.perLane * 2
    const due = dueOfLane(this.read, { workspaceId, domain, priority, now, limit })
    for (const entry of due) this.lanes.add(entry)
    if (due.length === limit) this.lanes.markMore({ workspaceId, domain, priority })
  }
}
