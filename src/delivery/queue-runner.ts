/**
 * Takes entries whose turn it is, and sees each through to its outcome.
 *
 * One turn: make ready and sign, count the attempt (the lease, on disk), dial, write
 * down what came of it. A fresh message comes in by `offer`, from memory; retries,
 * scheduled ones and what memory had no room for come by the sweep.
 *
 * A fault of the database stops the taking for a second, never loses an outcome: what
 * the remote answered is written down as soon as the disk takes it again. Stopping lets
 * attempts finish; those that outlast the limit are released, and go again at once.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Enqueued } from '../messages/enqueue.js'
import { leaseEntry, type QueueEntry, recoverLeases, releaseLease } from '../messages/queue.js'
import type { Clock } from '../platform/clock.js'
import type { Log } from '../platform/log.js'
import type { Read } from '../storage/prepared.js'
import { type Commit, Missed } from '../storage/write.js'
import type { AttemptResult } from './attempt-result.js'
import type { Destination, FindDestination } from './destination.js'
import { DueSweep } from './due-sweep.js'
import { Lanes } from './lanes.js'
import type { MessageShelf } from './message-shelf.js'
import type { OutboundMessage } from './outbound-message.js'
import type { ReadyMessage } from './ready-message.js'

/** Longer than any attempt may take. */
export const LEASE = 15 * 60_000
const POLL = 500
/** What attempts that were cut off get to end. */
const LAST_WORDS = 2_000
const PER_LANE = 400
const PER_WORKSPACE = 4_000

export interface RunnerDeps {
  readonly read: Read
  readonly commit: Commit
  readonly clock: Clock
  readonly log: Log
  readonly shelf: MessageShelf
  readonly ready: (entry: QueueEntry, now: number) => Promise<ReadyMessage | null>
  readonly findDestination: FindDestination
  /** Rejects when the signal strikes, and only then. */
  readonly attempt: (
    message: OutboundMessage,
    to: Destination,
    party: string,
    signal: AbortSignal,
  ) => Promise<AttemptResult>
  /** Writes down what came of an attempt; resolves once it is on disk, however long that takes. */
  readonly settle: (made: MadeAttempt) => Promise<void>
  readonly maxConnections: number
  readonly maxConnectionsPerHost: number
}

export interface MadeAttempt {
  readonly entry: QueueEntry
  readonly ready: ReadyMessage
  readonly result: AttemptResult
  readonly number: number
  readonly at: number
}

export class QueueRunner {
  private readonly lanes: Lanes
  private readonly sweep: DueSweep
  private readonly turns = new Set<Promise<void>>()
  private readonly leased = new Set<string>()
  private timer: NodeJS.Timeout | null = null
  private sweeping: NodeJS.Immediate | null = null
  private pausedUntil = 0
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
  }

  async start(): Promise<void> {
    await this.deps.commit([recoverLeases({ at: this.deps.clock() })])
    this.timer = setInterval(() => this.tick(), POLL)
    this.tick()
  }

  /** A message whose commit is on disk. */
  offer({ email, entries }: Enqueued, raw: Buffer): void {
    this.deps.shelf.put({ email, raw, signatureKept: false }, entries.length)
    for (const entry of entries) {
      if (!this.lanes.add(entry)) this.sweep.missed(entry)
    }
    this.pump()
  }

  /** Somebody else changed the queue: look at all of it again. */
  wake(): void {
    this.deps.shelf.clear()
    this.sweep.reset()
    this.tick()
  }

  /** Takes nothing more; waits for attempts until `limit` milliseconds have passed, then releases them. */
  async stop(limit: number): Promise<void> {
    this.stopping = true
    if (this.timer !== null) clearInterval(this.timer)
    if (this.sweeping !== null) clearImmediate(this.sweeping)
    await this.turnsEnd(limit)
    this.abandoned.abort()
    await this.turnsEnd(LAST_WORDS)
    const at = this.deps.clock()
    const left = [...this.leased]
    if (left.length > 0) await this.deps.commit(left.map((id) => releaseLease({ id, at })))
  }

  /** Resolves when no attempt is under way, after `limit` milliseconds at the latest. */
  private async turnsEnd(limit: number): Promise<void> {
    const late = new AbortController()
    const done = Promise.all(this.turns).finally(() => late.abort())
    await Promise.race([done, sleep(limit, undefined, { signal: late.signal }).catch(() => undefined)])
  }

  private tick(): void {
    if (this.stopping) return
    this.feed()
  }

  /** One page of the sweep, then a breath for the others, then the next. */
  private feed(): void {
    if (this.stopping || this.sweeping !== null) return
    const more = this.sweep.step(this.deps.clock())
    this.pump()
    if (!more) return
    this.sweeping = setImmediate(() => {
      this.sweeping = null
      this.feed()
    })
  }

  private pump(): void {
    const now = this.deps.clock()
    if (this.stopping || now < this.pausedUntil) return
    this.sweep.refillShort(now)
    for (let entry = this.lanes.take(); entry !== null; entry = this.lanes.take()) {
      const turn = this.turn(entry).finally(() => this.turns.delete(turn))
      this.turns.add(turn)
    }
  }

  private async turn(entry: QueueEntry): Promise<void> {
    let onWire = true
    const leaveWire = (): void => {
      if (!onWire) return
      onWire = false
      this.lanes.ended(entry)
      this.pump()
    }
    try {
      const made = await this.makeAttempt(entry)
      leaveWire()
      if (made !== null) await this.deps.settle(made)
    } catch (error) {
      if (this.abandoned.signal.aborted) return
      this.deps.log.error({ err: error, entry: entry.id, email: entry.email_id }, 'attempt failed on our side')
      this.pause()
      this.sweep.missed(entry)
    } finally {
      leaveWire()
      this.leased.delete(entry.id)
      this.lanes.forget(entry)
      this.deps.shelf.release(entry.email_id)
    }
  }

  private async makeAttempt(entry: QueueEntry): Promise<MadeAttempt | null> {
    const at = this.deps.clock()
    const ready = await this.deps.ready(entry, at)
    if (ready === null) {
      this.deps.log.error({ entry: entry.id, email: entry.email_id }, 'queue entry without its message')
      return null
    }
    const [leased, destination] = await Promise.all([
      this.lease(entry, at, ready),
      this.deps.findDestination(entry.domain),
    ])
    if (!leased) return null
    const result = await this.deps.attempt(ready.message, destination, entry.workspace_id, this.abandoned.signal)
    return { entry, ready, result, number: entry.attempts + 1, at }
  }

  /** False: held, removed or leased by somebody else meanwhile. */
  private async lease(entry: QueueEntry, at: number, { writes, shelved }: ReadyMessage): Promise<boolean> {
    const { id, attempts, next_attempt_at: dueAt } = entry
    try {
      await this.deps.commit([leaseEntry({ id, attempts, dueAt, until: at + LEASE }), ...writes])
      this.leased.add(id)
      shelved.signatureKept = true
      return true
    } catch (error) {
      if (error instanceof Missed) return false
      throw error
    }
  }

  private pause(): void {
    this.pausedUntil = this.deps.clock() + 1_000
  }
}
