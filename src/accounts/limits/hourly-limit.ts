/**
 * How often a workspace may do something in an hour, in any sixty minutes.
 *
 * A bucket of `usage` for each moment at which it did. A place is taken before the work
 * begins, by one statement that counts and adds, so that requests at the same moment
 * cannot pass the limit together; undoing the act gives no place back.
 */

import { Refusal } from '../../mail/refusal.js'
import { formatTimestamp } from '../../platform/clock.js'
import type { Store } from '../../storage/database.js'
import { WriteConflict } from '../../storage/writer/write.js'
import { addWithinBounds, bucketsSince, DOMAIN_CREATIONS } from './usage.js'

const HOUR = 3_600_000

export interface HourlyLimit {
  /** Of `usage`. */
  readonly kind: string
  readonly max: number
  /** As `register 10 domains`. */
  readonly actionText: string
}

/** Throws a Refusal `rate-limited` when the hour is full. */
export async function countWithinHour(
  { read, commit }: Store,
  limit: HourlyLimit,
  workspaceId: string,
  now: number,
): Promise<void> {
  const { kind, max } = limit
  const place = { kind, since: now - HOUR + 1 }
  const row = { workspace_id: workspaceId, kind, bucket: now, count: 1 }
  try {
    await commit([addWithinBounds(row, [{ ...place, atMost: max - 1 }])])
  } catch (error) {
    if (!(error instanceof WriteConflict)) throw error
    const [oldest] = bucketsSince(read, { workspaceId, ...place })
    // No later than in an hour, though the clock may have been set back meanwhile.
    throw buildRateRefusal(limit, Math.min((oldest?.bucket ?? now) + HOUR, now + HOUR), now)
  }
}

function buildRateRefusal({ max, actionText }: HourlyLimit, free: number, now: number): Refusal {
  const seconds = Math.max(1, Math.ceil((free - now) / 1000))
  return new Refusal('rate-limited', `a workspace may ${actionText} in an hour: try again in ${seconds} s`, {
    retry_after: seconds,
    limit: max,
    remaining: 0,
    reset_at: formatTimestamp(free),
  })
}

const MAX_DOMAINS_PER_HOUR = 10

const domainLimit = {
  kind: DOMAIN_CREATIONS,
  max: MAX_DOMAINS_PER_HOUR,
  actionText: `register ${MAX_DOMAINS_PER_HOUR} domains`,
}

/** Throws a Refusal `rate-limited` when the hour is full. */
export function countDomainCreation(deps: Store, workspaceId: string, now: number): Promise<void> {
  return countWithinHour(deps, domainLimit, workspaceId, now)
}
