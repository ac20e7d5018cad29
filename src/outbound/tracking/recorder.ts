/**
 * Records hits after their requests were answered, in batches of one commit each. A *hit* is an open or a click of a
 * message.
 *
 * `record` never waits. The hits that wait are bounded in memory; beyond the bound hits are left out, and the log
 * counts them. After a fault of the disk a batch is tried again until it is stored. `stop` records the waiting hits,
 * and gives them up only if that fails.
 *
 * A flood of requests for one pixel or link does not fill the disk either. An email records 1,000 opens and 1,000
 * clicks at once and one more of each a minute. One address records 5,000 hits at once and 2,500 per second, because an
 * image proxy has few addresses.
 */
import { setTimeout as sleep, setImmediate as yieldTurn } from 'node:timers/promises'
import type { Clock } from '../../base/platform/clock.js'
import { addressKeyOf } from '../../base/platform/connections/client-address.js'
import type { Log } from '../../base/platform/log.js'
import { TokenBuckets } from '../../base/platform/token-buckets.js'
import type { Store } from '../../base/storage/db/database.js'
import { StorageFault } from '../../base/storage/db/write.js'
import { isEventRecorded } from '../../records/events/event-log.js'
import { FirstHits } from './first-hits.js'
import { type Hit, sizeOfHit } from './hit.js'
import { LinkSweeps } from './link-sweeps.js'
import { joinWrites, type PlannedHit, planHit } from './plan-hits.js'

/** The most bytes of hits that wait: 20,000 hits and more, unless their URLs are very long. */
const MAX_WAITING = 16 * 1_048_576
/** The most hits of one commit, and of one turn of the event loop, which then takes about a millisecond. */
const MAX_BATCH = 100
const MAX_TURN = 20
/** Milliseconds that a batch waits for more hits. */
const BATCH_DELAY = 50
const RETRY_DELAY = 1_000
const WARN_INTERVAL = 60_000

/** The bytes of a hit. One with a long URL counts as several, because its event holds the URL twice. */
const USUAL_SIZE = 1_024
const EMAIL_LIMIT = { burst: 1_000, perSecond: 1 / 60, maxKeys: 50_000 }
const ADDRESS_LIMIT = { burst: 5_000, perSecond: 2_500, maxKeys: 10_000 }

interface RecorderDeps extends Store {
  readonly clock: Clock
  readonly log: Pick<Log, 'warn' | 'error'>
  readonly onRecorded?: ((kind: Hit['kind'], count: number) => void) | undefined
  readonly onLeftOut?: (() => void) | undefined
  /** Set by tests. */
  readonly maxWaiting?: number
  readonly retryDelay?: number
}

export class HitRecorder {
  private readonly deps: RecorderDeps
  private readonly sweeps = new LinkSweeps()
  private readonly ofEmail = new TokenBuckets(EMAIL_LIMIT)
  private readonly ofAddress = new TokenBuckets(ADDRESS_LIMIT)
  private waiting: Hit[] = []
  private waitingSize = 0
  private timer: NodeJS.Timeout | null = null
  private running: Promise<void> | null = null
  private readonly stopping = new AbortController()
  private shed = 0
  private warnedAt = Number.NEGATIVE_INFINITY

  constructor(deps: RecorderDeps) {
    this.deps = deps
  }

  record(hit: Hit): void {
    const { maxWaiting = MAX_WAITING, clock } = this.deps
    const now = clock()
    const isAllowed =
      this.ofAddress.take(addressKeyOf(hit.address), now) === 0 && this.ofEmail.has(emailKeyOf(hit), now)
    const size = sizeOfHit(hit)
    if (isAllowed && this.waitingSize + size <= maxWaiting) {
      this.waiting.push(hit)
      this.waitingSize += size
      this.startLater()
    } else this.leaveOut(now)
  }

  /** Call this when no more hits come. */
  async stop(): Promise<void> {
    this.stopping.abort()
    await this.start()
    if (this.shed > 0) this.warn(this.deps.clock())
  }

  private start(): Promise<void> {
    if (this.timer !== null) clearTimeout(this.timer)
    this.timer = null
    this.running ??= this.recordWaiting().finally(() => {
      this.running = null
      if (this.waiting.length > 0) this.startLater()
    })
    return this.running
  }

  private startLater(): void {
    this.timer ??= setTimeout(() => void this.start(), BATCH_DELAY)
  }

  /** Records the waiting hits. Full batches follow each other at once; the rest waits for more, except at the end. */
  private async recordWaiting(): Promise<void> {
    do await this.recordBatch(this.takeBatch())
    while (this.waiting.length >= MAX_BATCH || (this.stopping.signal.aborted && this.waiting.length > 0))
  }

  private takeBatch(): readonly Hit[] {
    const batch = this.waiting.splice(0, MAX_BATCH)
    for (const hit of batch) this.waitingSize -= sizeOfHit(hit)
    return batch
  }

  private async recordBatch(hits: readonly Hit[]): Promise<void> {
    const { commit, log } = this.deps
    let planned: readonly PlannedHit[] = []
    try {
      planned = await this.retry(() => this.plan(hits))
      if (planned.length === 0) return
      let tried = false
      await this.retry(async () => {
        // A commit whose answer was lost may be on disk.
        if (tried && (await this.isStored(planned))) return
        tried = true
        await commit(joinWrites(planned))
      })
      this.reportRecorded(planned)
    } catch (err) {
      log.error({ err, hits: hits.length }, 'opens and clicks could not be recorded')
    }
  }

  private reportRecorded(planned: readonly PlannedHit[]): void {
    const events = planned.filter(({ eventId }) => eventId !== null)
    const opens = events.filter(({ kind }) => kind === 'open').length
    if (opens > 0) this.deps.onRecorded?.('open', opens)
    if (events.length > opens) this.deps.onRecorded?.('click', events.length - opens)
  }

  /** Repeats an attempt after a fault of the database. Rejects with any other error, and after `stop` with any. */
  private async retry<Result>(attempt: () => Promise<Result>): Promise<Result> {
    const { retryDelay = RETRY_DELAY } = this.deps
    for (;;) {
      const { aborted } = this.stopping.signal
      try {
        return await attempt()
      } catch (error) {
        if (!(error instanceof StorageFault) || aborted) throw error
        await sleep(retryDelay, undefined, { signal: this.stopping.signal }).catch(() => undefined)
      }
    }
  }

  /** Plans one hit after another, because each plan depends on the ones before it. */
  private async plan(hits: readonly Hit[]): Promise<readonly PlannedHit[]> {
    const planned: PlannedHit[] = []
    const { read } = this.deps
    const isAllowed = (hit: Hit): boolean => this.takeOfEmail(hit)
    const deps = { read, sweeps: this.sweeps, firsts: new FirstHits(read), isAllowed }
    for (const [place, hit] of hits.entries()) {
      if (place > 0 && place % MAX_TURN === 0) await yieldTurn()
      const one = await planHit(deps, hit)
      if (one !== null) planned.push(one)
    }
    return planned
  }

  /** Counts only hits of emails that exist, because invented ids would displace flooded ones from memory. */
  private takeOfEmail(hit: Hit): boolean {
    const now = this.deps.clock()
    const isAllowed = this.ofEmail.take(emailKeyOf(hit), now, Math.ceil(sizeOfHit(hit) / USUAL_SIZE)) === 0
    if (!isAllowed) this.leaveOut(now)
    return isAllowed
  }

  private async isStored(planned: readonly PlannedHit[]): Promise<boolean> {
    for (const { emailId, eventId: id } of planned) {
      if (id !== null && (await isEventRecorded(this.deps.read, { emailId, id }))) return true
    }
    return false
  }

  private leaveOut(now: number): void {
    this.shed += 1
    this.deps.onLeftOut?.()
    if (now - this.warnedAt >= WARN_INTERVAL) this.warn(now)
  }

  private warn(now: number): void {
    this.deps.log.warn({ left_out: this.shed }, 'opens and clicks were left out: there are too many')
    this.shed = 0
    this.warnedAt = now
  }
}

function emailKeyOf({ kind, emailId }: Hit): string {
  return `${kind} ${emailId}`
}
