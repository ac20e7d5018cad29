/**
 * The entries that are due and in memory, and whose turn it is.
 *
 * A lane is one workspace, one domain, one priority. `take` goes round the workspaces,
 * within one round its domains, and within a domain serves the class whose head has
 * waited longest after its handicap: high before normal before low, but ten minutes of
 * waiting outweigh one class, so nothing waits for ever.
 *
 * Nobody fills the house: a workspace may hold three quarters of all attempts and all
 * but two of a domain's, so that another's one message always finds a place.
 *
 * In memory only: the database behind it holds everything. Where a lane is full its
 * rest stays there, and `shortLanes` says when it can be fetched.
 */
import type { QueueEntry } from '../messages/queue.js'

export interface LaneLimits {
  /** Attempts under way in all, and to one domain. */
  readonly total: number
  readonly perDomain: number
  /** Entries waiting in memory in one lane, and of one workspace. */
  readonly perLane: number
  readonly perWorkspace: number
}

const HANDICAP = 10 * 60_000

interface DomainLanes {
  readonly workspaceId: string
  readonly domain: string
  /** By priority: 0 high, 1 normal, 2 low. */
  readonly classes: readonly [QueueEntry[], QueueEntry[], QueueEntry[]]
  /** By priority: more of it is in the database. */
  readonly more: [boolean, boolean, boolean]
  underWay: number
}

interface Workspace {
  readonly id: string
  /** In the order of service: the first is next. */
  readonly domains: Map<string, DomainLanes>
  waiting: number
  underWay: number
}

export interface ShortLane {
  readonly workspaceId: string
  readonly domain: string
  readonly priority: 0 | 1 | 2
}

export class Lanes {
  private readonly workspaces = new Map<string, Workspace>()
  private readonly known = new Set<string>()
  private readonly short = new Map<string, ShortLane>()
  private readonly underWayTo = new Map<string, number>()
  private underWay = 0

  constructor(private readonly limits: LaneLimits) {}

  /** Takes an entry in; false when its lane or workspace is full, and it stays in the database. */
  add(entry: QueueEntry): boolean {
    if (this.known.has(entry.id)) return true
    const workspace = this.workspace(entry.workspace_id)
    const lanes = domainLanes(workspace, entry.domain)
    const lane = lanes.classes[entry.priority]
    if (lane.length >= this.limits.perLane || workspace.waiting >= this.limits.perWorkspace) {
      lanes.more[entry.priority] = true
      this.noteShort(lanes, entry.priority)
      return false
    }
    lane.push(entry)
    workspace.waiting += 1
    this.known.add(entry.id)
    return true
  }

  /** Is there room for more of this workspace? */
  hasRoom(workspaceId: string): boolean {
    return (this.workspaces.get(workspaceId)?.waiting ?? 0) < this.limits.perWorkspace
  }

  /** The next entry to attempt, now counted as under way; null when none may start. */
  take(): QueueEntry | null {
    if (this.underWay >= this.limits.total) return null
    for (const workspace of this.workspaces.values()) {
      const entry = this.takeOf(workspace)
      if (entry === null) continue
      // To the end of the round: the others come first now.
      this.workspaces.delete(workspace.id)
      this.workspaces.set(workspace.id, workspace)
      return entry
    }
    return null
  }

  /** The attempt has left the wire; its entry stays known until `forget`. */
  ended(entry: QueueEntry): void {
    this.underWay -= 1
    const left = (this.underWayTo.get(entry.domain) ?? 1) - 1
    if (left > 0) this.underWayTo.set(entry.domain, left)
    else this.underWayTo.delete(entry.domain)
    const workspace = this.workspace(entry.workspace_id)
    workspace.underWay -= 1
    domainLanes(workspace, entry.domain).underWay -= 1
  }

  /** What came of the entry is on disk: it may be read from there again. */
  forget(entry: QueueEntry): void {
    this.known.delete(entry.id)
    this.tidy(entry)
  }

  isKnown(id: string): boolean {
    return this.known.has(id)
  }

  get waiting(): number {
    let sum = 0
    for (const { waiting } of this.workspaces.values()) sum += waiting
    return sum
  }

  /** The database has more for this lane than was fetched. */
  markMore({ workspaceId, domain, priority }: ShortLane): void {
    domainLanes(this.workspace(workspaceId), domain).more[priority] = true
  }

  get hasShort(): boolean {
    for (const { workspaceId } of this.short.values()) if (this.hasRoom(workspaceId)) return true
    return false
  }

  /** Lanes that are half empty while the database has more for them; each is told once. */
  shortLanes(): ShortLane[] {
    const told: ShortLane[] = []
    for (const [key, lane] of this.short) {
      if (!this.hasRoom(lane.workspaceId)) continue
      this.short.delete(key)
      told.push(lane)
    }
    return told
  }

  private takeOf(workspace: Workspace): QueueEntry | null {
    if (workspace.waiting === 0 || workspace.underWay >= Math.max(1, Math.floor(this.limits.total * 0.75))) return null
    for (const lanes of workspace.domains.values()) {
      if (!this.mayStart(lanes)) continue
      const entry = nextOf(lanes)
      if (entry === undefined) continue
      workspace.domains.delete(lanes.domain)
      workspace.domains.set(lanes.domain, lanes)
      this.started(workspace, lanes)
      this.noteShort(lanes, entry.priority)
      return entry
    }
    return null
  }

  private mayStart(lanes: DomainLanes): boolean {
    if ((this.underWayTo.get(lanes.domain) ?? 0) >= this.limits.perDomain) return false
    return lanes.underWay < Math.max(1, this.limits.perDomain - 2)
  }

  private started(workspace: Workspace, lanes: DomainLanes): void {
    workspace.waiting -= 1
    workspace.underWay += 1
    lanes.underWay += 1
    this.underWay += 1
    this.underWayTo.set(lanes.domain, (this.underWayTo.get(lanes.domain) ?? 0) + 1)
  }

  private noteShort({ workspaceId, domain, classes, more }: DomainLanes, priority: 0 | 1 | 2): void {
    if (!more[priority] || classes[priority].length > this.limits.perLane / 2) return
    more[priority] = false
    this.short.set(`${workspaceId} ${domain} ${priority}`, { workspaceId, domain, priority })
  }

  private workspace(id: string): Workspace {
    const known = this.workspaces.get(id)
    if (known !== undefined) return known
    const fresh: Workspace = { id, domains: new Map(), waiting: 0, underWay: 0 }
    this.workspaces.set(id, fresh)
    return fresh
  }

  /** Drops what is empty, so that memory follows the traffic and not its history. */
  private tidy(entry: QueueEntry): void {
    const workspace = this.workspaces.get(entry.workspace_id)
    const lanes = workspace?.domains.get(entry.domain)
    if (workspace === undefined || lanes === undefined || lanes.underWay > 0 || lanes.more.includes(true)) return
    if (lanes.classes.some((lane) => lane.length > 0)) return
    workspace.domains.delete(entry.domain)
    if (workspace.domains.size === 0) this.workspaces.delete(workspace.id)
  }
}

function domainLanes(workspace: Workspace, domain: string): DomainLanes {
  const known = workspace.domains.get(domain)
  if (known !== undefined) return known
  const fresh: DomainLanes = {
    workspaceId: workspace.id,
    domain,
    classes: [[], [], []],
    more: [false, false, false],
    underWay: 0,
  }
  workspace.domains.set(domain, fresh)
  return fresh
}

/** The head that has waited longest, each class behind the one before it by its handicap. */
function nextOf({ classes }: DomainLanes): QueueEntry | undefined {
  let best: QueueEntry[] | undefined
  let bestTime = Number.POSITIVE_INFINITY
  classes.forEach((lane, priority) => {
    const head = lane[0]
    if (head === undefined) return
    const time = head.next_attempt_at + priority * HANDICAP
    if (time >= bestTime) return
    best = lane
    bestTime = time
  })
  return best?.shift()
}
