/**
 * Shares a host among the owners of workspaces: how many entries are under way to it, and how many sessions send. A
 * *slot* is the right to one of the sessions that may send to a host at a time.
 *
 * - A host has `perHost` slots, one for each session that sends. An owner gets all but one, so that 50,000 messages to
 *   a slow host leave room for another owner's single message. If a host has only one slot, any owner may take it.
 * - Messages of broadcasts get three quarters of the slots, so that other mail of the same owner finds room too. Among
 *   the messages that wait for a slot, other mail comes first.
 * - Twice as many entries as slots may be under way, by the same rule: while one message is sent, the next one is
 *   signed and leased. An entry counts for its first host until its attempt ends; otherwise entries would pile up at a
 *   slow fallback host.
 * - An attempt takes the slot of the host that it dials, after its message is in memory: an entry that waits for memory
 *   must not hold a slot for which the entries that use the memory wait.
 *
 * A host is an MX name, shared by all domains of that MX. Until the host is known, the domain stands for it. A host
 * that was unreachable is probed by one entry, and no other entry starts for it during the probe. Limit: the hosts of
 * 10,000 domains are remembered.
 */
import { setMaxListeners } from 'node:events'
import { createLruCache } from '../../../base/platform/lru-cache.js'
import type { PaceControl } from '../shaping/pace-control.js'
import type { Block } from './lane-round.js'

const MAX_DOMAINS = 10_000
const ENTRIES_PER_SLOT = 2

interface HostLimits {
  /** The most sessions that send to one host at a time. A reload may change it; waiters notice at the next slot. */
  readonly perHost: number
}

/** Frees the slot. Call it once. */
export type ReleaseSlot = () => void

/** Finds the pace of a host that has a provider. */
export type FindPace = (host: string) => PaceControl | undefined

/** The taker of a place. */
export interface Taker {
  readonly ownerId: string
  /** True if the message belongs to a broadcast. */
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
  /** The waiters in order of arrival. Invariant: none of them could be served. */
  readonly waiters: Set<Waiter>
}

/** The probe of a host. While `isPending` returns true, nothing is known about the host yet. */
interface Probe {
  readonly entryId: string
  readonly isPending: () => boolean
}

export class HostConcurrency {
  private readonly hostByDomain = createLruCache<string>({ max: MAX_DOMAINS })
  private readonly placeByEntry = new Map<string, EntryPlace>()
  /** The states of hosts that are in use. */
  private readonly states = new Map<string, HostState>()
  private readonly probes = new Map<string, Probe>()

  constructor(
    private readonly limits: () => HostLimits,
    private readonly findPace: FindPace = () => undefined,
  ) {}

  /** Returns the host of the domain, or the domain if its host is not known. */
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

  /** Returns what keeps an entry from being started, or null if nothing does. */
  findBlock(taker: Taker, host: string): Block | null {
    const pace = this.findPace(host)
    if (pace?.mayStart() === false) return { key: pace, isOver: () => pace.mayStart() || this.findPace(host) !== pace }
    if (!this.isProbed(host) && (this.states.get(host)?.entries.isFreeFor(taker) ?? true)) return null
    return { key: `${host} ${taker.isBulk}`, isOver: () => this.mayStart(taker, host) }
  }

  /** Counts the entry as under way to the host. */
  start(entryId: string, taker: Taker, host: string): void {
    const pace = this.findPace(host)
    pace?.startEntry()
    this.placeByEntry.set(entryId, { host, taker, pace })
    this.stateOf(host).entries.take(taker)
  }

  /** Moves the entry to the host that was found. Returns false if that host has no room; the entry has ended then. */
  moveTo(entryId: string, taker: Taker, host: string): boolean {
    if (this.placeByEntry.get(entryId)?.host === host) return true
    this.end(entryId)
    if (!this.mayStart(taker, host)) return false
    this.start(entryId, taker, host)
    return true
  }

  /** Makes the entry probe the host, unless another one does. */
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

  /** Waits for a slot of the host. Rejects with the signal's reason if the signal aborts first. */
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
 * Counts how much of `perSession` places for every session each owner holds. One owner gets the places of all sessions
 * but one; broadcasts together get those of three quarters of the sessions.
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

/** Serves the waiters of one kind in order of arrival. */
function serveWaiters({ slots, waiters }: HostState, isBulk: boolean): void {
  for (const waiter of waiters) {
    if (slots.isFull) return
    if (waiter.taker.isBulk === isBulk && slots.isFreeFor(waiter.taker)) waiter.serve()
  }
}

function waitForSlot({ slots, waiters }: HostState, taker: Taker, signal: AbortSignal): Promise<void> {
  // One signal stops hundreds of waiters, so many listeners are no leak.
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
