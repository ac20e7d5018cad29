/**
 * The due entries that are in memory, and which of them is attempted next.
 *
 * A *lane* is the due entries of one workspace, one domain and one priority, in memory. `take` goes round the owners of
 * workspaces, and round the workspaces of each. Within a workspace it serves high before normal before low priority,
 * but ten minutes of waiting outweigh one class, so that no entry waits for ever; within a class it goes round the
 * domains.
 *
 * An owner has a share of the slots (`attempt-slots.ts`) and of a host (`host-concurrency.ts`), so that a single message
 * of another one always finds a place. An entry that has to wait for its host is put back (`bind`) and holds no place
 * meanwhile. Messages of broadcasts begin at the pace of `bulk-pace.ts`. Those of a stopped broadcast are not taken in.
 *
 * The database holds all entries; memory holds a part. Where a lane is full, its rest stays in the
 * database, and `takeShortLane` says when to fetch it: when the lane is half empty and its workspace
 * has room for as much as one lane holds, so that no read is for a few entries. The more workspaces
 * there are, the fewer entries of each are in memory.
 */

import type { QueueEntry } from '../../../records/messages/queue/queue.js'
import type { WorkspaceOwners } from '../../../workspaces/accounts/workspace/workspace-owners.js'
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
  /** Slots for attempts under way. */
  readonly total: number
  /** Sessions with one host. */
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
  /** A message of a broadcast could have begun but for the pace. */
  waitsForPace = false
  /** An entry waits for a slot that another attempt may lose soon. */
  waitsForSlot = false

  constructor(
    private readonly limits: () => LaneLimits,
    private readonly pace: Pick<BulkPace, 'mayBegin' | 'noteBulk' | 'noteOther'>,
    owners: Pick<WorkspaceOwners, 'ownerOf'>,
    private readonly findPace: FindPace = () => undefined,
    now?: () => number,
  ) {
    this.workspaces = new WorkspaceRound(owners)
    this.slots = new AttemptSlots(limits, now)
    this.hosts = new HostConcurrency(limits, findPace)
    this.room = new WaitingRoom(limits, () => this.workspaces.size)
  }

  /** Entries that are being attempted. */
  get active(): number {
    return this.slots.active
  }

  /** Would it be taken at once? */
  isFreeFor(entry: QueueEntry): boolean {
    const taker = this.takerOf(entry)
    if (!this.slots.isFreeFor(taker.ownerId)) return false
    const workspace = this.workspaces.get(entry.workspace_id)
    if (workspace !== undefined && hasWaitingBefore(workspace, entry.priority)) return false
    return this.hosts.mayStart(taker, this.hosts.hostOf(entry.domain))
  }

  /**
   * False: its lane or workspace is full, and the entry stays in the database. One of a stopped broadcast stays there
   * too, and is not asked for. `isForced`: it is added all the same, because `isFreeFor` has allowed it a moment ago.
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

  /** Does the entry wait in memory, or is it under way? */
  has(id: string): boolean {
    return this.entryIds.has(id)
  }

  /** Is there room for as many more entries of this workspace as are worth a read of the database? */
  hasRoom(workspaceId: string): boolean {
    return this.room.hasRoom(this.workspaces.get(workspaceId)?.waitingCount ?? 0)
  }

  /** The next entry to attempt, now counted as under way; null when none may start. */
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
   * The host of an entry that is under way is known. `isProbing`: the entry probes the host, alone for
   * as long as this returns true. False: the host has no room for it, and the entry waits again, before
   * all others of its lane.
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

  /** The message of an entry that is under way is in memory. */
  noteSize({ id }: QueueEntry, bytes: number): void {
    this.slots.noteSize(id, bytes)
  }

  /** The attempt is over; its entry stays known until `forget`. */
  endAttempt(entry: QueueEntry): void {
    this.slots.end(entry.id)
    this.hosts.end(entry.id)
  }

  /** The outcome of the entry is on disk, so that it may be read from there again. */
  forget(entry: QueueEntry): void {
    this.entryIds.delete(entry.id)
    const workspace = this.workspaces.get(entry.workspace_id)
    if (workspace !== undefined) this.workspaces.removeIfEmpty(workspace)
  }

  /**
   * The entries of a lane were changed in the database: those that wait in memory are dropped,
   * except those to `keep`, and what is due is fetched again. Returns the dropped entries.
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

  /** Nothing of the broadcast is taken in or attempted from now on. Returns its entries that waited here. */
  stopBroadcast(broadcastId: string): readonly QueueEntry[] {
    this.stoppedBroadcasts.add(broadcastId)
    const dropped = this.workspaces.all().flatMap((workspace) => dropBroadcast(workspace, broadcastId))
    for (const { id } of dropped) this.entryIds.delete(id)
    for (const workspace of this.workspaces.all()) this.workspaces.removeIfEmpty(workspace)
    return dropped
  }

  /** Its entries are taken in again when the sweep finds them. */
  resumeBroadcast(broadcastId: string): void {
    this.stoppedBroadcasts.delete(broadcastId)
  }

  isStopped({ broadcast_id: broadcastId }: QueueEntry): boolean {
    return broadcastId !== null && this.stoppedBroadcasts.has(broadcastId)
  }

  /** The database has more for this lane than was fetched. */
  markMore(lane: ShortLane): void {
    this.laneOf(this.workspaces.findOrAdd(lane.workspaceId), lane).hasMore = true
  }

  /** A lane that is half empty while the database has more for it; each is returned once. */
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
