/**
 * Takes the entries whose turn it is, and carries each one through to its outcome.
 *
 * A fresh message comes in by `offer`, from memory. Where its attempt can begin at once, that attempt is already
 * counted (`claim`). Retries, scheduled messages and messages that found no room in memory come by the sweep. After a
 * fault of the database the runner takes nothing for a second, but no outcome is lost: the answer of the remote server
 * is written as soon as the disk takes it. Any other fault of this server defers that one entry only. When the runner
 * stops, attempts may finish; those that exceed the limit are released, and are attempted again at the next start.
 */
import { createLoadMeter } from '../../base/platform/thread-load.js'
import { StorageFault } from '../../base/storage/db/write.js'
import type { EnqueuedEmail } from '../../records/messages/queue/enqueue.js'
import { entryById, holdForOperator, type QueueEntry, recoverLeases } from '../../records/messages/queue/queue.js'
import { buildLocalDeferral } from './attempt/local-fault.js'
import { type FinishedAttempt, type MakeAttemptDeps, makeAttempt } from './attempt/make-attempt.js'
import { releaseScheduled } from './attempt/message-preparer.js'
import { AttemptGate } from './queue/attempt-gate.js'
import { BulkPace } from './queue/bulk-pace.js'
import { Lanes, laneLimits } from './queue/lanes.js'
import { type Claim, Leases } from './queue/leases.js'
import { buildFreshMessage, type FreshCopies } from './queue/message-cache.js'
import { Postponements } from './queue/postponements.js'
import { SweepLoop } from './queue/sweep-loop.js'
import type { RunnerDeps } from './runner-deps.js'
import { RunningTurns, type Turn } from './running-turns.js'

const POLL_INTERVAL = 500
/** Milliseconds after which the runner looks again at messages of broadcasts that had to yield. */
const PACE_INTERVAL = 5
/** Milliseconds after which the runner looks again at messages that wait for a slot. */
const SLOT_INTERVAL = 50
/** Milliseconds that aborted attempts have to end. */
const ABORT_GRACE = 2_000
const MAX_PER_LANE = 400
const MAX_PER_WORKSPACE = 4_000

const PARKED_REASON = 'held: the outcome of the last attempt could not be stored, and the message may have arrived'
const CUT_OFF_RESPONSE = 'stopped while waiting for the reply to the end of the message, which may arrive twice'

export class QueueRunner {
  private readonly pace = new BulkPace({ now: () => performance.now(), readLoad: createLoadMeter() })
  private readonly lanes: Lanes
  private readonly sweep: SweepLoop
  private readonly turns = new RunningTurns()
  private readonly leases: Leases
  private readonly attemptDeps: MakeAttemptDeps
  private timer: NodeJS.Timeout | null = null
  private waitTimer: NodeJS.Timeout | null = null
  private readonly gate = new AttemptGate(() => this.sweep.run())
  private isUnreadable = false
  private readonly abortController = new AbortController()

  constructor(private readonly deps: RunnerDeps) {
    const waiting = { perLane: MAX_PER_LANE, perWorkspace: MAX_PER_WORKSPACE }
    this.lanes = new Lanes(laneLimits(waiting, deps.connections), this.pace, deps.owners, deps.paces.find)
    deps.paces.onRoom(() => this.startTurns())
    this.sweep = new SweepLoop({
      ...{ read: deps.read, node: deps.node, clock: deps.clock, lanes: this.lanes, perLane: MAX_PER_LANE },
      mayRun: () => this.gate.isOpen,
      tryRead: (work) => this.tryRead(work),
      onEntries: () => this.startTurns(),
    })
    this.leases = new Leases(deps)
    const shared = { ...deps, lanes: this.lanes, leases: this.leases }
    const postponements = new Postponements({
      ...shared,
      releaseMessage: ({ id, email_id }) => deps.messageCache.release(email_id, id),
      onDueMoved: (workspaceId, from) => this.sweep.rewindTo({ workspace_id: workspaceId, next_attempt_at: from }),
    })
    const { signal: abortSignal } = this.abortController
    const mayBegin = (): boolean => !this.gate.isHalted && deps.holdsLease()
    this.attemptDeps = { ...shared, postponements, abortSignal, mayBegin }
  }

  async start(): Promise<void> {
    await this.deps.commit([recoverLeases({ node: this.deps.node, at: this.deps.clock() })])
    this.timer = setInterval(() => this.sweep.run(), POLL_INTERVAL)
    this.sweep.run()
  }

  /** Lets the commit of a message count its attempt too, if that can begin at once. Returns null if it cannot. */
  claim({ email, entries: [entry, ...others] }: EnqueuedEmail): Claim | null {
    if (!this.gate.isOpen || email.scheduled_for !== null) return null
    if (entry === undefined || others.length > 0 || !this.lanes.isFreeFor(entry)) return null
    if (this.deps.holdRules.find(entry, email.from_email) !== null) return null
    return this.leases.claim()
  }

  /** Takes a message whose commit, with this claim, is on disk. Bytes that are no longer in memory are read back. */
  offer(enqueued: EnqueuedEmail, claim: Claim | null = null, copies?: FreshCopies): void {
    const { email, entries, dsnRequests, bytes } = enqueued
    const isDue = email.scheduled_for === null
    if (claim !== null) this.leases.confirmClaim(enqueued, claim)
    // Its commit was under way when the runner was halted.
    if (this.gate.isHalted) void this.leases.releaseClaims()
    const fresh = isDue && bytes.kept !== null ? { email, raw: bytes.kept, dsnRequests } : null
    const ids = entries.map(({ id }) => id)
    if (fresh !== null) this.deps.messageCache.put(buildFreshMessage(fresh, copies), ids)
    for (const entry of entries) {
      if (!isDue || !this.lanes.add(entry, claim !== null)) this.sweep.rewindTo(entry)
    }
    this.startTurns()
  }

  /** Tells that entries of a workspace are due from this moment, which the sweep may have passed. */
  markDue(workspaceId: string, at: number): void {
    this.sweep.rewindTo({ workspace_id: workspaceId, next_attempt_at: at })
    this.sweep.run()
  }

  /**
   * Stops all attempts of the broadcast except those that are on the wire. Its entries may have kept others of their
   * lanes out of memory, behind the position of the sweep, so the sweep of their workspaces starts over.
   */
  stopBroadcast(broadcastId: string): void {
    const dropped = this.lanes.stopBroadcast(broadcastId)
    for (const { id, email_id: emailId } of dropped) this.deps.messageCache.release(emailId, id)
    for (const workspaceId of new Set(dropped.map((entry) => entry.workspace_id))) this.markDue(workspaceId, 0)
  }

  /** Makes the entries of the broadcast due as before. */
  resumeBroadcast(broadcastId: string, workspaceId: string): void {
    this.lanes.resumeBroadcast(broadcastId)
    this.markDue(workspaceId, 0)
  }

  get activeCount(): number {
    return this.lanes.active
  }

  /** Tells whether other mail goes out, to which broadcasts yield. */
  get isYielding(): boolean {
    return this.pace.isYielding
  }

  /** Counts the entries between their look-up and their outcome. */
  countTurns(): number {
    return this.turns.size
  }

  /** Reads the whole queue again, because another process has changed it. */
  wake(): void {
    this.deps.messageCache.clear()
    this.lookAgain()
  }

  /** Looks at all entries again, because some may be due that were not, or have come from another node. */
  lookAgain(): void {
    this.sweep.reset()
    this.sweep.run()
  }

  /**
   * Begins no further attempts, because this node drains or may have lost its entries to another one. Attempts under way
   * go on; `countTurns` counts them. Those that are counted and have not begun are given back, so that the entries may
   * move.
   */
  async halt(): Promise<void> {
    this.gate.halt()
    await this.leases.releaseClaims()
  }

  /** Begins attempts again after `halt`. */
  goOn(): void {
    this.gate.goOn()
    this.lookAgain()
  }

  /** Takes no more entries; waits up to `limit` milliseconds for attempts, then releases the others. */
  async stop(limit: number): Promise<void> {
    this.gate.stop()
    if (this.timer !== null) clearInterval(this.timer)
    if (this.waitTimer !== null) clearTimeout(this.waitTimer)
    await this.sweep.stop()
    await this.turns.wait(limit)
    this.abortController.abort()
    await this.turns.wait(ABORT_GRACE)
    await this.leases.releaseAll()
  }

  private startTurns(): void {
    if (!this.gate.isOpen) return
    this.sweep.refill()
    for (let entry = this.lanes.take(); entry !== null; entry = this.lanes.take()) {
      this.turns.add(this.runTurn(entry))
    }
    const { waitsForPace, waitsForSlot } = this.lanes
    if (this.waitTimer !== null || !(waitsForPace || waitsForSlot)) return
    const goOn = (): void => {
      this.waitTimer = null
      this.startTurns()
    }
    this.waitTimer = setTimeout(goOn, waitsForPace ? PACE_INTERVAL : SLOT_INTERVAL)
  }

  private async runTurn(entry: QueueEntry): Promise<void> {
    const turn: Turn = { entry, at: this.deps.clock(), isActive: true, isHandedOver: false, needsRecheck: false }
    let finished: FinishedAttempt | 'changed' | 'waits'
    try {
      finished = await makeAttempt(turn, this.attemptDeps)
    } catch (error) {
      finished = await this.handleFault(turn, error)
    }
    if (finished === 'waits') {
      this.startTurns()
      return
    }
    const { signal } = this.abortController
    // The commit of the outcome begins before other attempts do: until it is on disk, a crash repeats this attempt.
    const ended = finished === 'changed' ? this.leases.release(entry, signal) : this.storeOutcome(turn, finished)
    this.endAttempt(turn)
    await ended
    this.lanes.forget(entry)
    const isTaken = finished !== 'changed' && finished.result.outcome.kind === 'accepted'
    this.deps.messageCache.release(entry.email_id, entry.id, isTaken)
    if (turn.needsRecheck || finished === 'changed') await this.recheckDue(entry)
  }

  private endAttempt(turn: Turn): void {
    if (!turn.isActive) return
    turn.isActive = false
    this.lanes.endAttempt(turn.entry)
    this.startTurns()
  }

  /**
   * Stores the outcome. It is kept while the database does not take it, until the process ends. If a bug keeps it from
   * being written, the entry is held, because the message may have arrived.
   */
  private async storeOutcome(turn: Turn, finished: FinishedAttempt): Promise<void> {
    const { id, email_id: email } = finished.entry
    this.leases.forget(id)
    const onStorageFault = (): void => {
      turn.needsRecheck = true
      this.gate.pause()
    }
    try {
      await this.deps.settler.settle(finished, { signal: this.abortController.signal, onStorageFault, queue: this })
    } catch (error) {
      this.deps.log.error({ err: error, entry: id, email }, 'an outcome was not stored')
      if (this.abortController.signal.aborted || error instanceof StorageFault) return
      await this.deps.commit([holdForOperator({ id, why: PARKED_REASON, at: turn.at })]).catch(() => this.gate.pause())
    }
  }

  /** Makes a fault of this server a deferral like any other: counted, logged, final when the message expires. */
  private async handleFault(turn: Turn, error: unknown): Promise<FinishedAttempt | 'changed'> {
    const { entry, at, isHandedOver } = turn
    if (this.abortController.signal.aborted)
      return isHandedOver ? await this.buildDeferral(turn, CUT_OFF_RESPONSE) : 'changed'
    // This is no fault: the workspace was erased together with all that the entry needs.
    if (!this.leases.has(entry.id) && (await this.isGone(entry))) return 'changed'
    this.deps.log.error({ err: error, entry: entry.id, email: entry.email_id }, 'attempt failed on our side')
    if (error instanceof StorageFault) {
      this.gate.pause()
      return 'changed'
    }
    try {
      const leased =
        this.leases.has(entry.id) || (await this.leases.take(entry, at, releaseScheduled(entry))) !== 'changed'
      return leased ? await this.buildDeferral(turn, 'local error') : 'changed'
    } catch {
      this.gate.pause()
      return 'changed'
    }
  }

  private async buildDeferral(turn: Turn, response: string): Promise<FinishedAttempt | 'changed'> {
    const readyMessage = (await this.tryRead(() => this.deps.messages.buildMinimal(turn.entry))) ?? null
    return buildLocalDeferral(turn, readyMessage, response)
  }

  private async isGone({ id }: QueueEntry): Promise<boolean> {
    return (await this.tryRead(async () => entryById(this.deps.read, { id })))?.length === 0
  }

  /** Looks again whether the entry is due, because a change may have moved it behind the position of the sweep. */
  private async recheckDue({ id }: QueueEntry): Promise<void> {
    const [current] = (await this.tryRead(async () => entryById(this.deps.read, { id }))) ?? []
    if (current !== undefined) this.sweep.rewindTo(current)
  }

  /** Resolves to undefined, and pauses the runner, if the database cannot be read. */
  private async tryRead<Result>(work: () => Promise<Result>): Promise<Result | undefined> {
    try {
      const result = await work()
      this.isUnreadable = false
      return result
    } catch (error) {
      // The log has one line for each outage.
      if (!this.isUnreadable) this.deps.log.error({ err: error }, 'the queue cannot be read')
      this.isUnreadable = true
      // The read may have been for an entry behind the position of the sweep.
      this.sweep.reset()
      this.gate.pause()
      return undefined
    }
  }
}
