/** The lanes of one workspace: its due entries in memory by priority and domain. */
import type { QueueEntry } from '../../messages/queue/queue.js'
import { type Lane, LaneRound } from './lane-round.js'

type Priority = QueueEntry['priority']

/** Added to the age of an entry for each class below high. */
const PRIORITY_DELAY = 10 * 60_000
const BROADCAST_PRIORITY: Priority = 2

export interface WorkspaceLanes {
  readonly id: string
  /** By priority: 0 high, 1 normal, 2 low. */
  readonly rounds: readonly [LaneRound, LaneRound, LaneRound]
  /** By host: lanes that could be refilled, in the order in which they ran short. */
  readonly shortLanes: Map<string, Map<string, ShortLane>>
  waitingCount: number
  /** The same by host. */
  readonly waitingByHost: Map<string, number>
  activeCount: number
  /** Those of broadcasts among them. */
  activeBulkCount: number
}

export type ShortLane = Pick<Lane, 'workspaceId' | 'domain' | 'priority'>

export function createWorkspaceLanes(id: string): WorkspaceLanes {
  const rounds: WorkspaceLanes['rounds'] = [new LaneRound(), new LaneRound(), new LaneRound()]
  const counts = { waitingCount: 0, waitingByHost: new Map<string, number>(), activeCount: 0, activeBulkCount: 0 }
  return { id, rounds, shortLanes: new Map(), ...counts }
}

/** `host`: of the domain, as far as it is known. */
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

/** `change`: of the number of entries that wait in the lane. */
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

/** Of the first host of which at most `maxWaiting` entries wait; each lane is returned once. */
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

/** When the head of the lane became due, plus ten minutes for each class below high. */
export function priorityTimeOf({ entries, priority }: Lane): number {
  return (entries[0]?.next_attempt_at ?? 0) + priority * PRIORITY_DELAY
}

/** Does an entry wait that is of the same class or of a higher one, and could start but for its turn? */
export function hasWaitingBefore({ rounds, waitingCount }: WorkspaceLanes, priority: Priority): boolean {
  if (waitingCount === 0) return false
  return rounds.slice(0, priority + 1).some((round) => round.hasReady())
}

/**
 * Removes the waiting entries of a broadcast and returns them. A lane that is empty then is forgotten: what the database
 * has for it is for the sweep to find.
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
