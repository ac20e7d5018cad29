/**
 * The entries that are due and in memory, and whose turn it is.
 *
 * A lane is one workspace, one domain, one priority. `take` goes round the workspaces, and
 * within one serves the class whose turn it is: high before normal before low, but ten
 * minutes of waiting outweigh one class, so nothing waits for ever. Within a class it goes
 * round the domains.
 *
 * Nobody fills the house: a workspace may hold three quarters of all attempts and all but
 * two of a host's, so that another's one message always finds a place. What has to wait for
 * its host is put back (`bind`) and takes no place meanwhile.
 *
 * In memory only: the database behind it holds everything. Where a lane is full its
 * rest stays there, and `nextShort` says when it can be fetched: the lane half empty, and
 * room in its workspace for as much as one lane holds, so that no fetch is for a few. The
 * more workspaces there are, the less of each is in memory.
 *
 * Known limit: a few hosts that hang, each with all that a workspace may have there, take
 * its three quarters; the rest of its mail then waits until one of them times out.
 */

import type { DomainName } from '../../mail/address.js'
import type { QueueEntry } from '../../messages/queue/queue.js'
import { HostConcurrency } from './host-concurrency.js'

export interface LaneLimits {
  /** Attempts under way in all, and to one host. */
  readonly total: number
  readonly perDomain: number
  /** Entries waiting in memory in one lane, and of one workspace. */
  readonly perLane: number
  readonly perWorkspace: number
}

type Priority = QueueEntry['priority']

const PRIORITY_DELAY = 10 * 60_000
/** Entries waiting in memory in all, shared by the workspaces; a lane's worth is nobody refused. */
const MAX_WAITING_TOTAL = 20_000

interface Lane {
  readonly workspaceId: string
  readonly domain: DomainName
  readonly priority: Priority
  readonly entries: QueueEntry[]
  /** More of it is in the database. */
  hasMore: boolean
}

/** Lanes by domain, in the order of service: the first is next. */
type Round = Map<string, Lane>

interface WorkspaceLanes {
  readonly id: string
  /** By priority: 0 high, 1 normal, 2 low. */
  readonly rounds: readonly [Round, Round, Round]
  /** Lanes that could be refilled, in the order in which they ran short. */
  readonly shortLanes: Map<string, ShortLane>
  waitingCount: number
  activeCount: number
}

export type ShortLane = Pick<Lane, 'workspaceId' | 'domain' | 'priority'>

export class Lanes {
  private readonly workspaces = new Map<string, WorkspaceLanes>()
  private readonly entryIds = new Set<string>()
  private readonly hostConcurrency = new HostConcurrency()
  private activeCount = 0

  constructor(private readonly limits: LaneLimits) {}

  /** Would it be taken at once? */
  isFreeFor({ workspace_id, domain }: QueueEntry): boolean {
    if (this.activeCount >= this.limits.total) return false
    const workspace = this.workspaces.get(workspace_id)
    if (workspace !== undefined && (workspace.waitingCount > 0 || this.hasFullShare(workspace))) return false
    return this.mayStart(workspace_id, this.hostConcurrency.hostOf(domain))
  }

  /**
   * Takes an entry in; false when its lane or workspace is full, and it stays in the database.
   * `anyway`: one that was found free for it a moment ago is not turned away.
   */
  add(entry: QueueEntry, anyway = false): boolean {
    if (this.entryIds.has(entry.id)) return true
    const workspace = this.workspace(entry.workspace_id)
    const lane = findOrAddLane(workspace, entry)
    if (!anyway && (lane.entries.length >= this.limits.perLane || workspace.waitingCount >= this.maxWaiting())) {
      lane.hasMore = true
      this.markShort(workspace, lane)
      return false
    }
    lane.entries.push(entry)
    workspace.waitingCount += 1
    this.entryIds.add(entry.id)
    return true
  }

  /** Is there room for as much more of this workspace as is worth a look into the database? */
  hasRoom(workspaceId: string): boolean {
    const most = this.maxWaiting()
    const few = Math.max(most - this.limits.perLane, Math.floor(most / 2))
    return (this.workspaces.get(workspaceId)?.waitingCount ?? 0) <= few
  }

  /** The next entry to attempt, now counted as under way; null when none may start. */
  take(): QueueEntry | null {
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
   * The host of an entry that is under way is known. `isProbing`: it goes there as the only one
   * for as long as that holds. False: as many as may are on their way there, and the entry waits
   * again, before all others of its lane.
   */
  bind(entry: QueueEntry, host: string, isProbing: (() => boolean) | null = null): boolean {
    this.hostConcurrency.setHost(entry.domain, host)
    const workspace = this.workspace(entry.workspace_id)
    if (this.hostConcurrency.slotOf(entry.id) !== host) {
      this.hostConcurrency.releaseSlot(entry.id, workspace.id)
      if (this.mayStart(workspace.id, host)) this.hostConcurrency.acquireSlot(entry.id, workspace.id, host)
    }
    const hasPlace = this.hostConcurrency.slotOf(entry.id) === host
    if (hasPlace && (isProbing === null || this.hostConcurrency.startProbe(host, entry.id, isProbing))) return true
    this.hostConcurrency.releaseSlot(entry.id, workspace.id)
    this.activeCount -= 1
    workspace.activeCount -= 1
    workspace.waitingCount += 1
    findOrAddLane(workspace, entry).entries.unshift(entry)
    return false
  }

  /** The attempt has left the wire; its entry stays known until `forget`. */
  endAttempt(entry: QueueEntry): void {
    this.activeCount -= 1
    this.workspace(entry.workspace_id).activeCount -= 1
    this.hostConcurrency.releaseSlot(entry.id, entry.workspace_id)
  }

  /** What came of the entry is on disk: it may be read from there again. */
  forget(entry: QueueEntry): void {
    this.entryIds.delete(entry.id)
    const workspace = this.workspaces.get(entry.workspace_id)
    if (workspace !== undefined) this.removeIfEmpty(workspace)
  }

  /**
   * The entries of a lane were changed in the database: those that wait in memory are dropped,
   * but for the ones to `keep`, and what is due is fetched anew. Returns what was dropped.
   */
  drop(ofLane: QueueEntry, keep: (entry: QueueEntry) => boolean): readonly QueueEntry[] {
    const workspace = this.workspace(ofLane.workspace_id)
    const lane = findOrAddLane(workspace, ofLane)
    const dropped = lane.entries.filter((entry) => !keep(entry))
    for (const { id } of dropped) this.entryIds.delete(id)
    lane.entries.splice(0, lane.entries.length, ...lane.entries.filter(keep))
    workspace.waitingCount -= dropped.length
    lane.hasMore = true
    this.markShort(workspace, lane)
    return dropped
  }

  /** The database has more for this lane than was fetched. */
  markMore(lane: ShortLane): void {
    findOrAddLane(this.workspace(lane.workspaceId), lane).hasMore = true
  }

  /** A lane that is half empty while the database has more for it; each is told once. */
  takeShortLane(): ShortLane | null {
    for (const workspace of this.workspaces.values()) {
      const [first] = workspace.shortLanes
      if (first === undefined || !this.hasRoom(workspace.id)) continue
      const [key, lane] = first
      workspace.shortLanes.delete(key)
      this.removeIfEmpty(workspace)
      return lane
    }
    return null
  }

  private maxWaiting(): number {
    const share = Math.floor(MAX_WAITING_TOTAL / Math.max(1, this.workspaces.size))
    return Math.max(1, Math.min(this.limits.perWorkspace, Math.max(this.limits.perLane, share)))
  }

  private takeFrom(workspace: WorkspaceLanes): QueueEntry | null {
    if (workspace.waitingCount === 0 || this.hasFullShare(workspace)) return null
    const [lane] = workspace.rounds
      .flatMap((round) => this.findStartable(workspace, round) ?? [])
      .sort((a, b) => priorityTimeOf(a) - priorityTimeOf(b))
    const entry = lane?.entries.shift()
    if (lane === undefined || entry === undefined) return null
    const round = workspace.rounds[lane.priority]
    round.delete(lane.domain)
    if (lane.entries.length > 0 || lane.hasMore) round.set(lane.domain, lane)
    workspace.waitingCount -= 1
    workspace.activeCount += 1
    this.activeCount += 1
    this.hostConcurrency.acquireSlot(entry.id, workspace.id, this.hostConcurrency.hostOf(entry.domain))
    this.markShort(workspace, lane)
    return entry
  }

  private hasFullShare({ activeCount }: WorkspaceLanes): boolean {
    return activeCount >= Math.max(1, Math.floor(this.limits.total * 0.75))
  }

  private findStartable(workspace: WorkspaceLanes, round: Round): Lane | undefined {
    for (const lane of round.values()) {
      if (lane.entries.length > 0 && this.mayStart(workspace.id, this.hostConcurrency.hostOf(lane.domain))) return lane
    }
    return undefined
  }

  private mayStart(workspaceId: string, host: string): boolean {
    if (this.hostConcurrency.isProbed(host)) return false
    if (this.hostConcurrency.countSlots(host) >= this.limits.perDomain) return false
    return this.hostConcurrency.countSlotsOf(workspaceId, host) < Math.max(1, this.limits.perDomain - 2)
  }

  private markShort(workspace: WorkspaceLanes, lane: Lane): void {
    if (!lane.hasMore || lane.entries.length > this.limits.perLane / 2) return
    const { workspaceId, domain, priority } = lane
    lane.hasMore = false
    workspace.shortLanes.set(`${domain} ${priority}`, { workspaceId, domain, priority })
    if (lane.entries.length === 0) workspace.rounds[priority].delete(domain)
  }

  private workspace(id: string): WorkspaceLanes {
    const known = this.workspaces.get(id)
    if (known !== undefined) return known
    const rounds: WorkspaceLanes['rounds'] = [new Map(), new Map(), new Map()]
    const fresh: WorkspaceLanes = { id, rounds, shortLanes: new Map(), waitingCount: 0, activeCount: 0 }
    this.workspaces.set(id, fresh)
    return fresh
  }

  /** Drops what is empty, so that memory follows the traffic and not its history. */
  private removeIfEmpty({ id, rounds, shortLanes, activeCount }: WorkspaceLanes): void {
    if (activeCount === 0 && shortLanes.size === 0 && rounds.every(({ size }) => size === 0)) this.workspaces.delete(id)
  }
}

/** When the head of the lane became due, put back by ten minutes for each class below high. */
function priorityTimeOf({ entries, priority }: Lane): number {
  return (entries[0]?.next_attempt_at ?? 0) + priority * PRIORITY_DELAY
}

function findOrAddLane(workspace: WorkspaceLanes, { domain, priority }: Pick<Lane, 'domain' | 'priority'>): Lane {
  const round = workspace.rounds[priority]
  const known = round.get(domain)
  if (known !== undefined) return known
  const fresh: Lane = { workspaceId: workspace.id, domain, priority, entries: [], hasMore: false }
  round.set(domain, fresh)
  return fresh
}
