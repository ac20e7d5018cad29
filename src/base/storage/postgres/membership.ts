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
import { countLoss, LossWatch } from './loss-watch.js'
import {
  ADOPTION_AFTER,
  adoptDrained,
  adoptSilent,
  beginToLead,
  ceaseToLead,
  hasLeftRows,
  isLiving,
  join,
  moveRows,
  type NodeRow,
  noteDrained,
  OF_COMMANDS,
  readNodes,
} from './node-rows.js'

/** Milliseconds between looks. */
const LOOK_INTERVAL = 250

interface MembershipDeps {
  readonly name: string
  readonly slots: readonly number[]
  readonly read: Read
  readonly commit: Commit
  /** Counts the times after which this node must look at what others have changed: see `onSeen`. */
  readonly countLapses: () => number
  /** Called when everything is in force here that others had changed until the lapse with this number. */
  readonly onSeen: (lapse: number) => void
  readonly holdsLease: () => boolean
  /** The server has lost commits of other nodes, which this one may remember. */
  readonly onLoss: () => void
  /** Resolves to false if a batch of the node is under way at the server, whose end an adoption would wait for. */
  readonly isFree: (name: string) => Promise<boolean>
  /** Milliseconds for which this node watches a silent one itself before it adopts it. */
  readonly watchTime?: number | undefined
  readonly clock: () => number
  readonly log: Pick<Log, 'warn' | 'info'>
}

/** See `MembershipDeps.watchTime`. After an outage of the server, nodes come back one after the other. */
const WATCH_TIME = 10_000
/** Milliseconds between two looks after which nodes may have been silent because none could be heard. */
const MAX_GAP = 2_000

/** Since when this process has seen no new beat of each node. */
class SilenceWatch {
  private readonly beats = new Map<string, { readonly beat: number; readonly since: number }>()
  private lastLook = 0

  constructor(private readonly watchTime: number) {}

  note(nodes: readonly NodeRow[]): void {
    const now = performance.now()
    if (now - this.lastLook > MAX_GAP) this.beats.clear()
    this.lastLook = now
    for (const { name, last_beat: beat } of nodes)
      if (this.beats.get(name)?.beat !== beat) this.beats.set(name, { beat, since: now })
  }

  isLong({ name }: NodeRow): boolean {
    return performance.now() - (this.beats.get(name)?.since ?? Infinity) >= this.watchTime
  }
}

interface Standing {
  readonly state: WorkState
  readonly leads: boolean
  readonly slots: readonly number[]
  readonly living: number
}

const ofNode = { isOfNode: true }

const LOOKING = 'looking at other nodes'
const MOVING = 'moving the rows of other nodes'

export class Membership implements NodeState {
  readonly name: string
  readonly ownSlots: readonly number[]
  readonly holdsLease: () => boolean
  private standing: Standing
  private readonly listeners = new Set<() => void>()
  private readonly foreignListeners = new Set<() => void | Promise<void>>()
  private timer: NodeJS.Timeout | null = null
  private looking: Promise<void> | null = null
  /** The first look tells of a commit in any case: one may have come before the daemon listened. */
  private seen: number | null = null
  private readonly silences: SilenceWatch
  private readonly losses: LossWatch
  /** Each fault is logged once until it has ended. */
  private readonly failing = new Set<string>()
  /** Rows are being moved. */
  private moving: Promise<void> | null = null

  constructor(private readonly deps: MembershipDeps) {
    this.name = deps.name
    this.silences = new SilenceWatch(deps.watchTime ?? WATCH_TIME)
    this.losses = new LossWatch(deps.read, deps.slots)
    this.holdsLease = deps.holdsLease
    this.ownSlots = deps.slots
    this.standing = { state: 'working', leads: false, slots: deps.slots, living: 1 }
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
    await this.moving
    await this.deps.commit([ceaseToLead(this.deps.name)], ofNode).catch(() => undefined)
  }

  readonly slots = (): readonly number[] => this.standing.slots
  readonly leads = (): boolean => this.standing.leads
  readonly state = (): WorkState => this.standing.state
  readonly countLiving = (): number => this.standing.living

  readonly readOtherSlots = async (): Promise<readonly number[]> => {
    const nodes = await readNodes(this.deps.read)
    return nodes.filter((node) => node.name !== this.name && isLiving(node)).map(({ slot }) => slot)
  }

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
      .then(
        () => void this.failing.delete(LOOKING),
        (err: unknown) => this.report(LOOKING, err),
      )
      .finally(() => {
        this.looking = null
      })
    return this.looking
  }

  private async lookOnce(): Promise<void> {
    const { read, countLapses, onSeen } = this.deps
    const lapse = countLapses()
    const [loss, nodes, changes] = await Promise.all([
      this.losses.look(),
      readNodes(read),
      countForeignChanges(read, this.deps.slots),
    ])
    if (loss !== 'none') return this.noteLoss(loss)
    this.silences.note(nodes)
    this.note(nodes)
    if (changes !== this.seen) await Promise.all([...this.foreignListeners].map((listener) => listener()))
    this.seen = this.foreignListeners.size === 0 ? null : changes
    onSeen(lapse)
    if (await this.adoptFrom(nodes)) this.note(await readNodes(read))
    this.moving ??= this.moveLeftRows(nodes)
      .then(
        () => void this.failing.delete(MOVING),
        (err: unknown) => this.report(MOVING, err),
      )
      .finally(() => {
        this.moving = null
      })
  }

  /** Nothing of this process counts any more if commits are lost: it is to begin anew. */
  private async noteLoss(loss: 'found' | 'told'): Promise<void> {
    const { commit, name, log, onLoss } = this.deps
    if (loss === 'found') {
      const telling = commit([countLoss(name)], ofNode)
      await telling.catch((err: unknown) => log.warn({ err }, 'the other nodes could not be told of lost commits'))
    }
    onLoss()
  }

  /** Resolves to whether something has changed. */
  private async adoptFrom(nodes: readonly NodeRow[]): Promise<boolean> {
    const { name, commit, log } = this.deps
    if (this.standing.state !== 'working') return false
    let hasAdopted = false
    for (const node of nodes) {
      if (node.name === name || node.adopted_by !== null) continue
      const isSilent = node.silence > ADOPTION_AFTER && this.silences.isLong(node)
      if (!isSilent && node.state !== 'drained') continue
      if (isSilent && !(await this.deps.isFree(node.name))) continue
      const writes = isSilent ? adoptSilent(node.name, name) : adoptDrained(node.name, name)
      if (!(await tryCommit(commit(writes, ofNode)))) continue
      log.warn({ node: node.name, silence: Math.round(node.silence) }, 'a node is adopted: its mail goes out from here')
      hasAdopted = true
    }
    const hasLeader = nodes.some(({ leads }) => leads === 1)
    if (!hasLeader) await commit([beginToLead(name)], ofNode)
    return hasAdopted || !hasLeader
  }

  /** It is one commit for each portion, so that others come in between. Rows of commands go to the node that leads. */
  private async moveLeftRows(nodes: readonly NodeRow[]): Promise<void> {
    const { read, commit, name, clock } = this.deps
    const adopted = nodes.filter((node) => node.adopted_by === name).map((node) => node.name)
    for (const source of [...(this.leads() ? [OF_COMMANDS] : []), ...adopted]) {
      while (this.standing.state === 'working' && (await hasLeftRows(read, source))) {
        await commit(moveRows(source, name, clock()), ofNode)
        this.tell()
      }
    }
  }

  private note(nodes: readonly NodeRow[]): void {
    const { name } = this.deps
    const own = nodes.find((node) => node.name === name)
    if (own === undefined) return
    const isOwn = (node: NodeRow): boolean => node.name === name && node.adopted_by === null
    const served = nodes.filter((node) => isOwn(node) || node.adopted_by === name)
    const leads = own.leads === 1 && own.state === 'working'
    const next: Standing = {
      state: own.state,
      leads,
      slots: [...(leads ? [LONE_SLOT] : []), ...served.flatMap(({ slots }) => slots.split(',').map(Number))],
      living: nodes.filter(isLiving).length,
    }
    const before = JSON.stringify(this.standing)
    this.standing = next
    if (JSON.stringify(next) !== before) this.tell()
  }

  private report(work: string, err: unknown): void {
    if (!this.failing.has(work)) this.deps.log.warn({ err, work }, 'nodes cannot work together now')
    this.failing.add(work)
  }

  private tell(): void {
    for (const listener of this.listeners) listener()
  }
}
