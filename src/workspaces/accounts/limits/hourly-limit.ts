/**
 * Limits how often an owner does something within sixty minutes, in all of their workspaces.
 *
 * The table `usage` has a bucket for each moment of such an act. One statement checks and counts an act before it
 * begins, so concurrent requests cannot pass the limit together. If you undo an act, the count stays.
 */
import { Refusal } from '../../../base/mail/refusal.js'
import { formatTimestamp } from '../../../base/platform/clock.js'
import { HOUR } from '../../../base/platform/time-units.js'
import type { Store } from '../../../base/storage/db/database.js'
import { WriteConflict } from '../../../base/storage/db/write.js'
import { findOwnerId } from '../workspace/workspaces.js'
import { addWithinBounds, bucketsSince, DOMAIN_CREATIONS } from './usage.js'

interface HourlyLimit {
  /** The kind of the rows in `usage`. */
  readonly kind: string
  readonly max: number
  /** The act in words, such as `register 10 domains`. */
  readonly actionText: string
}

/** `actsFor` is a workspace or a user. Rejects with a Refusal `rate-limited` when the limit is reached. */
export async function countWithinHour(
  { read, commit }: Store,
  limit: HourlyLimit,
  actsFor: string,
  now: number,
): Promise<void> {
  const { kind, max } = limit
  const owner = await findOwnerId(read, actsFor)
  const place = { kind, since: now - HOUR + 1 }
  const row = { workspace_id: owner, kind, bucket: now, count: 1 }
  try {
    await commit([addWithinBounds(row, [{ ...place, atMost: max - 1 }])])
  } catch (error) {
    if (!(error instanceof WriteConflict)) throw error
    const [oldest] = await bucketsSince(read, { workspaceId: owner, ...place })
    // The reset is at most an hour from now, even if the clock was set back.
    throw buildRateRefusal(limit, Math.min((oldest?.bucket ?? now) + HOUR, now + HOUR), now)
  }
}

function buildRateRefusal({ max, actionText }: HourlyLimit, free: number, now: number): Refusal {
  const seconds = Math.max(1, Math.ceil((free - now) / 1000))
  return new Refusal(
    'rate-limited',
    `the workspaces of an owner may ${actionText} an hour:  try again in ${seconds} s`,
    {
      retry_after: seconds,
      limit: max,
      remaining: 0,
      reset_at: formatTimestamp(free),
    },
  )
}

const MAX_DOMAINS_PER_HOUR = 10

const domainLimit = {
  kind: DOMAIN_CREATIONS,
  max: MAX_DOMAINS_PER_HOUR,
  actionText: `register ${MAX_DOMAINS_PER_HOUR} domains`,
}

/** Counts the registration of a sending domain. Rejects with a Refusal `rate-limited` when the limit is reached. */
export function countDomainCreation(deps: Store, workspaceId: string, now: number): Promise<void> {
  return countWithinHour(deps, domainLimit, workspaceId, now)
}
