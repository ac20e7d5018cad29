/**
 * Limits of invitations: by one user, to one address, and by the service in total.
 *
 * Each invitation is a mail of the service to any address that a user names. The counts do not depend on a
 * workspace, because a user may own many, and a cancellation does not reduce them. The commit that creates the
 * invitation checks and counts.
 *
 * The counts of an address and of the service reveal acts of others, so we round the time of their reset up to the
 * hour.
 */
import type { Address } from '../../../base/mail/address.js'
import { personKey } from '../../../base/mail/mailbox-key.js'
import { Refusal } from '../../../base/mail/refusal.js'
import { formatTimestamp } from '../../../base/platform/clock.js'
import { DAY, HOUR } from '../../../base/platform/time-units.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import type { Write } from '../../../base/storage/db/write.js'
import { SERVICE_WORKSPACE } from '../../../base/storage/tables/tables.js'
import {
  addUsage,
  addWithinBounds,
  bucketsSince,
  inviteeUsageKind,
  inviterUsageKind,
  SERVICE_INVITATIONS,
} from '../limits/usage.js'

const MAX_PER_PERSON_HOUR = 50
/** A fifth of the default limit of the service, so that one user cannot use all of it. */
const MAX_PER_PERSON_DAY = 200
const MAX_PER_ADDRESS_DAY = 3

interface InvitationCount {
  /** The inviter. */
  readonly userId: string
  /** The invitee. Spellings of one address, and subaddresses after a `+`, count as one. */
  readonly email: Address
  readonly now: number
}

interface InvitationLimit {
  /** The kind of the rows in `usage`. */
  readonly kind: string
  readonly max: number
  /** Milliseconds. */
  readonly window: number
  /** The time of the reset is rounded up to a multiple of this many milliseconds. */
  readonly rounding: number
  readonly message: string
}

function limitsOf({ userId, email }: InvitationCount, perDay: number): readonly InvitationLimit[] {
  return [
    {
      kind: inviterUsageKind(userId),
      max: MAX_PER_PERSON_HOUR,
      window: HOUR,
      rounding: 1,
      message: `a user may invite ${MAX_PER_PERSON_HOUR} people an hour`,
    },
    {
      kind: inviterUsageKind(userId),
      max: MAX_PER_PERSON_DAY,
      window: DAY,
      rounding: 1,
      message: `a user may invite ${MAX_PER_PERSON_DAY} people a day`,
    },
    {
      kind: inviteeUsageKind(personKey(email)),
      max: MAX_PER_ADDRESS_DAY,
      window: DAY,
      rounding: HOUR,
      message: `an address may be invited ${MAX_PER_ADDRESS_DAY} times a day`,
    },
    {
      kind: SERVICE_INVITATIONS,
      max: perDay,
      window: DAY,
      rounding: HOUR,
      message: 'the service has sent all invitations that it may send in a day',
    },
  ]
}

interface InvitationCharge {
  /** The writes come first in the commit of the invitation. When a limit is reached, they miss and change nothing. */
  readonly writes: readonly Write[]
  /** Says why the writes missed. Null means that no limit is reached. */
  readonly findRefusal: () => Promise<Refusal | null>
}

/** `perDay` is the limit of the service, `limits.invitations_per_day`. */
export function chargeInvitation(read: Read, invitation: InvitationCount, perDay: number): InvitationCharge {
  const { now } = invitation
  const limits = limitsOf(invitation, perDay)
  const bounds = limits.map(({ kind, max, window }) => ({ kind, since: now - window + 1, atMost: max - 1 }))
  return {
    writes: [...new Set(limits.map(({ kind }) => kind))].map((kind, place) => {
      const row = { workspace_id: SERVICE_WORKSPACE, kind, bucket: now, count: 1 }
      return place === 0 ? addWithinBounds(row, bounds) : addUsage(row)
    }),
    findRefusal: async () =>
      (await Promise.all(limits.map((limit) => refusalFor(read, limit, now)))).find((refusal) => refusal !== null) ??
      null,
  }
}

/** Null means that there is room. */
async function refusalFor(read: Read, limit: InvitationLimit, now: number): Promise<Refusal | null> {
  const { kind, max, window, rounding } = limit
  const buckets = await bucketsSince(read, { workspaceId: SERVICE_WORKSPACE, kind, since: now - window + 1 })
  const used = buckets.reduce((sum, { count }) => sum + count, 0)
  if (used < max) return null
  // The reset is at most a window from now, even if the clock was set back.
  const free = Math.min((buckets[0]?.bucket ?? now) + window, now + window)
  return buildRateRefusal(limit, Math.ceil(free / rounding) * rounding, now)
}

function buildRateRefusal({ max, message }: InvitationLimit, free: number, now: number): Refusal {
  const seconds = Math.max(1, Math.ceil((free - now) / 1000))
  return new Refusal('rate-limited', `${message}: try again in ${seconds} s`, {
    retry_after: seconds,
    limit: max,
    remaining: 0,
    reset_at: formatTimestamp(free),
  })
}
