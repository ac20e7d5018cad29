/**
 * Sends broadcasts: starts those whose time has come, makes the messages of the next contacts, and does what a pause, a
 * cancellation or an exhausted limit requires.
 *
 * All state is on disk. A pass takes one step of each broadcast. Each step is one commit that is guarded by the state
 * that was read, so a crash or a change at the same moment neither skips nor repeats a contact. Memory holds only the
 * list of broadcasts that delivery must leave alone. That list takes effect with `wake`, before the entries are held,
 * portion by portion. One node takes the steps of all broadcasts, and each keeps that list. Broadcasts yield to other mail: while other mail goes out, their chunks are small and far apart.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createLoadMeter } from '../../base/platform/thread-load.js'
import { StorageFault, tryCommit } from '../../base/storage/db/write.js'
import { hasEntriesToHold, hasPausedEntries } from '../../records/messages/queue/broadcast-entries.js'
import type { QueueRunner } from '../delivery/queue-runner.js'
import { dueBroadcasts, listRunningBroadcasts, type RunningBroadcast } from './active-broadcasts.js'
import { type BroadcastRef, pauseBroadcast } from './broadcast-records.js'
import { BroadcastSteps, type StepOptions, type StepResult } from './broadcast-steps.js'
import type { ExpanderDeps } from './contact-expander.js'

export interface EngineDeps extends ExpanderDeps {
  /** Only the node that leads takes steps. Each leaves the entries of stopped broadcasts alone. */
  readonly leads: () => boolean
  readonly runner: Pick<QueueRunner, 'offer' | 'stopBroadcast' | 'resumeBroadcast' | 'markDue' | 'isYielding'>
}

/** Milliseconds after which the engine notices due broadcasts, and room in the queue. */
const POLL_INTERVAL = 200
const FAULT_PAUSE = 1_000
/** Milliseconds after which the engine looks again at an exhausted limit. Each `recheck` looks too. */
const RECHECK_INTERVAL = 3_600_000
/** The most scheduled broadcasts that one pass starts. */
const MAX_DUE = 50
/** The contacts of one commit. Measured: 50 are on disk after 7 ms. */
const CHUNK = 50
const YIELDING_CHUNK = 12
/** The most entries that wait for a first attempt; while other mail goes out, fewer than a lane has in memory. */
const WINDOW = 2_000
const YIELDING_WINDOW = 300
/** The load of the thread from which on steps are further apart. */
const BUSY_LOAD = 0.8
/** The pause after a step, as a multiple of the step's time, while other mail goes out or the thread is busy. */
const YIELD_FACTOR = 4
const BUSY_FACTOR = 1
/** The shortest such pause, in milliseconds. */
const MIN_PAUSE = 10
const MAX_PAUSE = 200
/** Milliseconds of one turn of the event loop in which the engine looks at waiting broadcasts. */
const TURN_TIME = 2
const FAULT_NOTE = 'an internal error: the log of the service says more'

export class BroadcastEngine {
  /** The broadcasts that delivery leaves alone, with their workspaces. */
  private readonly stopped = new Map<string, string>()
  /** The paused broadcasts whose entries are all held. */
  private readonly rested = new Set<string>()
  private readonly checkedAt = new Map<string, number>()
  private readonly readLoad = createLoadMeter()
  private isStopping = false
  private isWoken = false
  private isRecheckDue = false
  private isFailing = false
  private hasDiskSpace = (): boolean => true
  private interruptSleep: () => void = () => undefined
  /** The last run of `sync`. The next one is the run that has not begun yet. */
  private lastSync: Promise<unknown> = Promise.resolve()
  private nextSync: Promise<readonly RunningBroadcast[]> | null = null
  private loop: Promise<void> = Promise.resolve()

  private readonly steps: BroadcastSteps

  constructor(private readonly deps: EngineDeps) {
    this.steps = new BroadcastSteps(deps)
  }

  /** Makes delivery leave paused and cancelled broadcasts alone. Call it before delivery starts. */
  async holdBack(): Promise<void> {
    await this.syncStopped()
  }

  /** Continues where the last process stopped. Makes no messages while the disk has no space for new mail. */
  start(hasDiskSpace: () => boolean): void {
    this.hasDiskSpace = hasDiskSpace
    this.loop = this.run()
  }

  /**
   * Call this when a limit may have been raised. The next pass also looks at the broadcasts that wait for a limit. It
   * resolves as `wake` does.
   */
  recheck(): Promise<void> {
    this.isRecheckDue = true
    return this.wake()
  }

  /**
   * Call this when a broadcast may have changed. Pauses and cancellations that are on disk are in effect when it
   * resolves. Never rejects: after a fault, the next pass brings them into effect.
   */
  async wake(): Promise<void> {
    if (this.isStopping) return
    this.isWoken = true
    this.interruptSleep()
    try {
      await this.syncStopped()
    } catch (err) {
      this.reportFault(err)
    }
  }

  /** Resolves after the running commit. */
  async stop(): Promise<void> {
    this.isStopping = true
    this.interruptSleep()
    await this.loop
    await this.lastSync
  }

  private async run(): Promise<void> {
    while (!this.isStopping) {
      const hasMore = await this.tryPass()
      if (!hasMore && !this.isWoken) await this.sleep(this.isFailing ? FAULT_PAUSE : POLL_INTERVAL)
    }
  }

  private async tryPass(): Promise<boolean> {
    try {
      const hasMore = await this.pass()
      this.isFailing = false
      return hasMore
    } catch (err) {
      this.reportFault(err)
      return false
    }
  }

  /** Takes one step of each broadcast. Resolves to true if one of them may take another step at once. */
  private async pass(): Promise<boolean> {
    const isRecheck = this.isRecheckDue
    this.isRecheckDue = false
    this.isWoken = false
    if (!this.deps.leads()) return this.followStopped()
    const due = await dueBroadcasts(this.deps.read, { now: this.deps.clock(), limit: MAX_DUE })
    let hasMore = false
    let turnEnd = performance.now() + TURN_TIME
    for (const broadcast of [...(await this.syncStopped()), ...due]) {
      if (this.isStopping) return false
      if (this.rested.has(broadcast.id)) continue
      if (await this.advance(broadcast, isRecheck)) hasMore = true
      if (performance.now() < turnEnd) continue
      await nextTurn()
      turnEnd = performance.now() + TURN_TIME
    }
    return hasMore
  }

  /** Does what the steps of the node that leads require of this one. */
  private async followStopped(): Promise<false> {
    if (this.stopped.size === 0) return false
    for (const { id, workspace_id: workspaceId, status } of await this.syncStopped()) {
      if (status !== 'paused' || this.rested.has(id)) continue
      if (await hasEntriesToHold(this.deps.read, { broadcastId: id })) continue
      this.rested.add(id)
      this.deps.runner.markDue(workspaceId, 0)
    }
    return false
  }

  /**
   * Stops paused and cancelled broadcasts in delivery, and resumes the others. Returns all that are under way. Runs
   * follow each other, or an earlier one could undo a later one with what it has read. A call joins the run that has not
   * begun yet, because that one reads every change before the call.
   */
  private syncStopped(): Promise<readonly RunningBroadcast[]> {
    if (this.nextSync !== null) return this.nextSync
    const next = this.lastSync.then(() => {
      this.nextSync = null
      return this.sync()
    })
    this.nextSync = next
    this.lastSync = next.catch(() => undefined)
    return next
  }

  private async sync(): Promise<readonly RunningBroadcast[]> {
    const running = await listRunningBroadcasts(this.deps.read)
    const byId = new Map(running.map((broadcast) => [broadcast.id, broadcast]))
    for (const broadcast of running) await this.syncOne(broadcast)
    for (const [id, workspaceId] of this.stopped) if (!byId.has(id)) this.letGo(id, workspaceId)
    for (const id of this.checkedAt.keys()) if (!byId.has(id)) this.checkedAt.delete(id)
    return running
  }

  private async syncOne({ id, workspace_id: workspaceId, status }: RunningBroadcast): Promise<void> {
    if (status !== 'paused') this.rested.delete(id)
    const isStopped = this.stopped.has(id)
    if (status === 'sending') {
      // The broadcast resumes in delivery when all entries that the pause has held are given back.
      if (isStopped && !(await hasPausedEntries(this.deps.read, { broadcastId: id }))) this.letGo(id, workspaceId)
    } else if (!isStopped) {
      this.stopped.set(id, workspaceId)
      this.deps.runner.stopBroadcast(id)
    }
  }

  private letGo(id: string, workspaceId: string): void {
    this.stopped.delete(id)
    this.rested.delete(id)
    this.deps.runner.resumeBroadcast(id, workspaceId)
  }

  private async advance(
    { id, workspace_id: workspaceId, status }: RunningBroadcast,
    isRecheck: boolean,
  ): Promise<boolean> {
    const startedAt = performance.now()
    const isYielding = this.deps.runner.isYielding
    const size = isYielding ? { chunk: YIELDING_CHUNK, window: YIELDING_WINDOW } : { chunk: CHUNK, window: WINDOW }
    const result = await this.tryStep(
      { id, workspaceId },
      { ...size, isRecheck: this.isRecheck(id, isRecheck), hasDiskSpace: this.hasDiskSpace() },
    )
    if (result === 'rest' && status === 'paused') this.noteRest({ id, workspaceId })
    if (result !== 'done') return false
    await this.pauseAfter(performance.now() - startedAt, isYielding)
    return true
  }

  private pauseAfter(duration: number, isYielding: boolean): Promise<void> {
    const isBusy = this.readLoad() > BUSY_LOAD
    if (!isYielding && !isBusy) return nextTurn()
    const factor = isYielding ? YIELD_FACTOR : BUSY_FACTOR
    return this.sleep(Math.min(MAX_PAUSE, Math.max(MIN_PAUSE, duration * factor)))
  }

  private noteRest({ id, workspaceId }: BroadcastRef): void {
    this.rested.add(id)
    // The entries that delivery passed over are held now, and no longer hide others behind them.
    this.deps.runner.markDue(workspaceId, 0)
    this.deps.log.info(
      { workspace: workspaceId, broadcast: id },
      'a broadcast is paused, and all that waits of it is held',
    )
  }

  private isRecheck(id: string, isAsked: boolean): boolean {
    const now = this.deps.clock()
    const isDue = isAsked || Math.abs(now - (this.checkedAt.get(id) ?? 0)) >= RECHECK_INTERVAL
    if (isDue) this.checkedAt.set(id, now)
    return isDue
  }

  /** Pauses a broadcast whose step throws, because a bug must not stop other broadcasts, nor repeat without end. */
  private async tryStep(ref: BroadcastRef, options: StepOptions): Promise<StepResult> {
    try {
      return await this.steps.take(ref, options)
    } catch (err) {
      if (err instanceof StorageFault) throw err
      this.deps.log.error({ err, broadcast: ref.id, workspace: ref.workspaceId }, 'a broadcast cannot go on')
      const { commit, clock } = this.deps
      await tryCommit(commit([pauseBroadcast({ ...ref, now: clock(), note: FAULT_NOTE })]))
      return 'wait'
    }
  }

  private sleep(milliseconds: number): Promise<void> {
    if (this.isStopping) return Promise.resolve()
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.interruptSleep(), milliseconds)
      this.interruptSleep = () => {
        clearTimeout(timer)
        this.interruptSleep = () => undefined
        resolve()
      }
    })
  }

  /** Logs a fault once for each outage. */
  private reportFault(err: unknown): void {
    if (!this.isFailing) this.deps.log.error({ err }, 'broadcasts cannot go on now')
    this.isFailing = true
  }
}
