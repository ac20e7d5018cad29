/**
 * The part of this daemon among the nodes on the database. Four times a second it looks at the others: it takes over what
 * nodes have left that are silent or drained, begins to lead if none does, and tells of commits of others.
 */
import type { Log } from '../../platform/log.js'
import { version } from '../../platform/version.js'
import { LONE_SLOT, type NodeState, type WorkState } from '../db/node-state.js'
import type { Read } from '../db/prepared.js'
import { countForeignChanges } from '../db/table-changes.js'
import { type Commit, tryCommit } from '../db/write.js'
import {
  ADOPTION_AFTER,
  adoptDrained,
  adoptSilent,
  beginToLead,
  ceaseToLead,
  findLeftRows,
  isLiving,
  join,
  moveRows,
  type NodeRow,
  noteDrained,
  readNodes,
} from './node-rows.js'

/** Milliseconds between looks. */
const LOOK_INTERVAL = 250

interface MembershipDeps {
  readonly name: string
  readonly slots: readonly number[]
  readonly read: Read
  readonly commit: Commit
  /** Called when everything that others had changed is in force here. */
  readonly onSeen: () => void
  readonly clock: () => number
  readonly log: Pick<Log, 'warn' | 'info'>
}

interface Standing {
  readonly state: WorkState
  readonly leads: boolean
  readonly slots: readonly number[]
  readonly living: number
  readonly others: readonly number[]
}

const ofNode = { isOfNode: true }

export class Membership implements NodeState {
  readonly name: string
  readonly ownSlots: readonly number[]
  private standing: Standing
  private readonly listeners = new Set<() => void>()
  private readonly foreignListeners = new Set<() => void | Promise<void>>()
  private timer: NodeJS.Timeout | null = null
  private looking: Promise<void> | null = null
  /** The first look tells of a commit in any case: one may have come before the daemon listened. */
  private seen: number | null = null

  constructor(private readonly deps: MembershipDeps) {
    this.name = deps.name
    this.ownSlots = deps.slots
    this.standing = { state: 'working', leads: false, slots: deps.slots, living: 1, others: [] }
  }

  /** Resolves when the node works, and leads if no other does. */
  async begin(): Promise<void> {
    const { commit, name } = this.deps
    await commit([join(name, version), beginToLead(name)], ofNode)
    await this.lookOnce()
    this.timer = setInterval(() => void this.look(), LOOK_INTERVAL).unref()
  }

  /** Lets another node lead. */
  async end(): Promise<void> {
    if (this.timer !== null) clearInterval(this.timer)
    await this.looking
    await this.deps.commit([ceaseToLead(this.deps.name)], ofNode).catch(() => undefined)
  }

  readonly slots = (): readonly number[] => this.standing.slots
  readonly leads = (): boolean => this.standing.leads
  readonly state = (): WorkState => this.standing.state
  readonly countLiving = (): number => this.standing.living
  readonly otherSlots = (): readonly number[] => this.standing.others

  readonly onChange = (listener: () => void): void => void this.listeners.add(listener)

  /** A look ends when all listeners have resolved. */
  onForeignCommit(listener: () => void | Promise<void>): void {
    this.foreignListeners.add(listener)
  }

  /** Says that everything has been given to others, so that the daemon may end. */
  readonly noteDrained = async (): Promise<void> => {
    await tryCommit(this.deps.commit([noteDrained(this.deps.name)], ofNode))
  }

  /** What happens during an outage is seen after it. */
  look(): Promise<void> {
    this.looking ??= this.lookOnce()
      .catch(() => undefined)
      .finally(() => {
        this.looking = null
      })
    return this.looking
  }

  private async lookOnce(): Promise<void> {
    const { read } = this.deps
    const [nodes, changes] = await Promise.all([readNodes(read), countForeignChanges(read, this.deps.slots)])
    this.note(nodes)
    if (changes !== this.seen) await Promise.all([...this.foreignListeners].map((listener) => listener()))
    this.seen = this.foreignListeners.size === 0 ? null : changes
    this.deps.onSeen()
    if (await this.adoptFrom(nodes)) this.note(await readNodes(read))
    await this.moveLeftRows()
  }

  /** Resolves to whether something has changed. */
  private async adoptFrom(nodes: readonly NodeRow[]): Promise<boolean> {
    const { name, commit, log } = this.deps
    if (this.standing.state !== 'working') return false
    let hasAdopted = false
    for (const node of nodes) {
      if (node.name === name || node.adopted_by !== null) continue
      const isSilent = node.silence > ADOPTION_AFTER
      if (!isSilent && node.state !== 'drained') continue
      const writes = isSilent ? adoptSilent(node.name, name) : adoptDrained(node.name, name)
      if (!(await tryCommit(commit(writes, ofNode)))) continue
      log.warn({ node: node.name, silence: Math.round(node.silence) }, 'a node is adopted: its mail goes out from here')
      hasAdopted = true
    }
    const hasLeader = nodes.some(({ leads }) => leads === 1)
    if (!hasLeader) await commit([beginToLead(name)], ofNode)
    return hasAdopted || !hasLeader
  }

  /** It is one commit for each portion, so that others come in between. */
  private async moveLeftRows(): Promise<void> {
    const { read, commit, name, clock } = this.deps
    if (this.standing.state !== 'working') return
    let hasMoved = false
    for (;;) {
      const [left] = await read<Readonly<Record<string, number>>>(findLeftRows, [name])
      if (left === undefined || Object.values(left).every((found) => found === 0)) break
      await commit(moveRows(name, clock()), ofNode)
      hasMoved = true
    }
    if (hasMoved) this.tell()
  }

  private note(nodes: readonly NodeRow[]): void {
    const { name } = this.deps
    const own = nodes.find((node) => node.name === name)
    if (own === undefined) return
    const served = nodes.filter((node) => node.name === name || node.adopted_by === name)
    const leads = own.leads === 1 && own.state === 'working'
    const next: Standing = {
      state: own.state,
      leads,
      slots: [...(leads ? [LONE_SLOT] : []), ...served.flatMap(({ slots }) => slots.split(',').map(Number))],
      living: nodes.filter(isLiving).length,
      others: nodes.filter((node) => node.name !== name && isLiving(node)).map(({ slot }) => slot),
    }
    const before = JSON.stringify(this.standing)
    this.standing = next
    if (JSON.stringify(next) !== before) this.tell()
  }

  private tell(): void {
    for (const listener of this.listeners) listener()
  }
}
