/**
 * Whose turn it is: round the workspaces, and within one round its webhooks.
 *
 * A workspace may hold three times as many slots as are free: one alone 192 of 256, two 109 each, ten 24 each. So slots
 * are left for the next workspace, however many others have slow endpoints. Endpoints that fail have a limit of their own.
 */
import { MAX_REQUESTS } from './request-protocol.js'
import type { WebhookLane } from './webhook-lane.js'

/** Slots that a workspace may hold for each that is free. */
const WORKSPACE_SHARE = 3
const MAX_FAILING = 64

export class FairTurns {
  running = 0
  private failing = 0
  private readonly byWorkspace = new Map<string, number>()
  /** Lanes that may have work, by workspace; the first is next. */
  private readonly ready = new Map<string, Set<WebhookLane>>()
  /** Lanes that wait until an attempt of their kind has ended. */
  private readonly held = new Set<WebhookLane>()

  get hasTurn(): boolean {
    return this.ready.size > 0 && this.running < MAX_REQUESTS
  }

  add(lane: WebhookLane): void {
    const { workspaceId } = lane.ref
    const lanes = this.ready.get(workspaceId)
    if (lanes === undefined) this.ready.set(workspaceId, new Set([lane]))
    else lanes.add(lane)
  }

  /** The lane whose turn it is; it goes to the end. Null: those at the front have to wait. */
  next(): WebhookLane | null {
    const [first] = this.ready
    const lane = first?.[1].values().next().value
    if (first === undefined || lane === undefined) return null
    const [workspaceId, lanes] = first
    this.ready.delete(workspaceId)
    this.ready.set(workspaceId, lanes)
    lanes.delete(lane)
    lanes.add(lane)
    if (this.hasSlot(lane)) return lane
    this.remove(lane)
    this.held.add(lane)
    return null
  }

  remove(lane: WebhookLane): void {
    this.held.delete(lane)
    const lanes = this.ready.get(lane.ref.workspaceId)
    lanes?.delete(lane)
    if (lanes?.size === 0) this.ready.delete(lane.ref.workspaceId)
  }

  /** Returns what is to be called when the attempt has ended. */
  begin(lane: WebhookLane): () => void {
    const isFailing = lane.pace.failures > 0
    this.count(lane, 1, isFailing)
    return () => {
      this.count(lane, -1, isFailing)
      this.releaseHeld()
    }
  }

  private hasSlot({ ref, pace }: WebhookLane): boolean {
    const ofWorkspace = this.byWorkspace.get(ref.workspaceId) ?? 0
    return (
      ofWorkspace < WORKSPACE_SHARE * (MAX_REQUESTS - this.running) &&
      (pace.failures === 0 || this.failing < MAX_FAILING)
    )
  }

  private count(lane: WebhookLane, change: 1 | -1, isFailing: boolean): void {
    const { workspaceId } = lane.ref
    const ofWorkspace = (this.byWorkspace.get(workspaceId) ?? 0) + change
    if (ofWorkspace === 0) this.byWorkspace.delete(workspaceId)
    else this.byWorkspace.set(workspaceId, ofWorkspace)
    this.running += change
    lane.running += change
    if (isFailing) this.failing += change
  }

  /** One attempt has ended, so one that waits may begin; which of them has a slot is seen at its turn. */
  private releaseHeld(): void {
    let tries = 0
    for (const lane of this.held) {
      if (tries === MAX_TRIES) return
      tries += 1
      if (!this.hasSlot(lane)) continue
      this.held.delete(lane)
      this.add(lane)
      return
    }
  }
}

const MAX_TRIES = 100
