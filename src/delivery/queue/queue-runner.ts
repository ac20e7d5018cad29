/**
 * Takes entries whose turn it is, and sees each through to its outcome.
 *
 * One turn: make ready and sign, count the attempt (the lease, on disk), dial, write
 * down what came of it. A fresh message comes in by `offer`, from memory and, where its
 * attempt can begin at once, counted already (`claim`); retries, scheduled ones and what
 * memory had no room for come by the sweep.
 *
 * A fault of the database stops the taking for a second, never loses an outcome: what
 * the remote answered is written down as soon as the disk takes it again. Any other fault
 * of our own is a deferral of that one entry, and stops nobody else.
 * Stopping lets attempts finish; those that outlast the limit are released, and go again
 * at once.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Enqueued } from '../../messages/queue/enqueue.js'
import { entryById, parkEntry, type QueueEntry, recoverLeases } from '../../messages/queue/queue.js'
import { StorageFault } from '../../storage/writer/write.js'
import type { MadeAttempt } from '../attempt/made-attempt.js'
import { type AttemptTurn, type MakeAttemptDeps, makeAttempt } from '../attempt/make-attempt.js'
import { releaseScheduled } from '../attempt/ready-message.js'
import { DueSweep } from './due-sweep.js'
import { Lanes } from './lanes.js'
import { type Claim, Leases } from './leases.js'
import { Postponements } from './postponements.js'
import type { RunnerDeps } from './runner-deps.js'

const POLL = 500
/** How long nothing is taken after a fault of the database. */
const PAUSE = 1_000
/** What attempts that were cut off get to end. */
const LAST_WORDS = 2_000
/** A sweep keeps its place; now and then it starts over, in case anything slipped behind it. */
const LOOK_AT_ALL = 5 * 60_000
const PER_LANE = 400
const PER_WORKSPACE = 4_000

interface Turn extends AttemptTurn {
  onWire: boolean
  /** What became of the entry may be due by now, behind the place of the sweep. */
  late: boolean
}

const PARKED = 'held: what came of the last attempt could not be written down, and it may have arrived'
const CUT_OFF = 'stopped while waiting for the reply to the end of the message, which may arrive twice'

export class QueueRunner {
  private readonly lanes: Lanes
  private readonly sweep: DueSweep
  private readonly turns = new Set<Promise<void>>()
  private readonly leases: Leases
  private readonly making: MakeAttemptDeps
  private timer: NodeJS.Timeout | null = null
  private sweeping: NodeJS.Immediate | null = null
  private pause: NodeJS.Timeout | null = null
  private lookedAtAll = 0
  private stopping = false
  private readonly abandoned = new AbortController()

  constructor(private readonly deps: RunnerDeps) {
    this.lanes = new Lanes({
      total: deps.maxConnections,
      // Twice the sessions: while one message is on the wire, the next is signed and leased.
      perDomain: deps.maxConnectionsPerHost * 2,
      perLane: PER_LANE,
      perWorkspace: PER_WORKSPACE,
    })
    this.sweep = new DueSweep(deps.read, this.lanes, PER_LANE)
    this.leases = new Leases(deps)
    const { lanes, leases } = this
    const postponements = new Postponements({
      ...deps,
      lanes,
      leases,
      release: ({ id, email_id }) => deps.shelf.release(email_id, id),
      moved: (workspaceId, from) => this.sweep.missed({ workspace_id: workspaceId, next_attempt_at: from }),
    })
    this.making = { ...deps, lanes, leases, postponements, abandoned: this.abandoned.signal }
  }

  async start(): Promise<void> {
    await this.deps.commit([recoverLeases({ at: this.deps.clock() })])
    this.timer = setInterval(() => this.feed(), POLL)
    this.feed()
  }

  /** Whether the commit of a message may count its attempt too, because that can begin at once; null: not. */
  claim({ email, entries: [entry, ...others] }: Enqueued): Claim | null {
    if (this.stopping || this.pause !== null || email.scheduled_for !== null) return null
    if (entry === undefined || others.length > 0 || !this.lanes.isFreeFor(entry)) return null
    return this.leases.claim(entry)
  }

  /** A message whose commit is on disk, with the claim that was in it. `raw`: empty where it has to be read back. */
  offer(enqueued: Enqueued, raw: Buffer, claim: Claim | null = null): void {
    const { email, entries, wishes } = enqueued
    const isDue = email.scheduled_for === null
    if (claim !== null) this.leases.claimed(enqueued, claim)
    if (isDue && raw.length > 0) {
      const ids = entries.map(({ id }) => id)
      this.deps.shelf.put({ email, raw, wishes, signatureKept: false }, ids)
    }
    for (const entry of entries) {
      if (!isDue || !this.lanes.add(entry, claim !== null)) this.sweep.missed(entry)
    }
    this.pump()
  }

  /** Entries of a workspace became due, at a moment that the sweep may have passed already. */
  noticeDue(workspaceId: string, at: number): void {
    this.sweep.missed({ workspace_id: workspaceId, next_attempt_at: at })
    this.feed()
  }

  /** Somebody else changed the queue: look at all of it again. */
  wake(): void {
    this.deps.shelf.clear()
    this.sweep.reset()
    this.feed()
  }

  /** Takes nothing more; waits for attempts until `limit` milliseconds have passed, then releases them. */
  async stop(limit: number): Promise<void> {
    this.stopping = true
    if (this.timer !== null) clearInterval(this.timer)
    if (this.sweeping !== null) clearImmediate(this.sweeping)
    if (this.pause !== null) clearTimeout(this.pause)
    await this.turnsEnd(limit)
    this.abandoned.abort()
    await this.turnsEnd(LAST_WORDS)
    await this.leases.giveAllBack()
  }

  /** Resolves when no attempt is under way, after `limit` milliseconds at the latest. */
  private async turnsEnd(limit: number): Promise<void> {
    const late = new AbortController()
    const done = Promise.all(this.turns).finally(() => late.abort())
    await Promise.race([done, sleep(limit, undefined, { signal: late.signal }).catch(() => undefined)])
  }

  /** One page of the sweep, then a breath for the others, then the next. */
  private feed(): void {
    if (this.stopping || this.sweeping !== null || this.pause !== null) return
    const now = this.deps.clock()
    if (now - this.lookedAtAll >= LOOK_AT_ALL) {
      this.lookedAtAll = now
      this.sweep.reset()
    }
    const more = this.guarded(() => this.sweep.step(now))
    this.pump()
    if (more !== true) return
    this.sweeping = setImmediate(() => {
      this.sweeping = null
      this.feed()
    })
  }

  private pump(): void {
    if (this.stopping || this.pause !== null) return
    this.guarded(() => this.sweep.refillShort(this.deps.clock()))
    for (let entry = this.lanes.take(); entry !== null; entry = this.lanes.take()) {
      const turn = this.turn(entry).finally(() => this.turns.delete(turn))
      this.turns.add(turn)
    }
  }

  private async turn(entry: QueueEntry): Promise<void> {
    const turn: Turn = { entry, at: this.deps.clock(), onWire: true, handedOver: false, late: false }
    let made: MadeAttempt | 'changed' | 'waits'
    try {
      made = await makeAttempt(turn, this.making)
    } catch (error) {
      made = await this.fault(turn, error)
    }
    if (made === 'waits') {
      this.pump()
      return
    }
    this.leaveWire(turn)
    if (made === 'changed') {
      turn.late = true
      await this.leases.giveBack(entry, this.abandoned.signal)
    } else await this.settle(turn, made)
    this.lanes.forget(entry)
    const isTaken = made !== 'changed' && made.result.outcome.kind === 'accepted'
    this.deps.shelf.release(entry.email_id, entry.id, isTaken)
    if (turn.late) this.lookAgain(entry)
  }

  private leaveWire(turn: Turn): void {
    if (!turn.onWire) return
    turn.onWire = false
    this.lanes.ended(turn.entry)
    this.pump()
  }

  /**
   * Not dropped while the database does not take it; given up only when the process ends. Where
   * a bug keeps it from being written, the entry is held: the message may have arrived.
   */
  private async settle(turn: Turn, made: MadeAttempt): Promise<void> {
    this.leases.ended(made.entry.id)
    const troubled = (): void => {
      turn.late = true
      this.rest()
    }
    const { id, email_id: email } = made.entry
    try {
      await this.deps.settle(made, { signal: this.abandoned.signal, troubled })
    } catch (error) {
      this.deps.log.error({ err: error, entry: id, email }, 'an outcome was not written down')
      if (this.abandoned.signal.aborted || error instanceof StorageFault) return
      await this.deps.commit([parkEntry({ id, why: PARKED })]).catch(() => this.rest())
    }
  }

  /** A fault of ours is a deferral like any other: counted, told, and given up when the message is too old. */
  private async fault(turn: Turn, error: unknown): Promise<MadeAttempt | 'changed'> {
    const { entry, at, handedOver } = turn
    if (this.abandoned.signal.aborted) return handedOver ? this.deferral(turn, CUT_OFF) : 'changed'
    // Its workspace was erased: what it needs is gone with it, and that is no fault.
    if (!this.leases.has(entry.id) && this.isGone(entry)) return 'changed'
    this.deps.log.error({ err: error, entry: entry.id, email: entry.email_id }, 'attempt failed on our side')
    if (error instanceof StorageFault) {
      this.rest()
      return 'changed'
    }
    try {
      const leased =
        this.leases.has(entry.id) || (await this.leases.take(entry, at, releaseScheduled(entry))) !== 'changed'
      return leased ? this.deferral(turn, 'local error') : 'changed'
    } catch {
      this.rest()
      return 'changed'
    }
  }

  /** `changed` where not even the email is there: nothing can be told about it. */
  private deferral({ entry, at }: Turn, response: string): MadeAttempt | 'changed' {
    const ready = this.guarded(() => this.deps.bare(entry)) ?? null
    if (ready === null) return 'changed'
    const outcome = { kind: 'deferred', reason: 'local-error', response, reached: false } as const
    const result = { outcome, peer: null, transcript: '' }
    return { entry, ready, unwritten: [], result, number: entry.attempts + 1, at }
  }

  private isGone({ id }: QueueEntry): boolean {
    return this.guarded(() => entryById(this.deps.read, { id }))?.length === 0
  }

  /** What changed the entry may have made it due, at a moment that the sweep has passed already. */
  private lookAgain({ id }: QueueEntry): void {
    const [now] = this.guarded(() => entryById(this.deps.read, { id })) ?? []
    if (now !== undefined) this.sweep.missed(now)
  }

  /** Undefined, and a pause, when the database cannot be read. */
  private guarded<Result>(work: () => Result): Result | undefined {
    try {
      return work()
    } catch (error) {
      this.deps.log.error({ err: error }, 'the queue cannot be read')
      this.rest()
      return undefined
    }
  }

  private rest(): void {
    if (this.pause !== null || this.stopping) return
    this.pause = setTimeout(() => {
      this.pause = null
      this.feed()
    }, PAUSE)
  }
}
