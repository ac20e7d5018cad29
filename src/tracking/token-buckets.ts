/**
 * Token buckets by key, for limits that only have to be about right: a key that was not used for long is forgotten and
 * begins with a full bucket again, as all do after a restart.
 */
import { createLruCache, type LruCache } from '../platform/lru-cache.js'

interface BucketSettings {
  /** Tokens of a full bucket. */
  readonly burst: number
  /** Tokens that it gains in a second. */
  readonly perSecond: number
  readonly maxKeys: number
}

interface Bucket {
  tokens: number
  at: number
}

export class TokenBuckets {
  private readonly settings: BucketSettings
  private readonly buckets: LruCache<Bucket>

  constructor(settings: BucketSettings) {
    this.settings = settings
    this.buckets = createLruCache({ max: settings.maxKeys })
  }

  /** False: the bucket of this key is empty. */
  has(key: string, now: number): boolean {
    const bucket = this.buckets.get(key)
    return bucket === undefined || this.fill(bucket, now) >= 1
  }

  /** False: the bucket of this key was empty. */
  take(key: string, now: number): boolean {
    const { burst } = this.settings
    let bucket = this.buckets.get(key)
    if (bucket === undefined) {
      bucket = { tokens: burst, at: now }
      this.buckets.set(key, bucket)
    }
    if (this.fill(bucket, now) < 1) return false
    bucket.tokens -= 1
    return true
  }

  /** Adds what it has gained; returns its tokens. */
  private fill(bucket: Bucket, now: number): number {
    const { burst, perSecond } = this.settings
    bucket.tokens = Math.min(burst, bucket.tokens + (Math.max(0, now - bucket.at) / 1_000) * perSecond)
    bucket.at = Math.max(bucket.at, now)
    return bucket.tokens
  }
}
