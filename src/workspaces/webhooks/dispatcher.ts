/**
 * Delivers events to webhooks, at least once. Each webhook has a cursor over the event log. Retries come from the
 * database.
 *
 * Where several nodes work on the database, each delivers the events of its slots (`NodeState`), over which each webhook has
 * a cursor of its own, and the retries and replays that it has written itself.
 *
 * We store nothing for an event before its first attempt, so a backlog is a cursor that lags, whatever its length.
 * One commit has the outcome of an attempt and the cursor, so a crash repeats only the attempts that were under way.
 * A turn of the event loop takes 2 ms and the step that exceeds them, which reads two pages at most. Mail goes
 * first: while this thread is busy, attempts begin at a limited rate, and the backlog leaves afterwards.
 */
import type { Log } from '../../base/platform/log.js'
import { createLoadMeter } from '../../base/platform/thread-load.js'
import type { Store } from '../../base/storage/db/database.js'
import { loneNode, type NodeState } from '../../base/storage/db/node-state.js'
import { type AttemptDeps, attemptDelivery } from './attempt-delivery.js'
import { attemptsAtLoad } from './attempt-rate.js'
import { type AddressRules, EndpointAddresses } from './endpoint-addresses.js'
import { EventPages } from './event-pages.js'
import { FairTurns } from './fair-turns.js'
import { type LaneEvents, LaneRegistry } from './lane-registry.js'
import { OutcomeWriter, type SettledAttempt } from './outcome-writer.js'
import type { NotMade, RequestOutcome, Undeliverable } from './request-protocol.js'
import { settleOutcome, settleUndeliverable } from './settle-outcome.js'
import type { Task, WebhookLane } from './webhook-lane.js'
import type { WebhookRef } from './webhook-records.js'

interface DispatcherDeps extends Store, AddressRules, Omit<AttemptDeps, 'endpoints'> {
  /** Without it, this process has the database for itself. */
  readonly node?: NodeState
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>
  /** Milliseconds from each failure to the next attempt. */
  readonly retrySchedule: () => readonly number[]
  /**
   * Returns the load of this thread since the last call. Without it, the dispatcher measures the load. A test can
   * set it.
   */
  readonly readLoad?: () => number
  /** Names who shares the requests under way: the owner of a workspace. Without it, each workspace has a share. */
  readonly ownerOf?: ((workspaceId: string) => string) | undefined
  /** It is called when an attempt has ended with this status of its delivery. */
  readonly onAttempt?: ((status: SettledAttempt['result']['status']) => void) | undefined
}

/**
 * Milliseconds in which the dispatcher notices new events and due retries, and after which it sets the limit of
 * attempts again.
 */
const POLL_INTERVAL = 100
/** Milliseconds of one turn of the event loop. */
const TURN_TIME = 2
/** Milliseconds until an attempt without a known outcome is made again, and how often in a row that may happen. */
const LOSS_PAUSE = 1_000
const MAX_LOSSES = 3

/** Milliseconds. */
const MAX_STOP = 3_000

type SettledBy = Pick<Parameters<typeof settleOutcome>[2], 'outcome' | 'startedAt' | 'webhook'>

export class Dispatcher {
  private readonly turns: FairTurns
  private readonly registry: LaneRegistry
  private readonly attemptDeps: AttemptDeps
  private readonly events: EventPages
  private readonly writer: OutcomeWriter
  private readonly node: NodeState
  private timer: NodeJS.Timeout | null = null
  private pumpTimer: NodeJS.Immediate | null = null
  private readonly readLoad: () => number
  /** Attempts that may begin before the next poll. */
  private budget = Number.POSITIVE_INFINITY
  /** The work under way: one poll and one pump at a time. */
  private polling: Promise<void> | null = null
  private pumping: Promise<void> | null = null
  private isStopping = false
  private isFailing = false
  private onIdle: () => void = () => undefined

  constructor(private readonly deps: DispatcherDeps) {
    const { read, commit, clock, log, readLoad = createLoadMeter() } = deps
    this.readLoad = readLoad
    this.node = deps.node ?? loneNode
    this.turns = new FairTurns(deps.ownerOf)
    this.events = new EventPages(read)
    const { request, timeout, preparer } = deps
    this.attemptDeps = { clock, endpoints: new EndpointAddresses(deps), request, timeout, preparer }
    const laneEvents: LaneEvents = {
      onAdded: (lane) => this.schedule(lane),
      onRemoved: (lane) => this.turns.remove(lane),
    }
    this.registry = new LaneRegistry({ read, node: this.node, log, pages: this.events }, laneEvents)
    this.writer = new OutcomeWriter({
      commit,
      clock,
      log,
      onCommit: (lanes) => {
        for (const lane of lanes) this.schedule(lane)
      },
      onDisabled: (lane) => void this.refresh(lane.ref),
    })
  }

  /** Resumes at the place at which the last process stopped. */
  start(): void {
    this.node.onChange(() => this.reload())
    this.reload()
  }

  /** Call this when this process has changed the webhook, or has written a delivery or a replay of it. Never rejects. */
  async refresh(webhook: WebhookRef): Promise<void> {
    if (this.isStopping) return
    await this.registry.refresh(webhook)
  }

  /** Call this when another process has changed webhooks, or has given this node work of theirs. */
  reload(): void {
    if (!this.isStopping) void this.registry.reload()
  }

  /** Delivers nothing more for the workspace. */
  closeWorkspace(workspaceId: string): void {
    this.registry.closeWorkspace(workspaceId)
  }

  /**
   * Lets attempts under way end within `limit` milliseconds, and no longer than `MAX_STOP`. Those that do not are made
   * again after the next start.
   */
  async stop(limit: number): Promise<void> {
    this.isStopping = true
    if (this.timer !== null) clearTimeout(this.timer)
    if (this.pumpTimer !== null) clearImmediate(this.pumpTimer)
    await Promise.all([this.registry.stop(), this.polling, this.pumping])
    if (this.turns.running > 0) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, Math.min(limit, MAX_STOP))
        this.onIdle = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
    await this.writer.stop()
  }

  /** The poll runs only while there is a lane. */
  private schedule(lane: WebhookLane): void {
    if (this.isStopping) return
    if (lane.hasWork(this.deps.clock())) this.turns.add(lane)
    this.timer ??= setTimeout(() => this.poll(), POLL_INTERVAL)
    this.schedulePump()
  }

  private poll(): void {
    this.timer = null
    if (this.isStopping || this.registry.size === 0) return
    this.timer = setTimeout(() => this.poll(), POLL_INTERVAL)
    this.budget = attemptsAtLoad(this.readLoad())
    // While a poll reads for longer than the interval, the next ones leave everything to it.
    this.polling ??= this.guard(() => this.notice()).finally(() => {
      this.polling = null
      this.schedulePump()
    })
    this.schedulePump()
  }

  private async notice(): Promise<void> {
    await this.registry.noticeEvents()
    const now = this.deps.clock()
    for (const lane of this.registry.lanes()) if (lane.hasWork(now)) this.turns.add(lane)
  }

  private schedulePump(): void {
    if (this.pumpTimer !== null || this.pumping !== null || this.isStopping || !this.canAdvance) return
    this.pumpTimer = setImmediate(() => {
      this.pumpTimer = null
      this.pumping = this.guard(() => this.pump()).finally(() => {
        this.pumping = null
        // After a fault of the database, the next poll continues.
        if (!this.isFailing) this.schedulePump()
      })
    })
  }

  private get canAdvance(): boolean {
    return this.turns.hasTurn && this.budget > 0 && !this.writer.isFull
  }

  private async pump(): Promise<void> {
    const now = this.deps.clock()
    const end = performance.now() + TURN_TIME
    while (this.canAdvance && !this.isStopping && performance.now() < end) {
      const lane = this.turns.next()
      if (lane !== null) await this.advance(lane, now)
    }
  }

  private async advance(lane: WebhookLane, now: number): Promise<void> {
    const task = await lane.take({ read: this.deps.read, events: this.events }, now)
    // The reads may have taken long. The webhook may be disabled now.
    if (task !== null && (this.isStopping || !lane.isEnabled)) lane.giveBack(task)
    else if (task?.kind === 'retry' && task.delivery.data === null)
      this.giveUp(lane, task, 'the event is no longer in the log')
    else if (task !== null) this.begin(lane, task)
    else if (lane.needsCommit) this.writer.addProgress(lane)
    if (!lane.hasWork(now)) this.turns.remove(lane)
  }

  private begin(lane: WebhookLane, task: Task): void {
    const { clock, log } = this.deps
    const startedAt = clock()
    const { webhook, pace } = lane
    const end = this.turns.begin(lane)
    this.budget -= 1
    const finish = (outcome: RequestOutcome | NotMade | Undeliverable | null): void => {
      end()
      if (outcome === null) this.repeatLater(lane, task, { startedAt, webhook })
      else if (outcome.kind === 'not-made') lane.giveBack(task)
      else if (outcome.kind === 'undeliverable') this.giveUp(lane, task, outcome.reason)
      else this.settle(lane, task, { outcome, startedAt, webhook })
      this.registry.dropIfIdle(lane)
      this.schedule(lane)
      if (this.turns.running === 0) this.onIdle()
    }
    attemptDelivery(this.attemptDeps, { webhook, limit: pace.limit, task }).then(finish, (err: unknown) => {
      log.error({ err, webhook: webhook.id }, 'an attempt to deliver an event was interrupted')
      finish(null)
    })
  }

  private giveUp(lane: WebhookLane, task: Task, reason: string): void {
    this.writer.add(lane, settleUndeliverable(task, reason, this.deps.clock()), null)
  }

  /**
   * Makes an attempt without an outcome again soon. The number is limited, because an attempt that ends the thread
   * each time must not repeat forever.
   */
  private repeatLater(lane: WebhookLane, task: Task, attempt: Omit<SettledBy, 'outcome'>): void {
    const now = this.deps.clock()
    if (now >= lane.pausedUntil) lane.losses += 1
    lane.pausedUntil = now + LOSS_PAUSE
    if (lane.losses <= MAX_LOSSES || this.isStopping) lane.giveBack(task)
    else this.settle(lane, task, { ...attempt, outcome: { kind: 'fault', reason: 'the outcome is not known' } })
  }

  private settle(lane: WebhookLane, task: Task, attempt: SettledBy): void {
    const { clock, retrySchedule, log } = this.deps
    if (attempt.outcome.kind === 'answer') lane.losses = 0
    const { settled, disabling } = settleOutcome(lane, task, {
      ...attempt,
      now: clock(),
      schedule: retrySchedule(),
      log,
    })
    if (disabling !== null) {
      lane.isEnabled = false
      this.turns.remove(lane)
    }
    this.deps.onAttempt?.(settled.result.status)
    this.writer.add(lane, settled, disabling)
  }

  /** Logs a fault of the database once. The poll tries again. */
  private async guard(work: () => Promise<void>): Promise<void> {
    try {
      await work()
      this.isFailing = false
    } catch (err) {
      if (!this.isFailing) this.deps.log.error({ err }, 'webhooks cannot be read now')
      this.isFailing = true
    }
  }
}
