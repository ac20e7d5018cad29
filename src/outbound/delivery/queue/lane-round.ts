/**
 * The lanes of one workspace and priority, in the order of service.
 *
 * A lane whose first entry may not start is set aside with the lanes that wait for the same thing (`Block`): a host
 * without room, or the pace of a provider. So thousands of domains behind one host are looked at once, and not again
 * for each message. Of the lanes that are set aside together, only the first is looked at, when their wait is over. A
 * lane keeps its turn while it is set aside.
 */
import type { DomainName } from '../../../base/mail/address.js'
import type { QueueEntry } from '../../../records/messages/queue/queue.js'

/** What a lane waits for. Lanes with equal keys wait for the same thing. */
export interface Block {
  readonly key: unknown
  readonly isOver: () => boolean
}

export interface Lane {
  readonly workspaceId: string
  readonly domain: DomainName
  readonly priority: QueueEntry['priority']
  readonly entries: QueueEntry[]
  /** True if the database has more entries of the lane. */
  hasMore: boolean
  /** The host for which the entries of the lane count (`waitingByHost`), or the domain while the host is not known. */
  host: string
}

interface Judge {
  /** If this returns false, the entry is passed over, and its lane stays where it is. */
  readonly isAllowed: (entry: QueueEntry) => boolean
  /** Returns null if the entry may start. */
  readonly findBlock: (entry: QueueEntry) => Block | null
}

interface Blocked extends Block {
  readonly lanes: Set<Lane>
}

export class LaneRound {
  private readonly lanes = new Map<string, Lane>()
  /** The lanes that are not set aside, in the order of service. */
  private readonly ready = new Set<Lane>()
  private readonly blocked = new Map<unknown, Blocked>()
  private readonly blockOf = new Map<Lane, Blocked>()
  /** The lane with the lowest turn is served first. */
  private readonly turns = new Map<Lane, number>()
  private lastTurn = 0

  get size(): number {
    return this.lanes.size
  }

  get(domain: string): Lane | undefined {
    return this.lanes.get(domain)
  }

  /** Returns the lanes in any order. */
  all(): readonly Lane[] {
    return [...this.lanes.values()]
  }

  /** Puts the lane at the end of the round, even if it is already in the round. */
  add(lane: Lane): void {
    this.delete(lane.domain)
    this.lastTurn += 1
    this.lanes.set(lane.domain, lane)
    this.turns.set(lane, this.lastTurn)
    this.ready.add(lane)
  }

  delete(domain: string): void {
    const lane = this.lanes.get(domain)
    if (lane === undefined) return
    this.lanes.delete(domain)
    this.turns.delete(lane)
    this.ready.delete(lane)
    this.leaveBlock(lane)
  }

  /** Looks at the lane again, because its first entry has changed and may wait for something else. */
  recheck(lane: Lane): void {
    if (this.leaveBlock(lane)) this.ready.add(lane)
  }

  /** Tells whether an entry waits in a lane that is not set aside. */
  hasReady(): boolean {
    for (const { entries } of this.ready) if (entries.length > 0) return true
    return false
  }

  /** Finds the first lane whose first entry may start. */
  findNext(judge: Judge): Lane | undefined {
    const unblocked = this.findUnblocked(judge)
    const ready = this.findReady(judge)
    if (unblocked === undefined || ready === undefined) return unblocked ?? ready
    return this.turnOf(unblocked) < this.turnOf(ready) ? unblocked : ready
  }

  private findReady(judge: Judge): Lane | undefined {
    for (const lane of this.ready) {
      const [entry] = lane.entries
      if (entry === undefined || !judge.isAllowed(entry)) continue
      const block = judge.findBlock(entry)
      if (block === null) return lane
      this.ready.delete(lane)
      this.setAside(lane, block)
    }
    return undefined
  }

  private findUnblocked(judge: Judge): Lane | undefined {
    let first: Lane | undefined
    for (const blocked of [...this.blocked.values()]) {
      if (!blocked.isOver()) continue
      const lane = this.findFirstOf(blocked, judge)
      if (lane !== undefined && (first === undefined || this.turnOf(lane) < this.turnOf(first))) first = lane
    }
    return first
  }

  /** Finds the first lane of a block that may start. Lanes that now wait for something else are set aside with that. */
  private findFirstOf({ key, lanes }: Blocked, judge: Judge): Lane | undefined {
    for (const lane of lanes) {
      const [entry] = lane.entries
      if (entry === undefined || !judge.isAllowed(entry)) continue
      const block = judge.findBlock(entry)
      if (block === null) return lane
      if (block.key === key) return undefined
      this.leaveBlock(lane)
      this.setAside(lane, block)
    }
    return undefined
  }

  private setAside(lane: Lane, block: Block): void {
    const known = this.blocked.get(block.key)
    const blocked = known ?? { ...block, lanes: new Set<Lane>() }
    if (known === undefined) this.blocked.set(block.key, blocked)
    blocked.lanes.add(lane)
    this.blockOf.set(lane, blocked)
  }

  /** Returns false if the lane was not set aside. */
  private leaveBlock(lane: Lane): boolean {
    const blocked = this.blockOf.get(lane)
    if (blocked === undefined) return false
    this.blockOf.delete(lane)
    blocked.lanes.delete(lane)
    if (blocked.lanes.size === 0) this.blocked.delete(blocked.key)
    return true
  }

  private turnOf(lane: Lane): number {
    return this.turns.get(lane) ?? 0
  }
}
