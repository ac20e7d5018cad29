/**
 * The lanes of one workspace and priority, in the order of service.
 *
 * A lane whose first entry may not start is set aside with those that wait for the same (`Block`): a host without room,
 * or a provider's pace. So thousands of domains behind one host are looked at once, and not again for each message; of
 * those set aside only the first is looked at, when what they wait for is over. It keeps its turn meanwhile.
 */
import type { DomainName } from '../../../base/mail/address.js'
import type { QueueEntry } from '../../../records/messages/queue/queue.js'

/** Entries with the same key wait for the same. */
export interface Block {
  readonly key: unknown
  readonly isOver: () => boolean
}

export interface Lane {
  readonly workspaceId: string
  readonly domain: DomainName
  readonly priority: QueueEntry['priority']
  readonly entries: QueueEntry[]
  /** More of it is in the database. */
  hasMore: boolean
  /** For which its entries count (`waitingByHost`); the domain, while that is not known. */
  host: string
}

interface Judge {
  /** False: the entry is passed over, and its lane stays where it is. */
  readonly isAllowed: (entry: QueueEntry) => boolean
  /** Null: it may start. */
  readonly findBlock: (entry: QueueEntry) => Block | null
}

interface Blocked extends Block {
  readonly lanes: Set<Lane>
}

export class LaneRound {
  private readonly lanes = new Map<string, Lane>()
  /** Those that are not set aside, in the order of service. */
  private readonly ready = new Set<Lane>()
  private readonly blocked = new Map<unknown, Blocked>()
  private readonly blockOf = new Map<Lane, Blocked>()
  /** A lower turn is served first. */
  private readonly turns = new Map<Lane, number>()
  private lastTurn = 0

  get size(): number {
    return this.lanes.size
  }

  get(domain: string): Lane | undefined {
    return this.lanes.get(domain)
  }

  /** In any order. */
  all(): readonly Lane[] {
    return [...this.lanes.values()]
  }

  /** To the end of the round, also if it is in it already. */
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

  /** Its first entry has changed, and may wait for something else. */
  recheck(lane: Lane): void {
    if (this.leaveBlock(lane)) this.ready.add(lane)
  }

  /** Does an entry wait that is not set aside? */
  hasReady(): boolean {
    for (const { entries } of this.ready) if (entries.length > 0) return true
    return false
  }

  /** The first lane whose first entry may start. */
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

  /** Those that wait for something else by now are set aside with it. */
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

  /** False: it was not set aside. */
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
