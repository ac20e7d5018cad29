/**
 * Holds the due entries that are in memory, and decides which of them is attempted next.
 *
 * A *lane* is the due entries of one workspace, one domain and one priority, in memory. `take` goes round the owners of
 * workspaces, and round the workspaces of each owner. Within a workspace it serves high before normal before low
 * priority. Ten minutes of waiting outweigh one class, so that no entry waits without end. Within a class it goes round
 * the domains.
 *
 * An owner has a share of the slots (`attempt-slots.ts`) and of a host (`host-concurrency.ts`), so that a single
 * message of another owner always finds a place. An entry that has to wait for its host is put back (`bind`) and holds
 * no place while it waits. Messages of broadcasts begin at the pace of `bulk-pace.ts`. Messages of a stopped broadcast
 * are not taken in.
 *
 * The database holds all entries; memory holds a part. The rest of a full lane stays in the database, and
 * `takeShortLane` says when to fetch it: when the lane is half empty and its workspace has room for one whole lane, so
 * that no read fetches only a few entries. The more workspaces there are, the fewer entries of each are in memory.
 */

import type { QueueEntry } from '../../../records/messages/queue/queue.js'
import type { WorkspaceDirectory } from '../../../workspaces/accounts/workspace/workspace-directory.js'
import type { ConnectionLimits } from '../sessions/session-pool.js'
import type { Outage } from '../shaping/unreachable-hosts.js'
import { AttemptSlots } from './attempt-slots.js'
import type { BulkPace } from './bulk-pace.js'
import { type FindPace, HostConcurrency, type ReleaseSlot, type Taker } from './host-concurrency.js'
import type { Lane, LaneRound } from './lane-round.js'
import { acquirePermit } from './pace-permit.js'
import { type WaitingLimits, WaitingRoom } from './waiting-room.js'
import {
  addShortLane,
  countWaiting,
  dropBroadcast,
  findOrAddLane,
  hasWaitingBefore,
  priorityTimeOf,
  type ShortLane,
  takeShortLane,
  type WorkspaceLanes,
  WorkspaceRound,
} from './workspace-lanes.js'

export interface LaneLimits extends WaitingLimits {
  /** The number of slots for attempts under way. */
  readonly total: number
  /** The most sessions with one host. */
  readonly perHost: number
}

export function laneLimits(waiting: WaitingLimits, connections: () => ConnectionLimits): () => LaneLimits {
  return () => {
    const { max_connections: total, max_connections_per_host: perHost } = connections()
    return { ...waiting, total, perHost }
  }
}

export class Lanes {
  private readonly workspaces: WorkspaceRound
  private readonly entryIds = new Set<string>()
  private readonly hosts: HostConcurrency
  private readonly room: WaitingRoom
  private readonly stoppedBroadcasts = new Set<string>()
  private readonly slots: AttemptSlots
  /** True if only the pace kept a message of a broadcast from beginning. */
  waitsForPace = false
  /** True if an entry waits for a slot that another attempt may lose soon. */
  waitsForSlot = false

  constructor(
    private readonly limits: () => LaneLimits,
    private readonly pace: Pick<BulkPace, 'mayBegin' | 'noteBulk' | 'noteOther'>,
    owners: Pick<WorkspaceDirectory, 'ownerOf'>,
    private readonly findPace: FindPace = () => undefined,
    now?: () => number,
  ) {
    this.workspaces = new WorkspaceRound(owners)
    this.slots = new AttemptSlots(limits, now)
    this.hosts = new HostConcurrency(limits, findPace)
    this.room = new WaitingRoom(limits, () => this.workspaces.size)
  }

  /** The number of entries that are being attempted. */
  get active(): number {
    return this.slots.active
  }

  /** Tells whether `take` would return the entry at once. */
  isFreeFor(entry: QueueEntry): boolean {
    const taker = this.takerOf(entry)
    if (!this.slots.isFreeFor(taker.ownerId)) return false
    const workspace = this.workspaces.get(entry.workspace_id)
    if (workspace !== undefined && hasWaitingBefore(workspace, entry.priority)) return false
    return this.hosts.mayStart(taker, this.hosts.hostOf(entry.domain))
  }

  /**
   * Returns false if the lane or the workspace is full; the entry stays in the database then. An entry of a stopped
   * broadcast stays there too, and the lane does not ask for it. `isForced` adds the entry in any case, because
   * `isFreeFor` has allowed it a moment ago.
   */
  add(entry: QueueEntry, isForced = false): boolean {
    if (this.entryIds.has(entry.id) || this.isStopped(entry)) return true
    const workspace = this.workspaces.findOrAdd(entry.workspace_id)
    const lane = this.laneOf(workspace, entry)
    if (!isForced && this.room.isFull(workspace, lane)) {
      lane.hasMore = true
      this.markShort(workspace, lane)
      return false
    }
    lane.entries.push(entry)
    countWaiting(workspace, lane, 1)
    this.entryIds.add(entry.id)
    return true
  }

  /** Tells whether the entry waits in memory or is under way. */
  has(id: string): boolean {
    return this.entryIds.has(id)
  }

  /** Tells whether this workspace has room for enough entries to justify a read of the database. */
  hasRoom(workspaceId: string): boolean {
    return this.room.hasRoom(this.workspaces.get(workspaceId)?.waitingCount ?? 0)
  }

  /** Returns the next entry to attempt, and counts it as under way. Returns null if none may start. */
  take(): QueueEntry | null {
    this.waitsForPace = this.waitsForSlot = false
    for (const workspace of this.workspaces.inTurn()) {
      const entry = this.takeFrom(workspace)
      if (entry === null) continue
      this.workspaces.moveToEnd(workspace)
      return entry
    }
    return null
  }

  /**
   * Sets the host of an entry that is under way. `isProbing` makes the entry probe the host, alone for as long as it
   * returns true. Returns false if the host has no room; the entry then waits again, before all others of its lane.
   */
  bind(entry: QueueEntry, host: string, isProbing: (() => boolean) | null = null): boolean {
    this.hosts.setHost(entry.domain, host)
    const workspace = this.workspaces.findOrAdd(entry.workspace_id)
    const hasRoom = this.hosts.moveTo(entry.id, this.takerOf(entry), host)
    if (hasRoom && (isProbing === null || this.hosts.startProbe(host, entry.id, isProbing))) return true
    this.endAttempt(entry)
    const lane = this.laneOf(workspace, entry)
    lane.entries.unshift(entry)
    countWaiting(workspace, lane, 1)
    workspace.rounds[lane.priority].recheck(lane)
    return false
  }

  acquireSlot(entry: QueueEntry, host: string, signal: AbortSignal): Promise<ReleaseSlot | Outage> {
    const slot = this.hosts.acquireSlot(host, this.takerOf(entry), signal)
    return slot.then((release) => acquirePermit(this.findPace(host), release, signal))
  }

  /** Notes the size of the message of an entry that is under way. The message is now in memory. */
  noteSize({ id }: QueueEntry, bytes: number): void {
    this.slots.noteSize(id, bytes)
  }

  /** Ends the attempt. Its entry stays known until `forget`. */
  endAttempt(entry: QueueEntry): void {
    this.slots.end(entry.id)
    this.hosts.end(entry.id)
  }

  /** Forgets the entry. Its outcome is on disk, so it may be read from there again. */
  forget(entry: QueueEntry): void {
    this.entryIds.delete(entry.id)
    const workspace = this.workspaces.get(entry.workspace_id)
    if (workspace !== undefined) this.workspaces.removeIfEmpty(workspace)
  }

  /**
   * Drops the entries of a lane that wait in memory, except those to `keep`, because they were changed in the database.
   * Due entries are fetched again. Returns the dropped entries.
   */
  drop(ofLane: QueueEntry, keep: (entry: QueueEntry) => boolean): readonly QueueEntry[] {
    const workspace = this.workspaces.findOrAdd(ofLane.workspace_id)
    const lane = this.laneOf(workspace, ofLane)
    const dropped = lane.entries.filter((entry) => !keep(entry))
    for (const { id } of dropped) this.entryIds.delete(id)
    lane.entries.splice(0, lane.entries.length, ...lane.entries.filter(keep))
    countWaiting(workspace, lane, -dropped.length)
    lane.hasMore = true
    workspace.rounds[lane.priority].recheck(lane)
    this.markShort(workspace, lane)
    return dropped
  }

  /** Stops taking in and attempting entries of the broadcast. Returns its entries that waited in memory. */
  stopBroadcast(broadcastId: string): readonly QueueEntry[] {
    this.stoppedBroadcasts.add(broadcastId)
    const dropped = this.workspaces.all().flatMap((workspace) => dropBroadcast(workspace, broadcastId))
    for (const { id } of dropped) this.entryIds.delete(id)
    for (const workspace of this.workspaces.all()) this.workspaces.removeIfEmpty(workspace)
    return dropped
  }

  /** Takes entries of the broadcast in again when the sweep finds them. */
  resumeBroadcast(broadcastId: string): void {
    this.stoppedBroadcasts.delete(broadcastId)
  }

  isStopped({ broadcast_id: broadcastId }: QueueEntry): boolean {
    return broadcastId !== null && this.stoppedBroadcasts.has(broadcastId)
  }

  /** Marks that the database has more entries for this lane than were fetched. */
  markMore(lane: ShortLane): void {
    this.laneOf(this.workspaces.findOrAdd(lane.workspaceId), lane).hasMore = true
  }

  /** Returns a lane that is half empty while the database has more for it. Each lane is returned once. */
  takeShortLane(): ShortLane | null {
    for (const workspace of this.workspaces.inTurn()) {
      if (workspace.shortLanes.size === 0 || !this.hasRoom(workspace.id)) continue
      const lane = takeShortLane(workspace, this.room.perHost() / 2)
      if (lane === null) continue
      this.workspaces.removeIfEmpty(workspace)
      return lane
    }
    return null
  }

  private laneOf(workspace: WorkspaceLanes, of: Pick<ShortLane, 'domain' | 'priority'>): Lane {
    return findOrAddLane(workspace, of, this.hosts.hostOf(of.domain))
  }

  private takeFrom(workspace: WorkspaceLanes): QueueEntry | null {
    if (workspace.waitingCount === 0 || !this.makeRoomFor(workspace, false)) return null
    const [lane] = workspace.rounds
      .flatMap((round) => this.findStartable(workspace, round) ?? [])
      .sort((a, b) => priorityTimeOf(a) - priorityTimeOf(b))
    const entry = lane?.entries.shift()
    if (lane === undefined || entry === undefined) return null
    const round = workspace.rounds[lane.priority]
    if (lane.entries.length > 0 || lane.hasMore) round.add(lane)
    else round.delete(lane.domain)
    countWaiting(workspace, lane, -1)
    this.countStart(entry)
    this.markShort(workspace, lane)
    return entry
  }

  private countStart(entry: QueueEntry): void {
    const taker = this.takerOf(entry)
    this.slots.start(entry.id, taker.ownerId, taker.isBulk)
    if (taker.isBulk) this.pace.noteBulk()
    else this.pace.noteOther()
    this.hosts.start(entry.id, taker, this.hosts.hostOf(entry.domain))
  }

  private makeRoomFor({ ownerId }: WorkspaceLanes, isBulk: boolean): boolean {
    const hasRoom = this.slots.makeRoomFor(ownerId, isBulk)
    this.waitsForSlot ||= !hasRoom
    return hasRoom
  }

  private findStartable(workspace: WorkspaceLanes, round: LaneRound): Lane | undefined {
    return round.findNext({
      isAllowed: (entry) => entry.broadcast_id === null || this.mayBeginBulk(workspace),
      findBlock: (entry) => this.hosts.findBlock(this.takerOf(entry), this.hosts.hostOf(entry.domain)),
    })
  }

  private mayBeginBulk(workspace: WorkspaceLanes): boolean {
    if (!this.makeRoomFor(workspace, true)) return false
    this.waitsForPace = !this.pace.mayBegin()
    return !this.waitsForPace
  }

  private takerOf({ workspace_id: workspaceId, broadcast_id: broadcastId }: QueueEntry): Taker {
    return { ownerId: this.workspaces.ownerOf(workspaceId), isBulk: broadcastId !== null }
  }

  private markShort(workspace: WorkspaceLanes, lane: Lane): void {
    if (!lane.hasMore || lane.entries.length > this.limits().perLane / 2) return
    lane.hasMore = false
    addShortLane(workspace, lane)
    if (lane.entries.length === 0) workspace.rounds[lane.priority].delete(lane.domain)
  }
}
