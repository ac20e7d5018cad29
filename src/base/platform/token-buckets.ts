/**
 * Token buckets by key, for limits that only have to be about right: a key that was not used for long is forgotten and
 * begins with a full bucket again, as all do after a restart.
 *
 * Each new key removes two old ones whose buckets are full again, so memory follows the traffic and `maxKeys` is
 * reached only by a flood.
 */
import { createLruCache, type LruCache } from './lru-cache.js'

export interface BucketSettings {
  /** Tokens of a full bucket. This and what it gains are read at each use, so that they may change. */
  readonly burst: number
  /** Tokens that it gains in a second. */
  readonly perSecond: number
  readonly maxKeys: number
}

/** More than one, so that the number of keys can fall. */
const REMOVED_PER_KEY = 2

interface Bucket {
  tokens: number
  at: number
  /** How often in a row the bucket had no token. */
  refusals: number
}

export class TokenBuckets {
  private readonly settings: BucketSettings
  private readonly buckets: LruCache<Bucket>

  constructor(settings: BucketSettings) {
    this.settings = settings
    this.buckets = createLruCache({ max: settings.maxKeys })
  }

  /** The number of keys that are remembered. */
  get size(): number {
    return this.buckets.size
  }

  /** Would `take` get a token? */
  has(key: string, now: number): boolean {
    const bucket = this.buckets.get(key)
    return bucket === undefined || this.fill(bucket, now) >= 1
  }

  /**
   * 0 if a token was taken. Otherwise how often in a row the bucket of this key had none, this time included. A `cost`
   * beyond the tokens of the bucket becomes a debt.
   */
  take(key: string, now: number, cost = 1): number {
    const bucket = this.openBucket(key, now)
    const hasToken = this.fill(bucket, now) >= 1
    if (hasToken) bucket.tokens -= cost
    bucket.refusals = hasToken ? 0 : bucket.refusals + 1
    return bucket.refusals
  }

  /** The tokens of this key, with fractions. A number below zero is a debt. */
  countTokens(key: string, now: number): number {
    const bucket = this.buckets.get(key)
    return bucket === undefined ? this.settings.burst : this.fill(bucket, now)
  }

  /**
   * Takes tokens that may not be there. The debt afterwards is at most `maxDebt`. A `cost` below zero gives tokens
   * back.
   */
  spend(key: string, now: number, { cost, maxDebt }: { readonly cost: number; readonly maxDebt: number }): void {
    const bucket = this.openBucket(key, now)
    bucket.tokens = Math.max(-maxDebt, this.fill(bucket, now) - cost)
  }

  private openBucket(key: string, now: number): Bucket {
    const known = this.buckets.get(key)
    if (known !== undefined) return known
    this.removeFull(now)
    const bucket = { tokens: this.settings.burst, at: now, refusals: 0 }
    this.buckets.set(key, bucket)
    return bucket
  }

  /** Looks at the keys that were used least recently. */
  private removeFull(now: number): void {
    const oldest = this.buckets.rkeys()
    for (let count = 0; count < REMOVED_PER_KEY; count += 1) {
      const { value: key } = oldest.next()
      const bucket = key === undefined ? undefined : this.buckets.peek(key)
      if (key === undefined || bucket === undefined || this.fill(bucket, now) < this.settings.burst) return
      this.buckets.delete(key)
    }
  }

  /** Adds what it has gained; returns its tokens. */
  private fill(bucket: Bucket, now: number): number {
    const { burst, perSecond } = this.settings
    bucket.tokens = Math.min(burst, bucket.tokens + (Math.max(0, now - bucket.at) / 1_000) * perSecond)
    // It is also set after the clock was set back: the bucket would gain nothing for as long as the clock was ahead.
    bucket.at = now
    return bucket.tokens
  }
}
