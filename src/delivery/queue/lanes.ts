/**
 * The due entries that are in memory, and which of them is attempted next.
 *
 * A lane is one workspace, one domain, one priority. `take` goes round the workspaces. Within a
 * workspace it serves high before normal before low priority, but ten minutes of waiting outweigh
 * one class, so that no entry waits for ever; within a class it goes round the domains.
 *
 * A workspace may hold three quarters of all attempts, and its share of a host
 * (`host-concurrency.ts`), so that a single message of another one always finds a place. An entry
 * that has to wait for its host is put back (`bind`) and holds no place meanwhile.
 *
 * Messages of broadcasts get half of all attempts, those of one workspace three quarters of that half, and begin at the
 * pace of `bulk-pace.ts`. Those of a stopped broadcast are not taken in.
 *
 * The database holds all entries; memory holds a part. Where a lane is full, its rest stays in the
 * database, and `takeShortLane` says when to fetch it: when the lane is half empty and its workspace
 * has room for as much as one lane holds, so that no read is for a few entries. The more workspaces
 * there are, the fewer entries of each are in memory.
 *
 * Known limit: a few hosts that hang, each with all entries that a workspace may have there, take
 * its three quarters; its other mail then waits until one of them times out.
 */
import type { QueueEntry } from '../../messages/queue/queue.js'
import type { Outage } from '../hosts/unreachable-hosts.js'
import { acquirePermit } from '../shaping/pace-permit.js'
import type { BulkPace } from './bulk-pace.js'
import { type FindPace, HostConcurrency, type ReleaseSlot, takerOf } from './host-concurrency.js'
import type { Lane, LaneRound } from './lane-round.js'
import { type WaitingLimits, WaitingRoom } from './waiting-room.js'
import {
  addShortLane,
  countWaiting,
  createWorkspaceLanes,
  dropBroadcast,
  findOrAddLane,
  hasWaitingBefore,
  priorityTimeOf,
  type ShortLane,
  takeShortLane,
  type WorkspaceLanes,
} from './workspace-lanes.js'

export interface LaneLimits extends WaitingLimits {
  /** Attempts under way. */
  readonly total: number
  /** Sessions with one host. */
  readonly perHost: number
}

/** Of so many attempts, those of one workspace. */
const shareOf = (attempts: number): number => Math.max(1, Math.floor(attempts * 0.75))

export class Lanes {
  private readonly workspaces = new Map<string, WorkspaceLanes>()
  private readonly entryIds = new Set<string>()
  private readonly hosts: HostConcurrency
  private readonly room: WaitingRoom
  private readonly stoppedBroadcasts = new Set<string>()
  private activeCount = 0
  private activeBulkCount = 0
  /** A message of a broadcast could have begun but for the pace. */
  waitsForPace = false

  constructor(
    private readonly limits: LaneLimits,
    private readonly pace: Pick<BulkPace, 'mayBegin' | 'noteBulk' | 'noteOther'>,
    private readonly findPace: FindPace = () => undefined,
  ) {
    this.hosts = new HostConcurrency(limits, findPace)
    this.room = new WaitingRoom(limits, () => this.workspaces.size)
  }

  /** Entries that are being attempted. */
  get active(): number {
    return this.activeCount
  }

  /** Would it be taken at once? */
  isFreeFor(entry: QueueEntry): boolean {
    if (this.activeCount >= this.limits.total) return false
    const workspace = this.workspaces.get(entry.workspace_id)
    if (workspace !== undefined && (hasWaitingBefore(workspace, entry.priority) || this.hasFullShare(workspace)))
      return false
    return this.hosts.mayStart(takerOf(entry), this.hosts.hostOf(entry.domain))
  }

  /**
   * False: its lane or workspace is full, and the entry stays in the database. One of a stopped broadcast stays there
   * too, and is not asked for. `isForced`: it is added all the same, because `isFreeFor` has allowed it a moment ago.
   */
  add(entry: QueueEntry, isForced = false): boolean {
    if (this.entryIds.has(entry.id) || this.isStopped(entry)) return true
    const workspace = this.workspace(entry.workspace_id)
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
    this.waitsForPace = false
    if (this.activeCount >= this.limits.total) return null
    for (const workspace of this.workspaces.values()) {
      const entry = this.takeFrom(workspace)
      if (entry === null) continue
      // To the end of the round: the others come first now.
      this.workspaces.delete(workspace.id)
      this.workspaces.set(workspace.id, workspace)
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
    const workspace = this.workspace(entry.workspace_id)
    const hasRoom = this.hosts.moveTo(entry.id, takerOf(entry), host)
    if (hasRoom && (isProbing === null || this.hosts.startProbe(host, entry.id, isProbing))) return true
    this.endAttempt(entry)
    const lane = this.laneOf(workspace, entry)
    lane.entries.unshift(entry)
    countWaiting(workspace, lane, 1)
    workspace.rounds[lane.priority].recheck(lane)
    return false
  }

  acquireSlot(entry: QueueEntry, host: string, signal: AbortSignal): Promise<ReleaseSlot | Outage> {
    const slot = this.hosts.acquireSlot(host, takerOf(entry), signal)
    return slot.then((release) => acquirePermit(this.findPace(host), release, signal))
  }

  /** The attempt is over; its entry stays known until `forget`. */
  endAttempt(entry: QueueEntry): void {
    this.activeCount -= 1
    const workspace = this.workspace(entry.workspace_id)
    workspace.activeCount -= 1
    if (entry.broadcast_id !== null) {
      this.activeBulkCount -= 1
      workspace.activeBulkCount -= 1
    }
    this.hosts.end(entry.id)
  }

  /** The outcome of the entry is on disk, so that it may be read from there again. */
  forget(entry: QueueEntry): void {
    this.entryIds.delete(entry.id)
    const workspace = this.workspaces.get(entry.workspace_id)
    if (workspace !== undefined) this.removeIfEmpty(workspace)
  }

  /**
   * The entries of a lane were changed in the database: those that wait in memory are dropped,
   * except those to `keep`, and what is due is fetched again. Returns the dropped entries.
   */
  drop(ofLane: QueueEntry, keep: (entry: QueueEntry) => boolean): readonly QueueEntry[] {
    const workspace = this.workspace(ofLane.workspace_id)
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
    const dropped = [...this.workspaces.values()].flatMap((workspace) => dropBroadcast(workspace, broadcastId))
    for (const { id } of dropped) this.entryIds.delete(id)
    for (const workspace of [...this.workspaces.values()]) this.removeIfEmpty(workspace)
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
    this.laneOf(this.workspace(lane.workspaceId), lane).hasMore = true
  }

  /** A lane that is half empty while the database has more for it; each is returned once. */
  takeShortLane(): ShortLane | null {
    for (const workspace of this.workspaces.values()) {
      if (workspace.shortLanes.size === 0 || !this.hasRoom(workspace.id)) continue
      const lane = takeShortLane(workspace, this.room.perHost() / 2)
      if (lane === null) continue
      this.removeIfEmpty(workspace)
      return lane
    }
    return null
  }

  private laneOf(workspace: WorkspaceLanes, of: Pick<ShortLane, 'domain' | 'priority'>): Lane {
    return findOrAddLane(workspace, of, this.hosts.hostOf(of.domain))
  }

  private takeFrom(workspace: WorkspaceLanes): QueueEntry | null {
    if (workspace.waitingCount === 0 || this.hasFullShare(workspace)) return null
    const [lane] = workspace.rounds
      .flatMap((round) => this.findStartable(workspace, round) ?? [])
      .sort((a, b) => priorityTimeOf(a) - priorityTimeOf(b))
    const entry = lane?.entries.shift()
    if (lane === undefined || entry === undefined) return null
    const round = workspace.rounds[lane.priority]
    if (lane.entries.length > 0 || lane.hasMore) round.add(lane)
    else round.delete(lane.domain)
    countWaiting(workspace, lane, -1)
    this.countStart(workspace, entry)
    this.markShort(workspace, lane)
    return entry
  }

  private countStart(workspace: WorkspaceLanes, entry: QueueEntry): void {
    workspace.activeCount += 1
    this.activeCount += 1
    if (entry.broadcast_id === null) this.pace.noteOther()
    else {
      this.activeBulkCount += 1
      workspace.activeBulkCount += 1
      this.pace.noteBulk()
    }
    this.hosts.start(entry.id, takerOf(entry), this.hosts.hostOf(entry.domain))
  }

  private hasFullShare({ activeCount }: WorkspaceLanes): boolean {
    return activeCount >= shareOf(this.limits.total)
  }

  private findStartable(workspace: WorkspaceLanes, round: LaneRound): Lane | undefined {
    return round.findNext({
      isAllowed: (entry) => entry.broadcast_id === null || this.mayBeginBulk(workspace),
      findBlock: (entry) => this.hosts.findBlock(takerOf(entry), this.hosts.hostOf(entry.domain)),
    })
  }

  private mayBeginBulk({ activeBulkCount }: WorkspaceLanes): boolean {
    const maxBulk = Math.max(1, Math.floor(this.limits.total / 2))
    if (this.activeBulkCount >= maxBulk || activeBulkCount >= shareOf(maxBulk)) return false
    this.waitsForPace = !this.pace.mayBegin()
    return !this.waitsForPace
  }

  private markShort(workspace: WorkspaceLanes, lane: Lane): void {
    if (!lane.hasMore || lane.entries.length > this.limits.perLane / 2) return
    lane.hasMore = false
    addShortLane(workspace, lane)
    if (lane.entries.length === 0) workspace.rounds[lane.priority].delete(lane.domain)
  }

  private workspace(id: string): WorkspaceLanes {
    const known = this.workspaces.get(id)
    if (known !== undefined) return known
    const fresh = createWorkspaceLanes(id)
    this.workspaces.set(id, fresh)
    return fresh
  }

  /** So that memory follows the current traffic. */
  private removeIfEmpty({ id, rounds, shortLanes, activeCount }: WorkspaceLanes): void {
    if (activeCount === 0 && shortLanes.size === 0 && rounds.every(({ size }) => size === 0)) this.workspaces.delete(id)
  }
}
