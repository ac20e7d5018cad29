/**
 * The leases of this process: attempts that are counted on disk before they are made. A *lease* is the
 * `next_attempt_at` of an entry, set to the future while the entry is attempted. It ends by itself when the process
 * dies.
 *
 * A separate commit leases an entry. If the attempt can begin at once, the commit that accepts the message leases the
 * entry instead, which saves a third of the commits of a message. That lease is the *claim* of the first attempt, and
 * is valid for five seconds. An entry whose turn comes later is leased again, which detects that it was held or removed
 * since, or that another node has taken it over.
 *
 * Known limit: an entry that is held while its claim is valid is sent nevertheless.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '../../../base/platform/clock.js'
import type { Log } from '../../../base/platform/log.js'
import { type Commit, StorageFault, type Write, WriteConflict } from '../../../base/storage/db/write.js'
import type { EnqueuedEmail } from '../../../records/messages/queue/enqueue.js'
import { leaseEntry, postponeLease, type QueueEntry, releaseLease } from '../../../records/messages/queue/queue.js'

/** Milliseconds of a lease: longer than an attempt with its waits. `leased` detects a crash, not this time. */
const LEASE_TIME = 60 * 60_000
const CLAIM_TIME = 5_000
const RETRY_DELAY = 1_000

/** Counts the first attempt of a message in the commit that accepts the message. */
export interface Claim {
  readonly at: number
  /** The entry is inserted with a lease until this moment (`writesWithLease`). */
  readonly until: number
}

interface LeasesDeps {
  /** The name of this node. */
  readonly node: string
  readonly commit: Commit
  readonly clock: Clock
  readonly log: Log
}

export class Leases {
  /** The entries without an outcome, with the time of a claim that was not used, else null. */
  private readonly leasedEntries = new Map<string, number | null>()

  constructor(private readonly deps: LeasesDeps) {}

  claim(): Claim {
    const at = this.deps.clock()
    return { at, until: at + LEASE_TIME }
  }

  /** Notes that the commit with the claim is on disk. */
  confirmClaim({ entries }: EnqueuedEmail, { at }: Claim): void {
    for (const { id } of entries) this.leasedEntries.set(id, at)
  }

  /**
   * Counts the attempt that begins now. Resolves to `written` if `writes` were written with it, to `claimed` if it was
   * counted before and `writes` are still to be written, and to `changed` if the entry was changed after it was read.
   */
  async take(entry: QueueEntry, at: number, writes: readonly Write[]): Promise<'written' | 'claimed' | 'changed'> {
    const claimedAt = this.leasedEntries.get(entry.id) ?? null
    if (claimedAt !== null && Math.abs(at - claimedAt) < CLAIM_TIME) {
      this.leasedEntries.set(entry.id, null)
      return 'claimed'
    }
    const { id, attempts, next_attempt_at: dueAt } = entry
    const { node } = this.deps
    const unclaim = claimedAt === null ? [] : [releaseLease({ id, node, at: dueAt })]
    try {
      await this.deps.commit([...unclaim, leaseEntry({ id, node, attempts, dueAt, until: at + LEASE_TIME }), ...writes])
      this.leasedEntries.set(id, null)
      return 'written'
    } catch (error) {
      if (error instanceof WriteConflict) return 'changed'
      throw error
    }
  }

  /** Postpones the entry until `until` at least. No attempt is counted, because no host was called. */
  async postpone({ id }: QueueEntry, until: number, waitsFor: string): Promise<void> {
    await this.deps.commit([postponeLease({ id, node: this.deps.node, until, waitsFor })])
    this.leasedEntries.delete(id)
  }

  /**
   * Gives back the claims whose attempts have not begun, or those that cannot be given back now when their turn comes. It
   * never rejects.
   */
  async releaseClaims(): Promise<void> {
    const { node, commit, clock, log } = this.deps
    const at = clock()
    const claims = [...this.leasedEntries].filter(([, claimedAt]) => claimedAt !== null)
    if (claims.length === 0) return
    for (const [id] of claims) this.leasedEntries.delete(id)
    try {
      await commit(claims.map(([id]) => releaseLease({ id, node, at })))
    } catch (err) {
      for (const [id, claimedAt] of claims) this.leasedEntries.set(id, claimedAt)
      log.error({ err, leases: claims.length }, 'leases could not be released; the next start releases them')
    }
  }

  has(id: string): boolean {
    return this.leasedEntries.has(id)
  }

  /** Forgets the lease, because the outcome is being written. */
  forget(id: string): void {
    this.leasedEntries.delete(id)
  }

  /** Makes the entry due again, because nothing was sent. After the signal has aborted, `releaseAll` does that. */
  async release({ id, next_attempt_at: at }: QueueEntry, signal: AbortSignal): Promise<void> {
    while (this.leasedEntries.has(id) && !signal.aborted) {
      try {
        await this.deps.commit([releaseLease({ id, node: this.deps.node, at })])
        this.leasedEntries.delete(id)
      } catch (error) {
        if (!(error instanceof StorageFault)) throw error
        await sleep(RETRY_DELAY, undefined, { signal }).catch(() => undefined)
      }
    }
  }

  /** Releases all leases at the end of the process. */
  async releaseAll(): Promise<void> {
    const { node, clock } = this.deps
    const at = clock()
    const left = [...this.leasedEntries.keys()].map((id) => releaseLease({ id, node, at }))
    if (left.length === 0) return
    await this.deps.commit(left).catch((error: unknown) => {
      this.deps.log.error(
        { err: error, leases: left.length },
        'leases could not be released; the next start releases them',
      )
    })
  }
}
