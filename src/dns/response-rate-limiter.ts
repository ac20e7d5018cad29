/**
 * Limits how often one network is told the same over UDP, where its address may be forged: whoever sends
 * questions in a victim's name gets little sent to the victim, and no more than was asked.
 *
 * Each network (/24 of IPv4, /56 of IPv6) and answer has a bucket. Every second reply beyond it goes out
 * without records and with the mark TC: a client that is what it says asks again over TCP. All
 * denials share a bucket, for there are endless names that do not exist. Loopback has no limit: it cannot be
 * forged from outside.
 *
 * Known limit: at most `maxBuckets`; the least recently used goes first, and starts full when it comes again.
 */

import { parseIpAddress } from '../platform/ip-address.js'
import { createLruCache } from '../platform/lru-cache.js'

export interface ResponseRateSettings {
  readonly perSecond: number
  /** How many may come at once. */
  readonly burst: number
  readonly maxBuckets: number
}

export const defaultResponseRate: ResponseRateSettings = { perSecond: 50, burst: 100, maxBuckets: 50_000 }

export type RateVerdict = 'send' | 'truncate' | 'drop'

export interface ResponseRateLimiter {
  /** `answer` names what is told; `now` in milliseconds. */
  readonly check: (address: string, answer: string, now: number) => RateVerdict
  readonly countBuckets: () => number
}

interface Bucket {
  tokens: number
  refilledAt: number
  overLimitCount: number
}

export function createResponseRateLimiter({ perSecond, burst, maxBuckets }: ResponseRateSettings): ResponseRateLimiter {
  const buckets = createLruCache<Bucket>({ max: maxBuckets })

  function findOrAddBucket(key: string, now: number): Bucket {
    const there = buckets.get(key)
    if (there !== undefined) return there
    const made = { tokens: burst, refilledAt: now, overLimitCount: 0 }
    buckets.set(key, made)
    return made
  }

  return {
    check: (address, answer, now) => {
      const network = networkOf(address)
      if (network === null) return 'send'
      const bucket = findOrAddBucket(`${network} ${answer}`, now)
      const gained = (Math.max(0, now - bucket.refilledAt) / 1000) * perSecond
      bucket.tokens = Math.min(burst, bucket.tokens + gained)
      bucket.refilledAt = now
      if (bucket.tokens >= 1) {
        bucket.tokens -= 1
        bucket.overLimitCount = 0
        return 'send'
      }
      bucket.overLimitCount += 1
      return bucket.overLimitCount % 2 === 0 ? 'truncate' : 'drop'
    },
    countBuckets: () => buckets.size,
  }
}

/** Null: this machine itself. */
function networkOf(address: string): string | null {
  const parsed = parseIpAddress(address)
  if (parsed === null) return address
  if (parsed.range() === 'loopback') return null
  return parsed
    .toByteArray()
    .slice(0, parsed.kind() === 'ipv4' ? 3 : 7)
    .join('.')
}
