/**
 * The rate limits of an owner of workspaces or of a client address: a second, a minute and a day, all of which must
 * have room.
 *
 * - `requests_per_second` without `burst` is a sliding second, which is exact.
 * - `burst` adds a token bucket of `burst` tokens that gains `requests_per_second`. A sliding second
 *   of `burst` next to it keeps the tokens that a burst gains from extending it.
 * - The minute and the day slide, in slices of 100 ms and of ten minutes.
 *
 * A refused request does not count. The reported state is that of the window nearest to its limit, or
 * after a refusal that of the window that refuses longest. A plan without limits of requests refuses nothing and
 * reports 1,000 a second.
 *
 * It is pure except for its memory, because the time is a parameter. It keeps 10,000 keys and drops the least recently
 * used first. Only the day survives a restart (`rate-limit-days.ts`), and only for owners of workspaces. Where several
 * nodes take requests, each counts its own seconds and minutes.
 */
import type { PlanLimits } from '../../../base/config/plans.js'
import { Refusal } from '../../../base/mail/refusal.js'
import { formatTimestamp } from '../../../base/platform/clock.js'
import { createLruCache, type LruCache } from '../../../base/platform/lru-cache.js'
import { type Slice, SlidingCount, slidingDay, slidingMinute, slidingSecond } from './rate-limit-window.js'

/** The limit that is reported for a plan without limits. */
export const UNLIMITED_PER_SECOND = 1_000

export interface RateState {
  readonly allowed: boolean
  /** How many requests the window allows. `remaining` says how many more it allows now. */
  readonly limit: number
  readonly remaining: number
  /** Seconds since 1970 of the moment when that window has room again, or more room than now. */
  readonly resetAt: number
  /** Whole seconds until `resetAt`, at least 1. */
  readonly retryAfter: number
}

interface RateLimitDeps {
  readonly limitsOf: (key: string) => PlanLimits
  /**
   * Names the meter of a key. Keys with the same meter, such as workspaces of one owner, count together. Without it,
   * each key counts alone.
   */
  readonly meterOf?: (key: string) => string
  /** Stores the counts of a day beyond this process. */
  readonly days?: {
    readonly readSlices: (key: string, now: number) => readonly Slice[]
    readonly count: (key: string, now: number) => void
    /** It grows when the slices have changed by more than `count`. */
    readonly revision: number
  }
  readonly maxKeys?: number
}

export class RateLimit {
  private readonly meters: LruCache<Meter>

  constructor(private readonly deps: RateLimitDeps) {
    this.meters = createLruCache({ max: deps.maxKeys ?? 10_000 })
  }

  /** Counts a request, unless it is refused. */
  take(key: string, now: number): RateState {
    const limits = this.deps.limitsOf(key)
    const id = this.meterOf(key)
    const meter = this.meters.get(id) ?? this.addMeter(id)
    const state = meter.peek(limits, now)
    if (!state.allowed) return state
    meter.count(limits, now)
    if (limits.requests_per_day !== undefined) this.deps.days?.count(id, now)
    return { ...meter.peek(limits, now), allowed: true }
  }

  /** The present state; counts nothing. A key that is only looked up takes no place from those that count. */
  peek(key: string, now: number): RateState {
    const id = this.meterOf(key)
    return (this.meters.peek(id) ?? this.openMeter(id)).peek(this.deps.limitsOf(key), now)
  }

  private meterOf(key: string): string {
    return this.deps.meterOf?.(key) ?? key
  }

  private addMeter(id: string): Meter {
    const meter = this.openMeter(id)
    this.meters.set(id, meter)
    return meter
  }

  private openMeter(id: string): Meter {
    const { days } = this.deps
    return new Meter({
      readSlices: (now) => days?.readSlices(id, now) ?? [],
      revision: () => days?.revision ?? 0,
    })
  }
}

export function buildRateRefusal({ limit, remaining, resetAt, retryAfter }: RateState): Refusal {
  return new Refusal('rate-limited', `too many requests: try again in ${retryAfter} s`, {
    retry_after: retryAfter,
    limit,
    remaining,
    reset_at: formatTimestamp(resetAt * 1000),
  })
}

interface Gauge {
  readonly limit: number
  readonly remaining: number
  readonly nextRoomAt: number
}

/** What was counted in the day that ends now. */
interface Past {
  readonly readSlices: (now: number) => readonly Slice[]
  readonly revision: () => number
}

class Meter {
  private readonly second = new SlidingCount(slidingSecond)
  private readonly minute = new SlidingCount(slidingMinute)
  private day: { readonly window: SlidingCount; readonly revision: number } | undefined
  private readonly bucket = new TokenBucket()

  constructor(private readonly past: Past) {}

  peek(limits: PlanLimits, now: number): RateState {
    const unlimited = !hasRequestLimits(limits)
    const gauges = unlimited ? [this.unlimitedGauge(now)] : this.readGauges(limits, now)
    const refusing = gauges.filter(({ remaining }) => remaining <= 0)
    const { limit, remaining, nextRoomAt } =
      refusing.length > 0
        ? refusing.reduce((one, other) => (other.nextRoomAt > one.nextRoomAt ? other : one))
        : gauges.reduce((one, other) => (other.remaining < one.remaining ? other : one))
    return {
      allowed: unlimited || refusing.length === 0,
      limit,
      remaining: Math.max(0, remaining),
      resetAt: Math.ceil(nextRoomAt / 1000),
      retryAfter: Math.max(1, Math.ceil((nextRoomAt - now) / 1000)),
    }
  }

  count({ requests_per_second, burst, requests_per_minute, requests_per_day }: PlanLimits, now: number): void {
    this.second.add(now)
    if (burst !== undefined && requests_per_second !== undefined) this.bucket.take(burst, requests_per_second, now)
    if (requests_per_minute !== undefined) this.minute.add(now)
    if (requests_per_day !== undefined) this.loadDay(now).add(now)
  }

  /** The gauge for a plan without limits. */
  private unlimitedGauge(now: number): Gauge {
    const remaining = UNLIMITED_PER_SECOND - this.second.count(now)
    return { limit: UNLIMITED_PER_SECOND, remaining, nextRoomAt: this.second.nextRoomAt(Number.POSITIVE_INFINITY, now) }
  }

  private readGauges(limits: PlanLimits, now: number): Gauge[] {
    const { requests_per_second, burst, requests_per_minute, requests_per_day } = limits
    const gauges: Gauge[] = []
    const perSecond = burst ?? requests_per_second
    if (perSecond !== undefined) gauges.push(readGauge(this.second, perSecond, now))
    if (burst !== undefined && requests_per_second !== undefined) {
      gauges.push(this.bucket.readGauge(burst, requests_per_second, now))
    }
    if (requests_per_minute !== undefined) gauges.push(readGauge(this.minute, requests_per_minute, now))
    if (requests_per_day !== undefined) gauges.push(readGauge(this.loadDay(now), requests_per_day, now))
    return gauges
  }

  private loadDay(now: number): SlidingCount {
    const revision = this.past.revision()
    if (this.day?.revision !== revision) {
      this.day = { window: new SlidingCount(slidingDay, this.past.readSlices(now)), revision }
    }
    return this.day.window
  }
}

function hasRequestLimits(limits: PlanLimits): boolean {
  return (limits.requests_per_second ?? limits.requests_per_minute ?? limits.requests_per_day) !== undefined
}

function readGauge(window: SlidingCount, limit: number, now: number): Gauge {
  return { limit, remaining: limit - window.count(now), nextRoomAt: window.nextRoomAt(limit, now) }
}

/** Counts thousandths of tokens, so that each millisecond gains an integer and nothing is rounded. */
class TokenBucket {
  private level: number | undefined
  private updatedAt = 0

  readGauge(burst: number, perSecond: number, now: number): Gauge {
    const level = this.levelAt(burst, perSecond, now)
    const missing = 1000 - (level % 1000)
    const nextRoomAt = level >= burst * 1000 ? now : now + Math.ceil(missing / perSecond)
    return { limit: burst, remaining: Math.floor(level / 1000), nextRoomAt }
  }

  take(burst: number, perSecond: number, now: number): void {
    this.level = this.levelAt(burst, perSecond, now) - 1000
    this.updatedAt = Math.max(this.updatedAt, now)
  }

  /** The tokens at this moment: at most `burst`, which may have changed with the plan. */
  private levelAt(burst: number, perSecond: number, now: number): number {
    const full = burst * 1000
    if (this.level === undefined) return full
    return Math.min(full, this.level + Math.max(0, now - this.updatedAt) * perSecond)
  }
}
