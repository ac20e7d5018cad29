/**
 * How many sending domains a workspace may register in an hour: ten, in any sixty minutes.
 *
 * A bucket of `usage` for each moment at which it did. A place is taken before the work
 * begins, by one statement that counts and adds, so that requests at the same moment
 * cannot pass the limit together; deleting a domain gives no place back.
 */
import { Refusal } from '../mail/refusal.js'
import { timestamp } from '../platform/clock.js'
import type { Read } from '../storage/prepared.js'
import { type Commit, Missed } from '../storage/write.js'
import { addWithin, bucketsSince, DOMAIN_CREATIONS } from './usage.js'

const DOMAINS_PER_HOUR = 10

const HOUR = 3_600_000

/** Throws a Refusal `rate-limited` when the hour is full. */
export async function countDomainCreation(
  { read, commit }: { readonly read: Read; readonly commit: Commit },
  workspaceId: string,
  now: number,
): Promise<void> {
  const place = { kind: DOMAIN_CREATIONS, since: now - HOUR + 1 }
  const row = { workspace_id: workspaceId, kind: DOMAIN_CREATIONS, bucket: now, count: 1 }
  try {
    await commit([addWithin(row, [{ ...place, atMost: DOMAINS_PER_HOUR - 1 }])])
  } catch (error) {
    if (!(error instanceof Missed)) throw error
    const [oldest] = bucketsSince(read, { workspaceId, ...place })
    // No later than in an hour, though the clock may have been set back meanwhile.
    throw tooMany(Math.min((oldest?.bucket ?? now) + HOUR, now + HOUR), now)
  }
}

function tooMany(free: number, now: number): Refusal {
  const seconds = Math.max(1, Math.ceil((free - now) / 1000))
  const message = `a workspace may register ${DOMAINS_PER_HOUR} domains in an hour: try again in ${seconds} s`
  return new Refusal('rate-limited', message, {
    retry_after: seconds,
    limit: DOMAINS_PER_HOUR,
    remaining: 0,
    reset_at: timestamp(free),
  })
}
