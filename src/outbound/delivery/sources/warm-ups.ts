/**
 * Counts what new source addresses and domains send to each provider, and says when the cap of the day is reached.
 *
 * A transaction is claimed before it begins. The counts are in memory and written later. A claim waits for the disk
 * only when it exceeds what is reserved there, at most once for each tenth of a cap. After a crash all that was
 * reserved counts as sent, so the cap is never exceeded, and less than a tenth of it is lost.
 *
 * Limit: memory holds 10,000 subjects and providers. One that comes back after it left counts what it had reserved.
 */

import type { Clock } from '../../../base/platform/clock.js'
import type { Log } from '../../../base/platform/log.js'
import { createLruCache } from '../../../base/platform/lru-cache.js'
import { dayOf } from '../../../base/platform/time-units.js'
import type { Store } from '../../../base/storage/db/database.js'
import { takeTurn } from '../../../base/storage/db/write.js'
import { describeWarmUp } from '../../../records/messages/queue/waits-for.js'
import type { Outage } from '../shaping/unreachable-hosts.js'
import { capOf, endOfDay, toDay, type WarmUpPlan, type WarmUpProgress } from './warm-up-plan.js'
import { EVERY_PROVIDER, storeWarmUp, type WarmUpKey, type WarmUpRow, warmUpByKey } from './warm-up-store.js'

const MAX_COUNTED = 10_000
/** Milliseconds until changed counts are written. */
const WRITE_AFTER = 5_000
/** The most rows in one commit. */
const PORTION_SIZE = 500
/** The share of a cap that is reserved on disk at a time. */
const RESERVED_SHARE = 0.1

interface WarmUpsDeps extends Store {
  readonly clock: Clock
  readonly log: Log
  readonly readPlan: () => WarmUpPlan
}

interface Counted {
  readonly key: WarmUpKey
  progress: WarmUpProgress
  /** Transactions that are claimed and have no result yet. */
  pending: number
  /** Transactions that are reserved on disk. */
  reserved: number
  revision: number
  /** The commit that reserves more. Null if none is under way. */
  reserving: Promise<void> | null
  /** The number of `drop` calls that this count has seen. */
  generation: number
}

/** The result of a claim: the provider took the message, deferred it, or there was no transaction. */
export type WarmUpResult = 'sent' | 'deferred' | 'none'

export interface WarmUpClaim {
  /** Rejects if the disk does not take the reservation; the claim is then released. */
  readonly isReserved: Promise<void>
  /** Counts the call of a host. Call it for each host that was called. */
  readonly count: (result: WarmUpResult) => void
  /** Call this when the attempt has ended, or was not made. */
  readonly release: () => void
}

export class WarmUps {
  private readonly counted = createLruCache<Counted>({ max: MAX_COUNTED })
  private readonly changed = new Set<Counted>()
  private timer: NodeJS.Timeout | null = null
  private writing: Promise<void> = Promise.resolve()
  private generation = 0

  constructor(private readonly deps: WarmUpsDeps) {}

  /** Reads the counts of these keys. After that, `findWait` and `claim` decide from memory. */
  async prepare(keys: readonly WarmUpKey[]): Promise<void> {
    for (const key of keys) {
      const known = this.counted.get(idOf(key))
      if (known?.generation !== this.generation) await this.load(key)
    }
  }

  /** Returns null if one more transaction may be made. The key must be prepared. */
  findWait(key: WarmUpKey): Outage | null {
    const counted = this.find(key)
    const { progress, pending } = counted
    const cap = capOf(progress, this.deps.readPlan())
    const sent = progress.sent + pending
    if (cap === null || sent < cap) return null
    const { subject, provider } = key
    const why = describeWarmUp({ subject, provider, sent, cap })
    return { kind: 'outage', until: endOfDay(progress.day), why }
  }

  /** Claims a transaction. Call it right after `findWait` has returned null. Returns null if the warm-up has ended. */
  claim(key: WarmUpKey): WarmUpClaim | null {
    const counted = this.find(key)
    const cap = capOf(counted.progress, this.deps.readPlan())
    if (cap === null) return null
    counted.pending += 1
    let isOpen = true
    const release = (): void => {
      if (isOpen) counted.pending -= 1
      isOpen = false
    }
    const isReserved = this.reserve(counted, cap)
    isReserved.catch(release)
    const count = (result: WarmUpResult): void => {
      if (result === 'none') return
      release()
      this.count(counted, result)
    }
    return { isReserved, count, release }
  }

  /** Reads the table again, because another process may have changed it. */
  drop(): void {
    this.generation += 1
  }

  /** Writes the counts, so that nothing that was only reserved is lost. */
  async stop(): Promise<void> {
    if (this.timer !== null) clearTimeout(this.timer)
    for (const counted of this.counted.values()) {
      if (counted.reserved === counted.progress.sent) continue
      counted.reserved = counted.progress.sent
      this.changed.add(counted)
    }
    await this.tryWrite()
  }

  private find(key: WarmUpKey): Counted {
    const counted = this.counted.get(idOf(key))
    if (counted === undefined) throw new Error('the counts of a warm-up are not in memory')
    const today = dayOf(this.deps.clock())
    const progress = toDay(counted.progress, today, this.deps.readPlan())
    if (progress !== counted.progress) {
      counted.progress = progress
      counted.reserved = 0
      this.markChanged(counted)
    }
    return counted
  }

  private async load(key: WarmUpKey): Promise<void> {
    const { generation } = this
    const [row] = await warmUpByKey(this.deps.read, key)
    const [every] = row === undefined ? await warmUpByKey(this.deps.read, { ...key, provider: EVERY_PROVIDER }) : []
    const progress = row === undefined ? this.begin(every?.ended === 1) : progressOf(row)
    const stored = { progress, reserved: row?.reserved ?? 0, revision: row?.revision ?? 0, generation }
    // Another attempt may have loaded the same counts in the meantime, and claimed from them.
    const known = this.counted.get(idOf(key))
    if (known === undefined) this.counted.set(idOf(key), { key, pending: 0, reserving: null, ...stored })
    else update(known, stored)
  }

  private begin(isEnded: boolean): WarmUpProgress {
    return { step: 0, day: dayOf(this.deps.clock()), sent: 0, deferred: 0, isEnded }
  }

  private count(counted: Counted, result: 'sent' | 'deferred'): void {
    const { sent, deferred } = counted.progress
    const more = result === 'deferred' ? 1 : 0
    counted.progress = { ...counted.progress, sent: sent + 1, deferred: deferred + more }
    this.markChanged(counted)
  }

  private async reserve(counted: Counted, cap: number): Promise<void> {
    while (needOf(counted) > counted.reserved) {
      counted.reserving ??= this.reserveMore(counted, cap).finally(() => {
        counted.reserving = null
      })
      await counted.reserving
    }
  }

  private async reserveMore(counted: Counted, cap: number): Promise<void> {
    const need = needOf(counted)
    const reserved = Math.max(need, Math.min(cap, need + Math.floor(cap * RESERVED_SHARE)))
    await this.deps.commit([storeWarmUp(rowOf({ ...counted, reserved }, this.deps.clock()))])
    counted.reserved = reserved
  }

  private markChanged(counted: Counted): void {
    this.changed.add(counted)
    this.timer ??= setTimeout(() => {
      this.timer = null
      void this.tryWrite()
    }, WRITE_AFTER)
  }

  private async tryWrite(): Promise<void> {
    try {
      await this.write()
    } catch (error) {
      this.deps.log.error({ err: error }, 'the warm-up was not written')
    }
  }

  /** Writes one commit after the other. What cannot be written stays marked as changed. */
  private write(): Promise<void> {
    this.writing = this.writing.catch(() => undefined).then(() => this.writePortions())
    return this.writing
  }

  private async writePortions(): Promise<void> {
    while (this.changed.size > 0) {
      const portion = [...this.changed].slice(0, PORTION_SIZE)
      for (const counted of portion) this.changed.delete(counted)
      const at = this.deps.clock()
      try {
        const writes = portion.map((counted) => storeWarmUp(rowOf(counted, at)))
        // Another node may store the same rows in another order.
        await this.deps.commit(takeTurn('warm-ups', writes))
      } catch (error) {
        for (const counted of portion) this.changed.add(counted)
        throw error
      }
    }
  }
}

/** Takes over what the operator has changed. Otherwise the counts of this process stay. */
function update(
  counted: Counted,
  { progress, revision, generation }: Pick<Counted, 'progress' | 'revision' | 'generation'>,
): void {
  // A load that began later has ended before this one.
  if (generation < counted.generation) return
  counted.generation = generation
  if (revision === counted.revision && progress.isEnded === counted.progress.isEnded) return
  counted.revision = revision
  counted.progress = { ...progress, sent: Math.max(progress.sent, counted.progress.sent) }
}

function needOf({ progress, pending }: Counted): number {
  return progress.sent + pending
}

/** What was reserved before a crash counts as sent. After a regular end it equals what was sent. */
function progressOf({ step, day, sent, reserved, deferred, ended }: WarmUpRow): WarmUpProgress {
  return { step, day, sent: Math.max(sent, reserved), deferred, isEnded: ended === 1 }
}

function rowOf({ key, progress, reserved, revision }: Counted, at: number): WarmUpRow {
  return {
    ...{ workspace_id: key.workspaceId, subject: key.subject, provider: key.provider },
    ...{ step: progress.step, day: progress.day, sent: progress.sent, deferred: progress.deferred },
    ...{ reserved, ended: progress.isEnded ? 1 : 0, revision, updated_at: at },
  }
}

function idOf({ workspaceId, subject, provider }: WarmUpKey): string {
  return `${workspaceId} ${subject} ${provider}`
}
