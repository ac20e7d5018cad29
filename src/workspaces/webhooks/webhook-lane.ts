/**
 * The work of one webhook, oldest first: due retries, then new events, then the events of a replay.
 *
 * Known limit: memory holds the lane of each enabled webhook. A lane with nothing to do takes a kilobyte.
 */
import type { Read } from '../../base/storage/db/prepared.js'
import { parseJson } from '../../base/storage/tables/columns.js'
import { type DueDelivery, dueDeliveries, isDeliveryStored, readNextDue } from './delivery-records.js'
import { findReplay, type Replay } from './dispatch-records.js'
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

const DUE_PAGE = 50

export class WebhookLane {
  readonly ref: WebhookRef
  pace: EndpointPace
  /** Attempts that are under way or handed over. */
  running = 0
  failingSince: number | null
  isEnabled = true
  /** The lane takes nothing before that time. */
  pausedUntil = 0
  /** How often in a row attempts ended without a known outcome. Those that ended together count once. */
  losses = 0
  webhook: Webhook
  walk: EventWalk
  replay: { readonly row: Replay; readonly walk: EventWalk } | null = null
  private types: ReadonlySet<string>
  private mayHaveReplay = true
  private due: DueDelivery[] = []
  /** Retries whose outcome is not on disk. */
  private readonly openRetries = new Set<string>()
  private nextDue: number

  /** `nextDue`: when its first retry is due, as `readNextDue` found it. */
  constructor(webhook: Webhook, nextDue: number) {
    this.webhook = webhook
    this.ref = { workspaceId: webhook.workspace_id, id: webhook.id }
    this.failingSince = webhook.failing_since
    this.pace = startPace(webhook.failing_since !== null)
    this.types = typesOf(webhook)
    this.walk = this.createWalk(webhook.event_cursor)
    this.nextDue = nextDue
  }

  /** Takes over a change of the webhook. Attempts under way end as they began. */
  update(webhook: Webhook, nextDue: number): void {
    if (webhook.event_cursor > this.walk.position) this.walk = this.createWalk(webhook.event_cursor)
    if (webhook.url !== this.webhook.url || !this.isEnabled) this.pace = startPace(webhook.failing_since !== null)
    this.isEnabled = true
    this.webhook = webhook
    this.failingSince = webhook.failing_since
    this.types = typesOf(webhook)
    this.mayHaveReplay = true
    this.expectRetry(nextDue)
  }

  /** Says that there may be new events. */
  wake(): void {
    this.walk.wake()
  }

  /** Tells whether `take` may find something at this time. */
  hasWork(now: number): boolean {
    if (!this.isEnabled || this.running >= this.pace.jobs || isPaused(this.pausedUntil, now)) return false
    if (this.hasDueRetries(now)) return true
    return (
      !isPaused(this.pace.resumesAt, now) &&
      (this.walk.mayTake || this.replay?.walk.mayTake === true || this.canBeginReplay)
    )
  }

  /** True if a walk has come so far that a commit should store only its place. */
  get needsCommit(): boolean {
    return this.walk.needsCommit || this.replay?.walk.isComplete === true || this.replay?.walk.needsCommit === true
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
    const { walk } = this
    const walked = await this.takeFrom(walk, null, reads)
    // The webhook was enabled again during the read, and begins at a later event.
    if (walk !== this.walk) return null
    if (walked !== null || walk.mayTake) return walked
    await this.beginReplay(reads.read)
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

  private get canBeginReplay(): boolean {
    return this.replay === null && this.mayHaveReplay
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
      const due = await dueDeliveries(read, { webhookId: this.ref.id, now, limit: DUE_PAGE })
      this.expectRetry(due.length === DUE_PAGE ? now : await readNextDue(read, this.ref.id, now))
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

  private createWalk(cursor: number): EventWalk {
    const accepts = ({ type }: LoggedEvent): boolean => this.types.has(type)
    return new EventWalk({ ...this.ref, cursor, end: null, idTime: null, accepts })
  }

  private async beginReplay(read: Read): Promise<void> {
    if (!this.canBeginReplay) return
    // A change during the read sets it again.
    this.mayHaveReplay = false
    const row = await findReplay(read, this.ref).catch((error: unknown) => {
      this.mayHaveReplay = true
      throw error
    })
    if (row === undefined) return
    const types: ReadonlySet<string> = new Set(parseJson(row.types))
    const { format } = this.webhook
    const accepts = ({ type }: LoggedEvent): boolean => types.has(type) && isKnownType(format, type)
    const range = { id: row.id, cursor: row.next_seq - 1, end: row.last_seq, idTime: row.created_at, accepts }
    this.replay = { row, walk: new EventWalk({ workspaceId: this.ref.workspaceId, ...range }) }
  }
}

/** The types that are delivered: those that the webhook subscribes to and its format can express. */
function typesOf({ events, format }: Webhook): ReadonlySet<string> {
  return new Set(parseJson(events).filter((type) => isKnownType(format, type)))
}
