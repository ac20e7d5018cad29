/**
 * The lanes of all enabled webhooks, with the work of this node (`NodeState`). The registry keeps them equal to the database, and finds which of them have new
 * events. After a fault of the database, it reads again what it could not read.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Log } from '../../base/platform/log.js'
import { readNewestInSlot } from '../../base/storage/db/event-slots.js'
import type { NodeState } from '../../base/storage/db/node-state.js'
import type { Read } from '../../base/storage/db/prepared.js'
import { readNextDue } from './delivery-records.js'
import { findEnabledWebhook, readCursors, readEnabledWebhooks } from './dispatch-records.js'
import { type EventPages, newEvents, SCAN_SIZE } from './event-pages.js'
import { WebhookLane } from './webhook-lane.js'
import type { Webhook, WebhookRef } from './webhook-records.js'

export interface LaneEvents {
  /** It is called when a lane is new or has changed. */
  readonly onAdded: (lane: WebhookLane) => void
  readonly onRemoved: (lane: WebhookLane) => void
}

interface RegistryDeps {
  readonly read: Read
  readonly node: Pick<NodeState, 'name' | 'slots'>
  readonly pages: Pick<EventPages, 'forget'>
  readonly log: Pick<Log, 'error'>
}

/** Pages of new events that one poll reads in a slot. The next poll reads further. */
const MAX_SCANS = 4
/** Milliseconds from a fault of the database to the next try. */
const RETRY_DELAY = 1_000

export class LaneRegistry {
  private readonly byId = new Map<string, WebhookLane>()
  private readonly byWorkspace = new Map<string, Set<WebhookLane>>()
  /** The newest event that the registry has seen in each slot that the node serves. */
  private readonly seen = new Map<number, number>()
  private reloading: Promise<void> | null = null
  private reloadNeeded = false
  private retryTimer: NodeJS.Timeout | null = null
  private isFailing = false
  private isStopped = false
  /**
   * Webhooks are read and put in turns, or an earlier row could replace a later one. It resolves when the last turn has
   * ended.
   */
  private lastTurn: Promise<unknown> = Promise.resolve()
  /** Workspaces that were closed since the turn under way began. What it has read of them is out of date. */
  private readonly closed = new Set<string>()

  constructor(
    private readonly deps: RegistryDeps,
    private readonly events: LaneEvents,
  ) {}

  get size(): number {
    return this.byId.size
  }

  lanes(): Iterable<WebhookLane> {
    return this.byId.values()
  }

  /** Resolves when nothing reads any more. */
  async stop(): Promise<void> {
    this.isStopped = true
    if (this.retryTimer !== null) clearTimeout(this.retryTimer)
    await this.reloading
    await this.lastTurn
  }

  /** Reads one webhook again. It never rejects. */
  async refresh(ref: WebhookRef): Promise<void> {
    try {
      await this.inTurn(async () => {
        const webhook = await findEnabledWebhook(this.deps.read, ref)
        if (webhook === undefined) this.disable(this.byId.get(ref.id))
        else await this.put(webhook)
      })
    } catch (err) {
      this.retryLater(err)
    }
  }

  /** Reads all webhooks again, in steps. */
  reload(): Promise<void> {
    if (this.reloading !== null) this.reloadNeeded = true
    this.reloading ??= this.reloadAll().finally(() => {
      this.reloading = null
      if (!this.reloadNeeded || this.isStopped) return
      this.reloadNeeded = false
      void this.reload()
    })
    return this.reloading
  }

  closeWorkspace(workspaceId: string): void {
    this.closed.add(workspaceId)
    for (const lane of [...(this.byWorkspace.get(workspaceId) ?? [])]) this.disable(lane)
  }

  /**
   * Wakes the lanes whose workspaces have new events. Before, it forgets pages that were read without them: a lane that
   * took such a page after it was woken would sleep again.
   */
  async noticeEvents(): Promise<void> {
    const workspaces = new Set<string>()
    await Promise.all([...this.seen].map(([slot, seen]) => this.noticeSlot(slot, seen, workspaces)))
    this.deps.pages.forget()
    for (const id of workspaces) for (const lane of this.byWorkspace.get(id) ?? []) lane.wake()
  }

  private async noticeSlot(slot: number, from: number, workspaces: Set<string>): Promise<void> {
    let seen = from
    for (let scans = 0; scans < MAX_SCANS; scans += 1) {
      const page = await newEvents(this.deps.read, { slot, seq: seen })
      for (const { workspace_id: workspaceId } of page) workspaces.add(workspaceId)
      seen = page.at(-1)?.seq ?? seen
      if (page.length < SCAN_SIZE) break
    }
    const present = this.seen.get(slot)
    if (present !== undefined) this.seen.set(slot, Math.max(present, seen))
  }

  /**
   * Drops a lane without attempts. A disabled lane stays until its attempts have ended, in case the webhook is
   * enabled again.
   */
  dropIfIdle(lane: WebhookLane): void {
    if (lane.isEnabled || lane.running > 0 || this.byId.get(lane.ref.id) !== lane) return
    this.byId.delete(lane.ref.id)
    const { workspaceId } = lane.ref
    const lanes = this.byWorkspace.get(workspaceId)
    lanes?.delete(lane)
    if (lanes?.size === 0) this.byWorkspace.delete(workspaceId)
  }

  private async reloadAll(): Promise<void> {
    const unseen = new Set(this.byId.keys())
    try {
      const pages = readEnabledWebhooks(this.deps.read)
      while (await this.inTurn(() => this.putPage(pages, unseen))) await nextTurn()
      for (const id of unseen) {
        const lane = this.byId.get(id)
        if (lane !== undefined && !this.isStopped) await this.refresh(lane.ref)
      }
      if (this.retryTimer === null) this.isFailing = false
    } catch (err) {
      this.retryLater(err)
    }
  }

  /** Resolves to whether there may be another page. */
  private async putPage(pages: AsyncGenerator<readonly Webhook[], void>, unseen: Set<string>): Promise<boolean> {
    if (this.isStopped) return false
    const page = await pages.next()
    if (page.done === true) return false
    for (const webhook of page.value) {
      unseen.delete(webhook.id)
      await this.put(webhook)
    }
    return true
  }

  private inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const turn = this.lastTurn.then(() => {
      this.closed.clear()
      return work()
    })
    this.lastTurn = turn.catch(() => undefined)
    return turn
  }

  /** Logs a fault once, until everything is read again. */
  private retryLater(err: unknown): void {
    if (this.isStopped) return
    if (!this.isFailing) this.deps.log.error({ err }, 'webhooks cannot be read now')
    this.isFailing = true
    this.retryTimer ??= setTimeout(() => {
      this.retryTimer = null
      void this.reload()
    }, RETRY_DELAY)
  }

  private async put(webhook: Webhook): Promise<void> {
    const { read, node } = this.deps
    const slots = node.slots()
    await this.seeSlots(slots)
    const nextDue = await readNextDue(read, { webhookId: webhook.id, node: node.name })
    const state = { cursors: await readCursors(read, webhook, slots), nextDue }
    if (this.isStopped || this.closed.has(webhook.workspace_id)) return
    let lane = this.byId.get(webhook.id)
    if (lane === undefined) {
      lane = new WebhookLane(webhook, node.name, state)
      this.byId.set(webhook.id, lane)
      const lanes = this.byWorkspace.get(webhook.workspace_id) ?? new Set()
      this.byWorkspace.set(webhook.workspace_id, lanes.add(lane))
    } else lane.update(webhook, state)
    this.events.onAdded(lane)
  }

  /**
   * Begins at the end of slots that are new. Lanes begin at their own cursors, so they find earlier events without a scan.
   * While there is no lane, nothing is noticed, so all slots begin anew with the first one.
   */
  private async seeSlots(slots: readonly number[]): Promise<void> {
    for (const slot of this.seen.keys()) if (!slots.includes(slot)) this.seen.delete(slot)
    for (const slot of slots) {
      if (this.byId.size > 0 && this.seen.has(slot)) continue
      const newest = await readNewestInSlot(this.deps.read, slot)
      this.seen.set(slot, Math.max(newest, this.seen.get(slot) ?? 0))
    }
  }

  private disable(lane: WebhookLane | undefined): void {
    if (lane === undefined) return
    lane.isEnabled = false
    this.events.onRemoved(lane)
    this.dropIfIdle(lane)
  }
}
