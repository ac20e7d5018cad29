/**
 * Limits how often the people of an owner's workspaces may release their mail. Each release makes the figures begin
 * anew, so one for every hold would be no breaker at all; the operator may release always. In memory: a restart begins
 * anew.
 */
import { Refusal } from '../../base/mail/refusal.js'
import { TokenBuckets } from '../../base/platform/token-buckets.js'

/** Releases of an owner at once, and in a day: each of their domains is one. */
const [AT_ONCE, DAILY] = [12, 4]
const MAX_OWNERS = 10_000

export interface ReleaseLimit {
  /** Throws a Refusal `rate-limited`. */
  readonly check: (owner: string, now: number) => void
  readonly count: (owner: string, now: number) => void
}

export function createReleaseLimit(): ReleaseLimit {
  const buckets = new TokenBuckets({ burst: AT_ONCE, perSecond: DAILY / 86_400, maxKeys: MAX_OWNERS })
  return {
    check: (owner, now) => {
      if (buckets.has(owner, now)) return
      throw new Refusal(
        'rate-limited',
        'the workspace, or another of its owner, has released its mail too often: ask the operator',
      )
    },
    count: (owner, now) => {
      buckets.take(owner, now)
    },
  }
}
