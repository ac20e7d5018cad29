/**
 * The work of one node for a webhook, oldest first: due retries, then new events, then the events of a replay.
 *
 * New events come from a walk for each slot whose events the node delivers (`NodeState`). The walks take turns.
 *
 * Known limit: memory holds the lane of each enabled webhook. A lane with nothing to do takes a kilobyte.
 */

import { readLastSettled } from '../../base/storage/db/event-slots.js'
import type { Read } from '../../base/storage/db/prepared.js'
import { parseJson } from '../../base/storage/tables/columns.js'
import { type DueDelivery, dueDeliveries, isDeliveryStored, readNextDue } from './delivery-records.js'
import { type Cursors, findReplay, type NodeWork, type Replay } from './dispatch-records.js'
import { type EndpointPace, isPaused, startPace } from './endpoint-pace.js'
import type { EventPages, LoggedEvent } from './event-pages.js'
import { EventWalk, type WalkEvent } from './event-walk.js'
import { isKnownType } from './formats/formats.js'
import type { Webhook, WebhookRef } from './webhook-records.js'

/** One delivery to attempt. */
export type Task =
  | ({ readonly kind: 'event'; readonly walk: EventWalk; readonly replay: Replay | null } & WalkEvent)
  | { readonly kind: 'retry'; readonly delivery: DueDelivery }

interface LaneReads {
  readonly read: Read
  readonly events: Pick<EventPages, 'after'>
}

/** What the database says of a lane, beside the webhook itself. */
export interface LaneState {
  /** The cursor in each slot that the node serves. */
  readonly cursors: Cursors
  /** The time of its first retry, as `readNextDue` found it. */
  readonly nextDue: number
}

const DUE_PAGE = 50
/** Milliseconds between looks whether all events of a replay are visible. */
const SETTLE_PAUSE = 500

export class WebhookLane {
  readonly ref: WebhookRef
  pace: EndpointPace
  /** Attempts that are under way or handed over. */
  running = 0
  failingSince: number | null
  /** The same on disk. */
  storedFailingSince: number | null
  isEnabled = true
  /** The lane takes nothing before that time. */
  pausedUntil = 0
  /** How often in a row attempts ended without a known outcome. Those that ended together count once. */
  losses = 0
  webhook: Webhook
  /** The walks have their slots as keys. The first one takes next. */
  private readonly walkOf = new Map<number, EventWalk>()
  replay: { readonly row: Replay; readonly walk: EventWalk } | null = null
  private types: ReadonlySet<string>
  private mayHaveReplay = true
  /** The replay may belong to another node now. */
  private mayHaveLostReplay = false
  private replayWaitsUntil = 0
  private due: DueDelivery[] = []
  /** Retries whose outcome is not on disk. */
  private readonly openRetries = new Set<string>()
  private nextDue: number

  /** `node` is the name of the node. */
  constructor(
    webhook: Webhook,
    private readonly node: string,
    { cursors, nextDue }: LaneState,
  ) {
    this.webhook = webhook
    this.ref = { workspaceId: webhook.workspace_id, id: webhook.id }
    this.failingSince = webhook.failing_since
    this.storedFailingSince = webhook.failing_since
    this.pace = startPace(webhook.failing_since !== null)
    this.types = typesOf(webhook)
    this.updateWalks(cursors)
    this.nextDue = nextDue
  }

  get walks(): Iterable<EventWalk> {
    return this.walkOf.values()
  }

  /** Takes over a change of the webhook or of the slots. Attempts under way end as they began. */
  update(webhook: Webhook, { cursors, nextDue }: LaneState): void {
    this.updateWalks(cursors)
    if (webhook.url !== this.webhook.url || !this.isEnabled) this.pace = startPace(webhook.failing_since !== null)
    this.isEnabled = true
    this.webhook = webhook
    this.failingSince = webhook.failing_since
    this.storedFailingSince = webhook.failing_since
    this.types = typesOf(webhook)
    this.mayHaveReplay = true
    this.mayHaveLostReplay = this.replay !== null
    this.expectRetry(nextDue)
  }

  /** Says that there may be new events. */
  wake(): void {
    for (const walk of this.walks) walk.wake()
  }

  /** Tells whether `take` may find something at this time. */
  hasWork(now: number): boolean {
    if (!this.isEnabled || this.running >= this.pace.jobs || isPaused(this.pausedUntil, now)) return false
    if (this.hasDueRetries(now)) return true
    return (
      !isPaused(this.pace.resumesAt, now) &&
      (this.nextWalk !== undefined || this.replay?.walk.mayTake === true || this.canBeginReplay(now))
    )
  }

  /** True if a walk has come so far that a commit should store only its place. */
  get needsCommit(): boolean {
    if ([...this.walks].some((walk) => walk.needsCommit)) return true
    return this.replay?.walk.isComplete === true || this.replay?.walk.needsCommit === true
  }

  /**
   * Returns the next delivery. Null means that this step, which reads two pages at most, found none. Call it again only
   * when the call before has ended: what it reads belongs to this call alone.
   */
  async take(reads: LaneReads, now: number): Promise<Task | null> {
    if (isPaused(this.pausedUntil, now)) return null
    const delivery = await this.takeRetry(reads.read, now)
    if (delivery !== null) return { kind: 'retry', delivery }
    if (isPaused(this.pace.resumesAt, now)) return null
    const walked = await this.takeNew(reads)
    if (walked !== 'none') return walked
    await this.beginReplay(reads.read, now)
    return this.replay === null ? null : await this.takeFrom(this.replay.walk, this.replay.row, reads)
  }

  /** Takes back an attempt without a known outcome, so that it is made again. */
  giveBack(task: Task): void {
    if (task.kind === 'event') task.walk.giveBack(task)
    else this.closeRetry(task.delivery.id, task.delivery.next_attempt_at)
  }

  /** Closes a retry whose outcome is on disk. A null `nextAttemptAt` means that there is no further attempt. */
  closeRetry(id: string, nextAttemptAt: number | null): void {
    this.openRetries.delete(id)
    this.expectRetry(nextAttemptAt)
  }

  expectRetry(nextAttemptAt: number | null): void {
    if (nextAttemptAt !== null) this.nextDue = Math.min(this.nextDue, nextAttemptAt)
  }

  /** Ends the replay, which is complete and removed. */
  endReplay(): void {
    this.replay = null
    this.mayHaveReplay = true
  }

  private canBeginReplay(now: number): boolean {
    if (this.mayHaveLostReplay) return true
    return this.replay === null && this.mayHaveReplay && !isPaused(this.replayWaitsUntil, now)
  }

  private get nextWalk(): readonly [slot: number, walk: EventWalk] | undefined {
    for (const entry of this.walkOf) if (entry[1].mayTake) return entry
    return undefined
  }

  private hasDueRetries(now: number): boolean {
    return this.due.length > 0 || (this.nextDue <= now && this.openRetries.size === 0)
  }

  /** Reads a page when all retries of the one before are settled, so that none is taken twice. */
  private async takeRetry(read: Read, now: number): Promise<DueDelivery | null> {
    if (this.due.length === 0 && this.nextDue <= now && this.openRetries.size === 0) {
      await this.readDue(read, now)
    }
    const next = this.due.shift()
    if (next === undefined) return null
    this.openRetries.add(next.id)
    return next
  }

  private async readDue(read: Read, now: number): Promise<void> {
    const expected = this.nextDue
    // What others expect during the reads stays, since the reads may have come too early for it.
    this.nextDue = Number.POSITIVE_INFINITY
    try {
      const waiting = { webhookId: this.ref.id, node: this.node }
      const due = await dueDeliveries(read, { ...waiting, now, limit: DUE_PAGE })
      this.expectRetry(due.length === DUE_PAGE ? now : await readNextDue(read, waiting, now))
      this.due = due
    } catch (error) {
      this.expectRetry(expected)
      throw error
    }
  }

  private async takeFrom(walk: EventWalk, replay: Replay | null, { read, events }: LaneReads): Promise<Task | null> {
    const isStored = (deliveryId: string): Promise<boolean> => isDeliveryStored(read, deliveryId, this.ref.id)
    const taken = await walk.take({ events, isStored })
    return taken === null ? null : { kind: 'event', walk, replay, ...taken }
  }

  /** `none` means that no walk has anything to take. */
  private async takeNew(reads: LaneReads): Promise<Task | null | 'none'> {
    const next = this.nextWalk
    if (next === undefined) return 'none'
    const [slot, walk] = next
    const walked = await this.takeFrom(walk, null, reads)
    // The webhook was enabled again during the read, and begins at a later event, or the slot is another node's.
    if (walk !== this.walkOf.get(slot)) return null
    this.walkOf.delete(slot)
    this.walkOf.set(slot, walk)
    return walked === null && this.nextWalk === undefined ? 'none' : walked
  }

  /** Each slot that the node serves has a walk. It begins anew where its cursor is ahead of it. */
  private updateWalks(cursors: Cursors): void {
    for (const slot of this.walkOf.keys()) if (!cursors.has(slot)) this.walkOf.delete(slot)
    for (const [slot, cursor] of cursors) {
      const walk = this.walkOf.get(slot)
      if (walk === undefined || cursor > walk.position) this.walkOf.set(slot, this.createWalk(slot, cursor))
    }
  }

  private createWalk(slot: number, cursor: number): EventWalk {
    const accepts = ({ type }: LoggedEvent): boolean => this.types.has(type)
    return new EventWalk({ ...this.ref, slot, cursor, end: null, idTime: null, accepts })
  }

  private async beginReplay(read: Read, now: number): Promise<void> {
    if (!this.canBeginReplay(now)) return
    // A change during the read sets them again.
    this.mayHaveReplay = false
    this.mayHaveLostReplay = false
    const work: NodeWork = { ...this.ref, node: this.node }
    const row = await findReplay(read, work).catch((error: unknown) => {
      this.mayHaveReplay = true
      this.mayHaveLostReplay = this.replay !== null
      throw error
    })
    if (row !== undefined && row.id === this.replay?.row.id) return
    this.replay = null
    if (row === undefined) return
    if ((await readLastSettled(read)) < row.last_seq) {
      this.mayHaveReplay = true
      this.replayWaitsUntil = now + SETTLE_PAUSE
      return
    }
    const types: ReadonlySet<string> = new Set(parseJson(row.types))
    const { format } = this.webhook
    const accepts = ({ type }: LoggedEvent): boolean => types.has(type) && isKnownType(format, type)
    const range = { id: row.id, cursor: row.next_seq - 1, end: row.last_seq, idTime: row.created_at, accepts }
    this.replay = { row, walk: new EventWalk({ workspaceId: this.ref.workspaceId, slot: null, ...range }) }
  }
}

/** The types that are delivered: those that the webhook subscribes to and its format can express. */
function typesOf({ events, format }: Webhook): ReadonlySet<string> {
  return new Set(parseJson(events).filter((type) => isKnownType(format, type)))
}
