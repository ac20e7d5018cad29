/**
 * Shares a host among the owners of workspaces: how many entries are under way to it, and how many sessions send. A
 * *slot* is the right to one of the sessions that may send to a host at a time.
 *
 * - A host has `perHost` slots, one for each session that sends. An owner gets all but one, so
 *   that 50,000 messages to a slow host leave room for another owner's single message. If a
 *   host has only one slot, any owner may take it.
 * - Messages of broadcasts get three quarters of the slots, so that other mail of their own owner finds room too;
 *   and of those that wait for a slot, other mail comes first.
 * - Twice as many entries may be under way, by the same rule: while one message is sent, the next one is
 *   signed and leased. An entry counts for its first host until its attempt ends; otherwise entries
 *   would pile up at a slow fallback host.
 * - A slot is for the host that is dialled, and is taken when the message is in memory: an entry that
 *   waits for memory must not hold what those that use the memory wait for.
 *
 * A host is an MX name, shared by all domains of that MX; until it is known, a domain stands for its
 * host. A host that was unreachable is probed by one entry, and no other starts for it meanwhile.
 * Limit: the hosts of 10,000 domains are remembered.
 */
import { setMaxListeners } from 'node:events'
import { createLruCache } from '../../../base/platform/lru-cache.js'
import type { PaceControl } from '../shaping/pace-control.js'
import type { Block } from './lane-round.js'

const MAX_DOMAINS = 10_000
const ENTRIES_PER_SLOT = 2

interface HostLimits {
  /** Sessions that send to one host at a time. A reload may change it: waiters notice with the next slot that is freed. */
  readonly perHost: number
}

/** To be called once. */
export type ReleaseSlot = () => void

/** The pace of a host that has a provider. */
export type FindPace = (host: string) => PaceControl | undefined

/** Who takes a place. */
export interface Taker {
  readonly ownerId: string
  /** The message belongs to a broadcast. */
  readonly isBulk: boolean
}

interface Waiter {
  readonly taker: Taker
  readonly serve: () => void
}

/** The host to which an entry is under way. */
interface EntryPlace {
  readonly host: string
  readonly taker: Taker
  readonly pace: PaceControl | undefined
}

interface HostState {
  readonly entries: Shares
  readonly slots: Shares
  /** In order of arrival. Invariant: none of them could be served. */
  readonly waiters: Set<Waiter>
}

/** While `isPending`, nothing is known about the host yet. */
interface Probe {
  readonly entryId: string
  readonly isPending: () => boolean
}

export class HostConcurrency {
  private readonly hostByDomain = createLruCache<string>({ max: MAX_DOMAINS })
  private readonly placeByEntry = new Map<string, EntryPlace>()
  /** Only hosts that are in use. */
  private readonly states = new Map<string, HostState>()
  private readonly probes = new Map<string, Probe>()

  constructor(
    private readonly limits: () => HostLimits,
    private readonly findPace: FindPace = () => undefined,
  ) {}

  /** The host of the domain, or the domain itself. */
  hostOf(domain: string): string {
    return this.hostByDomain.get(domain) ?? domain
  }

  setHost(domain: string, host: string): void {
    if (this.hostByDomain.get(domain) === host) return
    this.hostByDomain.set(domain, host)
  }

  mayStart(taker: Taker, host: string): boolean {
    return this.findBlock(taker, host) === null
  }

  /** What keeps an entry from being started; null: nothing. */
  findBlock(taker: Taker, host: string): Block | null {
    const pace = this.findPace(host)
    if (pace?.mayStart() === false) return { key: pace, isOver: () => pace.mayStart() || this.findPace(host) !== pace }
    if (!this.isProbed(host) && (this.states.get(host)?.entries.isFreeFor(taker) ?? true)) return null
    return { key: `${host} ${taker.isBulk}`, isOver: () => this.mayStart(taker, host) }
  }

  /** The entry is under way to the host from now on. */
  start(entryId: string, taker: Taker, host: string): void {
    const pace = this.findPace(host)
    pace?.startEntry()
    this.placeByEntry.set(entryId, { host, taker, pace })
    this.stateOf(host).entries.take(taker)
  }

  /** Moves the entry to the host that was found. False: that host has no room, and the entry has been ended. */
  moveTo(entryId: string, taker: Taker, host: string): boolean {
    if (this.placeByEntry.get(entryId)?.host === host) return true
    this.end(entryId)
    if (!this.mayStart(taker, host)) return false
    this.start(entryId, taker, host)
    return true
  }

  /** The entry probes the host, unless another one does. */
  startProbe(host: string, entryId: string, isPending: () => boolean): boolean {
    if (this.isProbed(host)) return false
    this.probes.set(host, { entryId, isPending })
    return true
  }

  end(entryId: string): void {
    const place = this.placeByEntry.get(entryId)
    if (place === undefined) return
    const { host, taker, pace } = place
    this.placeByEntry.delete(entryId)
    pace?.endEntry()
    if (this.probes.get(host)?.entryId === entryId) this.probes.delete(host)
    const state = this.stateOf(host)
    state.entries.release(taker)
    this.removeIfUnused(host, state)
  }

  /** Waits for a slot of the host. Rejects with the signal's reason when that strikes first. */
  async acquireSlot(host: string, taker: Taker, signal: AbortSignal): Promise<ReleaseSlot> {
    signal.throwIfAborted()
    const state = this.stateOf(host)
    if (state.slots.isFreeFor(taker)) state.slots.take(taker)
    else await waitForSlot(state, taker, signal)
    return () => this.releaseSlot(host, state, taker)
  }

  private releaseSlot(host: string, state: HostState, taker: Taker): void {
    state.slots.release(taker)
    for (const isBulk of [false, true]) serveWaiters(state, isBulk)
    this.removeIfUnused(host, state)
  }

  private isProbed(host: string): boolean {
    const probe = this.probes.get(host)
    if (probe === undefined) return false
    if (!probe.isPending()) this.probes.delete(host)
    return this.probes.has(host)
  }

  private stateOf(host: string): HostState {
    const known = this.states.get(host)
    if (known !== undefined) return known
    const entries = new Shares(this.limits, ENTRIES_PER_SLOT)
    const fresh = { entries, slots: new Shares(this.limits, 1), waiters: new Set<Waiter>() }
    this.states.set(host, fresh)
    return fresh
  }

  /** A host without a slot in use has no waiters. */
  private removeIfUnused(host: string, { entries, slots }: HostState): void {
    if (entries.total === 0 && slots.total === 0) this.states.delete(host)
  }
}

/**
 * Counts what owners hold of `perSession` places for every session. One gets those of all sessions but one;
 * broadcasts together get those of three quarters.
 */
class Shares {
  private readonly byOwner = new Map<string, number>()
  private taken = 0
  private takenByBulk = 0

  constructor(
    private readonly limits: () => HostLimits,
    private readonly perSession: number,
  ) {}

  get total(): number {
    return this.taken
  }

  get isFull(): boolean {
    return this.taken >= this.limits().perHost * this.perSession
  }

  isFreeFor({ ownerId, isBulk }: Taker): boolean {
    const { perHost } = this.limits()
    const limitOfBulk = Math.max(1, Math.floor((perHost * 3) / 4) * this.perSession)
    if (this.isFull || (isBulk && this.takenByBulk >= limitOfBulk)) return false
    const limitOfOwner = Math.max(1, (perHost - 1) * this.perSession)
    return (this.byOwner.get(ownerId) ?? 0) < limitOfOwner
  }

  take({ ownerId, isBulk }: Taker): void {
    this.taken += 1
    if (isBulk) this.takenByBulk += 1
    this.byOwner.set(ownerId, (this.byOwner.get(ownerId) ?? 0) + 1)
  }

  release({ ownerId, isBulk }: Taker): void {
    this.taken -= 1
    if (isBulk) this.takenByBulk -= 1
    const left = (this.byOwner.get(ownerId) ?? 1) - 1
    if (left > 0) this.byOwner.set(ownerId, left)
    else this.byOwner.delete(ownerId)
  }
}

/** Of one kind, in order of arrival. */
function serveWaiters({ slots, waiters }: HostState, isBulk: boolean): void {
  for (const waiter of waiters) {
    if (slots.isFull) return
    if (waiter.taker.isBulk === isBulk && slots.isFreeFor(waiter.taker)) waiter.serve()
  }
}

function waitForSlot({ slots, waiters }: HostState, taker: Taker, signal: AbortSignal): Promise<void> {
  // One signal stops hundreds of waiters: that many listeners are no leak.
  setMaxListeners(0, signal)
  return new Promise((resolve, reject) => {
    const leave = (): void => {
      waiters.delete(waiter)
      signal.removeEventListener('abort', onAbort)
    }
    const onAbort = (): void => {
      leave()
      reject(signal.reason)
    }
    const waiter: Waiter = {
      taker,
      serve: () => {
        leave()
        slots.take(taker)
        resolve()
      },
    }
    waiters.add(waiter)
    signal.addEventListener('abort', onAbort, { once: true })
  })
}
