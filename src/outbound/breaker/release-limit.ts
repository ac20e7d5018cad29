/**
 * Limits how often the members of an owner's workspaces may release their mail. Each release resets the figures, so a
 * breaker that allowed one for every hold would have no effect. The operator may always release. The counts are in
 * memory, and a restart clears them.
 */
import { Refusal } from '../../base/mail/refusal.js'
import { TokenBuckets } from '../../base/platform/token-buckets.js'

/** The releases that an owner may make at once, and in a day. Each of their domains needs one. */
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
