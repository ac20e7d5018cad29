/**
 * How often the people of a workspace may release its mail. Each release makes the figures begin anew, so one for every hold
 * would be no breaker at all; the operator may release always. In memory: a restart begins anew.
 */
import { Refusal } from '../mail/refusal.js'
import { TokenBuckets } from '../platform/token-buckets.js'

/** Releases of a workspace at once, and in a day: each of its domains is one. */
const [AT_ONCE, DAILY] = [12, 4]
const MAX_WORKSPACES = 10_000

export interface ReleaseLimit {
  /** Throws a Refusal `rate-limited`. */
  readonly check: (workspaceId: string, now: number) => void
  readonly count: (workspaceId: string, now: number) => void
}

export function createReleaseLimit(): ReleaseLimit {
  const buckets = new TokenBuckets({ burst: AT_ONCE, perSecond: DAILY / 86_400, maxKeys: MAX_WORKSPACES })
  return {
    check: (workspaceId, now) => {
      if (buckets.has(workspaceId, now)) return
      throw new Refusal('rate-limited', 'the workspace has released its mail too often: ask the operator')
    },
    count: (workspaceId, now) => {
      buckets.take(workspaceId, now)
    },
  }
}
