/**
 * The *sweep* of the queue brings due entries of this node from the database into the lanes, one small page at a time.
 *
 * Each workspace has a sweep, which walks the due entries of the workspace in order of time and keeps its position. So
 * each entry is read once when it becomes due, however long the queue is. An entry whose lane is full is skipped; the
 * lane is refilled when it has drained. After a change from outside (`reset`) the sweeps start over.
 */

import type { Read } from '../../../base/storage/db/prepared.js'
import { HOLD } from '../../../base/storage/tables/hold.js'
import {
  dueEntriesOfWorkspace,
  dueIdsOfLane,
  nextWorkspaceInQueue,
  ownEntryById,
} from '../../../records/messages/queue/due-entries.js'
import type { QueueEntry } from '../../../records/messages/queue/queue.js'
import type { Lanes } from './lanes.js'
import type { ShortLane } from './workspace-lanes.js'

interface SweepPosition {
  time: number
  id: string
  /** The earliest moment at which an entry became due while a page was read, which may lack it. Null if there is none. */
  rewoundTo: number | null
}

/**
 * `more` means that a workspace has more due entries, and room for them. `refused` means the same, but the lanes of the
 * entries that were read are full.
 */
type SweepStep = 'more' | 'refused' | 'done'

const PAGE_SIZE = 200
/** The most entries that one refill reads, which takes about a millisecond. */
const MAX_REFILL = 100

export class DueSweep {
  private readonly positions = new Map<string, SweepPosition>()

  constructor(
    private readonly read: Read,
    private readonly node: string,
    private readonly lanes: Lanes,
    private readonly perLane: number,
  ) {}

  /** Reads one page for each workspace. */
  async step(now: number): Promise<SweepStep> {
    await this.refillShortLanes(now)
    let step: SweepStep = 'done'
    for await (const workspaceId of this.iterateWorkspaces()) {
      const own = this.lanes.hasRoom(workspaceId) ? await this.sweepWorkspace(workspaceId, now) : 'done'
      if (own === 'more' || step === 'done') step = own
    }
    return step
  }

  /** Fetches more entries for lanes that have drained. Returns null if there are none. */
  refillShortLanes(now: number): Promise<void> | null {
    const lane = this.lanes.takeShortLane()
    return lane === null ? null : this.refillFrom(lane, now)
  }

  private async refillFrom(first: ShortLane, now: number): Promise<void> {
    for (let lane: ShortLane | null = first; lane !== null; lane = this.lanes.takeShortLane())
      await this.refillLane(lane, now)
  }

  /** Moves the sweep back to an entry that became due at a moment that the sweep may have passed. */
  rewindTo(entry: Pick<QueueEntry, 'workspace_id' | 'next_attempt_at'>): void {
    const position = this.positions.get(entry.workspace_id)
    if (position === undefined) return
    position.rewoundTo = Math.min(position.rewoundTo ?? entry.next_attempt_at, entry.next_attempt_at)
    moveBack(position)
  }

  /** Starts all sweeps over, because any entry may have changed. */
  reset(): void {
    this.positions.clear()
  }

  private async *iterateWorkspaces(): AsyncGenerator<string> {
    let after = ''
    for (;;) {
      const next = (await nextWorkspaceInQueue(this.read, { node: this.node, after }))[0]
      if (next === undefined) return
      after = next.workspace_id
      yield after
    }
  }

  private async sweepWorkspace(workspaceId: string, now: number): Promise<SweepStep> {
    const position = this.positions.get(workspaceId) ?? { time: 0, id: '', rewoundTo: null }
    this.positions.set(workspaceId, position)
    // If the clock was set back, due entries may lie before the position.
    if (position.time > now) Object.assign(position, { time: 0, id: '' })
    position.rewoundTo = null
    const page = await dueEntriesOfWorkspace(this.read, {
      node: this.node,
      workspaceId,
      afterTime: position.time,
      afterId: position.id,
      now,
      limit: PAGE_SIZE,
    })
    let added = 0
    for (const entry of page) {
      if (this.lanes.add(entry)) added += 1
      position.time = entry.next_attempt_at
      position.id = entry.id
    }
    moveBack(position)
    if (page.length < PAGE_SIZE) return 'done'
    return added > 0 ? 'more' : 'refused'
  }

  /** The ids include entries that wait in memory or are under way, so their limit is twice a lane. */
  private async refillLane({ workspaceId, domain, priority }: ShortLane, now: number): Promise<void> {
    const limit = this.perLane * 2
    const { node } = this
    const due = await dueIdsOfLane(this.read, { node, workspaceId, domain, priority, now, limit })
    const missing = due.filter(({ id }) => !this.lanes.has(id))
    const asked = missing.slice(0, MAX_REFILL)
    const read = (await Promise.all(asked.map(({ id }) => this.readDue(id, now)))).flat()
    for (const entry of read) this.lanes.add(entry)
    if (due.length < limit && missing.length <= MAX_REFILL) return
    this.lanes.markMore({ workspaceId, domain, priority })
    // Entries that the lane needs may lie behind them.
    if (read.some((entry) => this.lanes.isStopped(entry)))
      this.rewindTo({ workspace_id: workspaceId, next_attempt_at: 0 })
  }

  /** Reads the entry if it is still due. It may have changed since its id was read. */
  private async readDue(id: string, now: number): Promise<readonly QueueEntry[]> {
    return (await ownEntryById(this.read, { id, node: this.node })).filter(
      (entry) => entry.held === HOLD.none && entry.next_attempt_at <= now,
    )
  }
}

function moveBack(position: SweepPosition): void {
  const { time, rewoundTo } = position
  if (rewoundTo !== null && time >= rewoundTo) Object.assign(position, { time: rewoundTo, id: '' })
}
