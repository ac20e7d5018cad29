/** The lanes of one workspace: its due entries in memory by priority and domain. Also decides whose turn it is. */

import type { QueueEntry } from '../../../records/messages/queue/queue.js'
import type { WorkspaceDirectory } from '../../../workspaces/accounts/workspace/workspace-directory.js'
import { type Lane, LaneRound } from './lane-round.js'

type Priority = QueueEntry['priority']

/** Milliseconds that are added to the age of an entry for each class below high. */
const PRIORITY_DELAY = 10 * 60_000
const BROADCAST_PRIORITY: Priority = 2

export interface WorkspaceLanes {
  readonly id: string
  /** The owner at the time when the first entry came into memory. */
  readonly ownerId: string
  /** The rounds by priority: 0 high, 1 normal, 2 low. */
  readonly rounds: readonly [LaneRound, LaneRound, LaneRound]
  /** By host, the lanes that could be refilled, in the order in which they became short. */
  readonly shortLanes: Map<string, Map<string, ShortLane>>
  waitingCount: number
  /** The number of waiting entries by host. */
  readonly waitingByHost: Map<string, number>
}

export type ShortLane = Pick<Lane, 'workspaceId' | 'domain' | 'priority'>

/** The workspaces with entries in memory, in the order of service: round the owners, and round their workspaces. */
export class WorkspaceRound {
  private readonly byId = new Map<string, WorkspaceLanes>()
  private readonly byOwner = new Map<string, Map<string, WorkspaceLanes>>()

  constructor(private readonly owners: Pick<WorkspaceDirectory, 'ownerOf'>) {}

  get size(): number {
    return this.byId.size
  }

  get(id: string): WorkspaceLanes | undefined {
    return this.byId.get(id)
  }

  findOrAdd(id: string): WorkspaceLanes {
    const known = this.byId.get(id)
    if (known !== undefined) return known
    const fresh = createWorkspaceLanes(id, this.owners.ownerOf(id))
    this.byId.set(id, fresh)
    this.moveToEnd(fresh)
    return fresh
  }

  ownerOf(id: string): string {
    return this.byId.get(id)?.ownerId ?? this.owners.ownerOf(id)
  }

  all(): readonly WorkspaceLanes[] {
    return [...this.byId.values()]
  }

  *inTurn(): Generator<WorkspaceLanes> {
    for (const workspaces of this.byOwner.values()) yield* workspaces.values()
  }

  /** Moves the workspace behind the others of its owner, and its owner behind other owners. */
  moveToEnd(workspace: WorkspaceLanes): void {
    const { id, ownerId } = workspace
    const ofOwner = this.byOwner.get(ownerId) ?? new Map<string, WorkspaceLanes>()
    ofOwner.delete(id)
    ofOwner.set(id, workspace)
    this.byOwner.delete(ownerId)
    this.byOwner.set(ownerId, ofOwner)
  }

  /** Removes an empty workspace, so that memory follows the current traffic. */
  removeIfEmpty({ id, ownerId, rounds, shortLanes }: WorkspaceLanes): void {
    if (shortLanes.size > 0 || rounds.some(({ size }) => size > 0)) return
    this.byId.delete(id)
    const ofOwner = this.byOwner.get(ownerId)
    ofOwner?.delete(id)
    if (ofOwner?.size === 0) this.byOwner.delete(ownerId)
  }
}

function createWorkspaceLanes(id: string, ownerId: string): WorkspaceLanes {
  const rounds: WorkspaceLanes['rounds'] = [new LaneRound(), new LaneRound(), new LaneRound()]
  return { id, ownerId, rounds, shortLanes: new Map(), waitingCount: 0, waitingByHost: new Map() }
}

/** `host` is the host of the domain, if it is known. */
export function findOrAddLane(
  workspace: WorkspaceLanes,
  { domain, priority }: Omit<ShortLane, 'workspaceId'>,
  host: string,
): Lane {
  const round = workspace.rounds[priority]
  const known = round.get(domain)
  if (known !== undefined) {
    moveToHost(workspace, known, host)
    return known
  }
  const fresh: Lane = { workspaceId: workspace.id, domain, priority, entries: [], hasMore: false, host }
  round.add(fresh)
  return fresh
}

/** `change` is the change of the number of entries that wait in the lane. */
export function countWaiting(workspace: WorkspaceLanes, { host }: Lane, change: number): void {
  workspace.waitingCount += change
  addTo(workspace.waitingByHost, host, change)
}

function moveToHost({ waitingByHost }: WorkspaceLanes, lane: Lane, host: string): void {
  if (lane.host === host) return
  addTo(waitingByHost, lane.host, -lane.entries.length)
  addTo(waitingByHost, host, lane.entries.length)
  lane.host = host
}

function addTo(counts: Map<string, number>, host: string, change: number): void {
  const count = (counts.get(host) ?? 0) + change
  if (count > 0) counts.set(host, count)
  else counts.delete(host)
}

export function addShortLane({ shortLanes }: WorkspaceLanes, { workspaceId, domain, priority, host }: Lane): void {
  const ofHost = shortLanes.get(host) ?? new Map<string, ShortLane>()
  shortLanes.set(host, ofHost.set(`${domain} ${priority}`, { workspaceId, domain, priority }))
}

/** Returns a short lane of the first host for which at most `maxWaiting` entries wait. Each lane is returned once. */
export function takeShortLane({ shortLanes, waitingByHost }: WorkspaceLanes, maxWaiting: number): ShortLane | null {
  for (const [host, lanes] of shortLanes) {
    const [first] = lanes
    if (first === undefined || (waitingByHost.get(host) ?? 0) > maxWaiting) continue
    const [key, lane] = first
    lanes.delete(key)
    if (lanes.size === 0) shortLanes.delete(host)
    return lane
  }
  return null
}

/** Returns when the head of the lane became due, plus ten minutes for each class below high. */
export function priorityTimeOf({ entries, priority }: Lane): number {
  return (entries[0]?.next_attempt_at ?? 0) + priority * PRIORITY_DELAY
}

/** Tells whether an entry of the same or a higher class waits that could start but for its turn. */
export function hasWaitingBefore({ rounds, waitingCount }: WorkspaceLanes, priority: Priority): boolean {
  if (waitingCount === 0) return false
  return rounds.slice(0, priority + 1).some((round) => round.hasReady())
}

/**
 * Removes the waiting entries of a broadcast and returns them. A lane that is empty then is forgotten; the sweep finds
 * what the database has for it.
 */
export function dropBroadcast(workspace: WorkspaceLanes, broadcastId: string): readonly QueueEntry[] {
  const removed: QueueEntry[] = []
  const round = workspace.rounds[BROADCAST_PRIORITY]
  for (const lane of round.all()) {
    const { domain, entries } = lane
    const kept = entries.filter((entry) => entry.broadcast_id !== broadcastId)
    if (kept.length === entries.length) continue
    for (const entry of entries) if (entry.broadcast_id === broadcastId) removed.push(entry)
    countWaiting(workspace, lane, kept.length - entries.length)
    entries.splice(0, entries.length, ...kept)
    if (kept.length === 0) round.delete(domain)
    else round.recheck(lane)
  }
  return removed
}
