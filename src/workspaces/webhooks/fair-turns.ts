/**
 * Decides which webhook has its turn. Turns go round the owners of workspaces, and within an owner round the
 * webhooks of all of their workspaces.
 *
 * An owner may hold three times as many slots as are free: a single owner 192 of 256, two owners 109 each, ten
 * owners 24 each. So slots remain for the next owner, however many others have slow endpoints. Endpoints that fail
 * have a separate limit.
 */
import { MAX_REQUESTS } from './request-protocol.js'
import type { WebhookLane } from './webhook-lane.js'

/** Slots that an owner may hold for each that is free. */
const OWNER_SHARE = 3
const MAX_FAILING = 64

export class FairTurns {
  running = 0
  private failing = 0
  private readonly byOwner = new Map<string, number>()
  /** Lanes that may have work, by owner. The first is next. */
  private readonly ready = new Map<string, Set<WebhookLane>>()
  /** The owner under which a lane is in `ready`. A transfer does not change it. */
  private readonly placed = new Map<WebhookLane, string>()
  /** Lanes that wait until an attempt of their kind has ended. */
  private readonly held = new Set<WebhookLane>()

  /** By default, each workspace counts alone. */
  constructor(private readonly ownerOf: (workspaceId: string) => string = (workspaceId) => workspaceId) {}

  get hasTurn(): boolean {
    return this.ready.size > 0 && this.running < MAX_REQUESTS
  }

  add(lane: WebhookLane): void {
    const owner = this.placed.get(lane) ?? this.ownerOf(lane.ref.workspaceId)
    const lanes = this.ready.get(owner)
    if (lanes === undefined) this.ready.set(owner, new Set([lane]))
    else lanes.add(lane)
    this.placed.set(lane, owner)
  }

  /** Returns the lane that has its turn, and moves it to the end. Null means that those at the front have to wait. */
  next(): WebhookLane | null {
    const [first] = this.ready
    const lane = first?.[1].values().next().value
    if (first === undefined || lane === undefined) return null
    const [owner, lanes] = first
    this.ready.delete(owner)
    this.ready.set(owner, lanes)
    lanes.delete(lane)
    lanes.add(lane)
    if (this.hasSlot(lane)) return lane
    this.remove(lane)
    this.held.add(lane)
    return null
  }

  remove(lane: WebhookLane): void {
    this.held.delete(lane)
    const owner = this.placed.get(lane)
    if (owner === undefined) return
    this.placed.delete(lane)
    const lanes = this.ready.get(owner)
    lanes?.delete(lane)
    if (lanes?.size === 0) this.ready.delete(owner)
  }

  /** Begins an attempt. Call the function that it returns when the attempt has ended. */
  begin(lane: WebhookLane): () => void {
    const isFailing = lane.pace.failures > 0
    const owner = this.ownerOf(lane.ref.workspaceId)
    this.count(lane, owner, 1, isFailing)
    return () => {
      this.count(lane, owner, -1, isFailing)
      this.releaseHeld()
    }
  }

  private hasSlot({ ref, pace }: WebhookLane): boolean {
    const ofOwner = this.byOwner.get(this.ownerOf(ref.workspaceId)) ?? 0
    return ofOwner < OWNER_SHARE * (MAX_REQUESTS - this.running) && (pace.failures === 0 || this.failing < MAX_FAILING)
  }

  private count(lane: WebhookLane, owner: string, change: 1 | -1, isFailing: boolean): void {
    const ofOwner = (this.byOwner.get(owner) ?? 0) + change
    if (ofOwner === 0) this.byOwner.delete(owner)
    else this.byOwner.set(owner, ofOwner)
    this.running += change
    lane.running += change
    if (isFailing) this.failing += change
  }

  /** Lets a waiting lane begin after an attempt has ended. `next` finds out which of them has a slot. */
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
