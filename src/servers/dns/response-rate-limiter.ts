/**
 * Limits how often a network gets the same answer over UDP, where its address may be forged: an attacker who
 * sends questions in a victim's name cannot have much sent to the victim.
 *
 * Each pair of network (/24 of IPv4, /56 of IPv6) and answer has a token bucket. Every second reply
 * beyond it is dropped; the others have no records and the TC bit, after which a genuine client asks
 * again over TCP. All negative answers of a network share a bucket, because names that do not exist are
 * endless. Loopback has no limit: it cannot be forged from outside.
 *
 * Known limit: there are at most `maxKeys` buckets; the least recently used is dropped first, and starts full when
 * it returns.
 */
import { parseIpAddress } from '../../base/platform/ip-address.js'
import { type BucketSettings, TokenBuckets } from '../../base/platform/token-buckets.js'

export const defaultResponseRate: BucketSettings = { perSecond: 50, burst: 100, maxKeys: 50_000 }

type RateVerdict = 'send' | 'truncate' | 'drop'

export class ResponseRateLimiter {
  private readonly buckets: TokenBuckets

  constructor(settings: BucketSettings) {
    this.buckets = new TokenBuckets(settings)
  }

  /** `rateKeyOf` in `responder.ts` makes `answer`. `now` is in milliseconds. */
  check(address: string, answer: string, now: number): RateVerdict {
    const network = networkOf(address)
    if (network === null) return 'send'
    const refusals = this.buckets.take(`${network} ${answer}`, now)
    if (refusals === 0) return 'send'
    return refusals % 2 === 0 ? 'truncate' : 'drop'
  }

  countBuckets(): number {
    return this.buckets.size
  }
}

/** Null for loopback. */
function networkOf(address: string): string | null {
  const parsed = parseIpAddress(address)
  if (parsed === null) return address
  if (parsed.range() === 'loopback') return null
  return parsed
    .toByteArray()
    .slice(0, parsed.kind() === 'ipv4' ? 3 : 7)
    .join('.')
}
