/**
 * How workspaces share a host: how many entries are under way to it, and how many sessions send.
 *
 * - A host has `maxSessions` slots, one for each session that sends. A workspace gets all but one, so
 *   that 50,000 messages to a slow host leave room for another workspace's single message. If a
 *   host has only one slot, any workspace may take it.
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
import { createLruCache } from '../../platform/lru-cache.js'

const MAX_DOMAINS = 10_000
const ENTRIES_PER_SLOT = 2

/** Waits for a slot of the host. Rejects with the signal's reason when that strikes first. */
export type AcquireSlot = (host: string, signal: AbortSignal) => Promise<ReleaseSlot>

/** To be called once. */
export type ReleaseSlot = () => void

interface Waiter {
  readonly workspaceId: string
  readonly serve: () => void
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
  private readonly hostByEntry = new Map<string, string>()
  /** Only hosts that are in use. */
  private readonly states = new Map<string, HostState>()
  private readonly probes = new Map<string, Probe>()

  constructor(private readonly maxSessions: number) {}

  /** The host of the domain, or the domain itself. */
  hostOf(domain: string): string {
    return this.hostByDomain.get(domain) ?? domain
  }

  setHost(domain: string, host: string): void {
    if (this.hostByDomain.get(domain) === host) return
    this.hostByDomain.set(domain, host)
  }

  mayStart(workspaceId: string, host: string): boolean {
    return !this.isProbed(host) && (this.states.get(host)?.entries.isFreeFor(workspaceId) ?? true)
  }

  /** The entry is under way to the host from now on. */
  start(entryId: string, workspaceId: string, host: string): void {
    this.hostByEntry.set(entryId, host)
    this.stateOf(host).entries.take(workspaceId)
  }

  /** Moves the entry to the host that was found. False: that host has no room, and the entry has been ended. */
  moveTo(entryId: string, workspaceId: string, host: string): boolean {
    if (this.hostByEntry.get(entryId) === host) return true
    this.end(entryId, workspaceId)
    if (!this.mayStart(workspaceId, host)) return false
    this.start(entryId, workspaceId, host)
    return true
  }

  /** The entry probes the host, unless another one does. */
  startProbe(host: string, entryId: string, isPending: () => boolean): boolean {
    if (this.isProbed(host)) return false
    this.probes.set(host, { entryId, isPending })
    return true
  }

  end(entryId: string, workspaceId: string): void {
    const host = this.hostByEntry.get(entryId)
    if (host === undefined) return
    this.hostByEntry.delete(entryId)
    if (this.probes.get(host)?.entryId === entryId) this.probes.delete(host)
    const state = this.stateOf(host)
    state.entries.release(workspaceId)
    this.removeIfUnused(host, state)
  }

  async acquireSlot(host: string, workspaceId: string, signal: AbortSignal): Promise<ReleaseSlot> {
    signal.throwIfAborted()
    const state = this.stateOf(host)
    if (state.slots.isFreeFor(workspaceId)) state.slots.take(workspaceId)
    else await waitForSlot(state, workspaceId, signal)
    return () => this.releaseSlot(host, state, workspaceId)
  }

  private releaseSlot(host: string, state: HostState, workspaceId: string): void {
    state.slots.release(workspaceId)
    for (const waiter of state.waiters) {
      if (state.slots.isFull) break
      if (state.slots.isFreeFor(waiter.workspaceId)) waiter.serve()
    }
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
    const entries = new Shares(this.maxSessions, ENTRIES_PER_SLOT)
    const fresh = { entries, slots: new Shares(this.maxSessions, 1), waiters: new Set<Waiter>() }
    this.states.set(host, fresh)
    return fresh
  }

  /** A host without a slot in use has no waiters. */
  private removeIfUnused(host: string, { entries, slots }: HostState): void {
    if (entries.total === 0 && slots.total === 0) this.states.delete(host)
  }
}

/** Counts what workspaces hold of `perSession` places for every session. One gets those of all sessions but one. */
class Shares {
  private readonly limit: number
  private readonly limitOfWorkspace: number
  private readonly byWorkspace = new Map<string, number>()
  private taken = 0

  constructor(maxSessions: number, perSession: number) {
    this.limit = maxSessions * perSession
    this.limitOfWorkspace = Math.max(1, (maxSessions - 1) * perSession)
  }

  get total(): number {
    return this.taken
  }

  get isFull(): boolean {
    return this.taken >= this.limit
  }

  isFreeFor(workspaceId: string): boolean {
    return !this.isFull && (this.byWorkspace.get(workspaceId) ?? 0) < this.limitOfWorkspace
  }

  take(workspaceId: string): void {
    this.taken += 1
    this.byWorkspace.set(workspaceId, (this.byWorkspace.get(workspaceId) ?? 0) + 1)
  }

  release(workspaceId: string): void {
    this.taken -= 1
    const left = (this.byWorkspace.get(workspaceId) ?? 1) - 1
    if (left > 0) this.byWorkspace.set(workspaceId, left)
    else this.byWorkspace.delete(workspaceId)
  }
}

function waitForSlot({ slots, waiters }: HostState, workspaceId: string, signal: AbortSignal): Promise<void> {
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
      workspaceId,
      serve: () => {
        leave()
        slots.take(workspaceId)
        resolve()
      },
    }
    waiters.add(waiter)
    signal.addEventListener('abort', onAbort, { once: true })
  })
}
