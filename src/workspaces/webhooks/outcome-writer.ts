/**
 * Makes the outcomes of attempts durable. One commit has the rows of deliveries, the cursor and the state of their
 * webhooks, for all outcomes that have come since the last commit.
 *
 * While the database takes no writes, outcomes stay in memory and the writer tries again. `isFull` says when no more
 * of them should come.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '../../base/platform/clock.js'
import type { Log } from '../../base/platform/log.js'
import type { Commit, Write } from '../../base/storage/db/write.js'
import { WriteConflict } from '../../base/storage/db/write.js'
import type { DeliveryResult } from './decide-delivery.js'
import { insertAttempted, settleDelivery } from './delivery-records.js'
import { beginFailingAgain, type DisabledReason, disableWebhook } from './disable-webhook.js'
import { moveEventCursor, moveReplay, recordFailing, recordLastAttempt, removeReplay } from './dispatch-records.js'
import type { EventWalk } from './event-walk.js'
import type { Task, WebhookLane } from './webhook-lane.js'

export interface SettledAttempt {
  readonly task: Task
  readonly result: DeliveryResult
  readonly at: number
}

interface WriterDeps {
  readonly commit: Commit
  readonly clock: Clock
  readonly log: Pick<Log, 'error'>
  /** It is called after each commit. */
  readonly onCommit: (lanes: Iterable<WebhookLane>) => void
  /** It is called when the webhook was to be disabled: its row says what has become of it. */
  readonly onDisabled: (lane: WebhookLane) => void
}

/** Outcomes of one commit. While as many wait in memory, no attempt should begin. */
const BATCH_SIZE = 200
const MAX_WAITING = 2_000
const RETRY_DELAY = 1_000

/** What waits for the next commit, by lane. */
interface LaneOutcomes {
  readonly settled: SettledAttempt[]
  disabling: DisabledReason | null
}

/** What a commit has of a lane. */
interface PreparedLane {
  readonly writes: readonly Write[]
  readonly progress: readonly Progress[]
  readonly failingSince: number | null
}

/** The place of a walk after a commit. */
interface Progress {
  readonly walk: EventWalk
  readonly done: ReadonlySet<number>
  readonly cursor: number
}

export class OutcomeWriter {
  private waiting = new Map<WebhookLane, LaneOutcomes>()
  private waitingCount = 0
  private running: Promise<void> | null = null
  private isFailing = false
  private isStopping = false

  constructor(private readonly deps: WriterDeps) {}

  get isFull(): boolean {
    return this.waitingCount >= MAX_WAITING
  }

  add(lane: WebhookLane, settled: SettledAttempt, disabling: DisabledReason | null): void {
    const outcomes = this.outcomesOf(lane)
    outcomes.settled.push(settled)
    outcomes.disabling ??= disabling
    this.waitingCount += 1
    this.schedule()
  }

  /** Commits the places of the lane's walks, without an outcome. */
  addProgress(lane: WebhookLane): void {
    this.outcomesOf(lane)
    this.schedule()
  }

  /** Resolves when everything is on disk, or when the database takes no writes. */
  async stop(): Promise<void> {
    this.isStopping = true
    await this.running
  }

  private outcomesOf(lane: WebhookLane): LaneOutcomes {
    const known = this.waiting.get(lane)
    if (known !== undefined) return known
    const outcomes: LaneOutcomes = { settled: [], disabling: null }
    this.waiting.set(lane, outcomes)
    return outcomes
  }

  private schedule(): void {
    this.running ??= this.commitAll().finally(() => {
      this.running = null
      // Writes what came after the last commit.
      if (this.waiting.size > 0 && !this.isStopping) this.schedule()
    })
  }

  private async commitAll(): Promise<void> {
    // All outcomes of this turn go into one commit.
    await Promise.resolve()
    while (this.waiting.size > 0) {
      const batch = this.takeBatch()
      try {
        await this.commitBatch(batch)
        this.isFailing = false
        this.deps.onCommit(batch.keys())
      } catch (err) {
        if (!this.isFailing) this.deps.log.error({ err }, 'outcomes of webhooks cannot be written now')
        this.isFailing = true
        this.putBack(batch)
        if (this.isStopping) return
        await sleep(RETRY_DELAY)
      }
    }
  }

  private takeBatch(): Map<WebhookLane, LaneOutcomes> {
    const batch = new Map<WebhookLane, LaneOutcomes>()
    let count = 0
    for (const [lane, outcomes] of this.waiting) {
      if (count >= BATCH_SIZE) break
      const settled = outcomes.settled.splice(0, BATCH_SIZE - count)
      batch.set(lane, { settled, disabling: outcomes.disabling })
      outcomes.disabling = null
      if (outcomes.settled.length === 0) this.waiting.delete(lane)
      count += settled.length + 1
    }
    return batch
  }

  private putBack(batch: ReadonlyMap<WebhookLane, LaneOutcomes>): void {
    for (const [lane, { settled, disabling }] of batch) {
      const newer = this.outcomesOf(lane)
      newer.settled.unshift(...settled)
      newer.disabling ??= disabling
    }
  }

  private async commitBatch(batch: ReadonlyMap<WebhookLane, LaneOutcomes>): Promise<void> {
    const prepared = [...batch].map(([lane, outcomes]) => ({ lane, outcomes, ...prepareLane(lane, outcomes) }))
    const together = prepared.filter(({ outcomes }) => outcomes.disabling === null)
    if (together.length > 0) await this.deps.commit(together.flatMap(({ writes }) => writes))
    for (const { lane, outcomes, writes } of prepared) {
      if (outcomes.disabling !== null) await this.disable(lane, outcomes.disabling, writes)
    }
    for (const { lane, outcomes, progress, failingSince } of prepared) {
      lane.storedFailingSince = failingSince
      this.finishLane(lane, outcomes, progress)
    }
  }

  private async disable(lane: WebhookLane, reason: DisabledReason, writes: readonly Write[]): Promise<void> {
    const { commit, clock } = this.deps
    const webhook = { ...lane.webhook, failing_since: lane.failingSince }
    try {
      await commit([...writes, ...disableWebhook(webhook, reason, clock())])
    } catch (error) {
      // The webhook is disabled already, or gone, or another node has had success.
      if (!(error instanceof WriteConflict)) throw error
      await commit([...writes, ...beginFailingAgain(webhook, clock())])
    }
    this.deps.onDisabled(lane)
  }

  private finishLane(lane: WebhookLane, { settled }: LaneOutcomes, progress: readonly Progress[]): void {
    this.waitingCount -= settled.length
    for (const { walk, done, cursor } of progress) walk.settle(done, cursor)
    for (const { task, result } of settled) {
      if (task.kind === 'retry') lane.closeRetry(task.delivery.id, result.next_attempt_at)
      else lane.expectRetry(result.next_attempt_at)
    }
    if (progress.some(({ walk }) => walk === lane.replay?.walk && walk.isComplete)) lane.endReplay()
  }
}

function prepareLane(lane: WebhookLane, { settled }: LaneOutcomes): PreparedLane {
  const { ref, failingSince } = lane
  const writes = settled.map((each) => writeOutcome(lane, each))
  const last = settled.at(-1)
  if (last !== undefined) {
    const { status, response_status } = last.result
    const attempt = { last_status: status, last_at: last.at, last_response_status: response_status }
    writes.push(recordLastAttempt({ ...ref, ...attempt }))
  }
  // The row that all nodes share is written only when that changes.
  const known = lane.storedFailingSince
  if (failingSince !== known) writes.push(recordFailing({ ...ref, failing_since: failingSince, known }))
  const walks = new Set<EventWalk>([...lane.walks, ...(lane.replay === null ? [] : [lane.replay.walk])])
  for (const { task } of settled) if (task.kind === 'event') walks.add(task.walk)
  const progress = [...walks].map((walk) => progressOf(walk, settled))
  for (const { walk, cursor, done } of progress) {
    const { slot: inSlot } = walk.settings
    if (inSlot === null) writes.push(writeReplayProgress(lane, walk, cursor, done))
    else if (cursor > walk.committedCursor) writes.push(moveEventCursor({ ...ref, inSlot, cursor }))
  }
  return { writes, progress, failingSince }
}

function progressOf(walk: EventWalk, settled: readonly SettledAttempt[]): Progress {
  const seqs = settled.flatMap(({ task }) => (task.kind === 'event' && task.walk === walk ? [task.event.seq] : []))
  const done = new Set(seqs)
  return { walk, done, cursor: walk.cursorAfter(done) }
}

function writeReplayProgress(lane: WebhookLane, walk: EventWalk, cursor: number, done: ReadonlySet<number>): Write {
  const replay = { id: walk.settings.id, workspaceId: lane.ref.workspaceId }
  return walk.isCompleteAfter(done) ? removeReplay(replay) : moveReplay({ ...replay, next: cursor + 1 })
}

function writeOutcome({ ref }: WebhookLane, { task, result, at }: SettledAttempt): Write {
  if (task.kind === 'retry') {
    return settleDelivery({ ...result, id: task.delivery.id, webhookId: ref.id, workspaceId: ref.workspaceId })
  }
  return insertAttempted({ webhook: ref, deliveryId: task.deliveryId, event: task.event, at }, result)
}
