/**
 * How many invitations may be sent: by one person, to one address, and by the service as a whole.
 *
 * Each is a mail of the service to an address that somebody names, so none of the counts depends
 * on a workspace: a person may own many, and a cancelled invitation has been mailed all the same.
 * All are judged and counted by the commit that makes the invitation; nothing gives a place back.
 *
 * The counts of an address and of the service are of what others did too: the time at which there
 * is room again is told to the hour only.
 */
import type { Address } from '../../mail/address.js'
import { personKey } from '../../mail/mailbox-key.js'
import { Refusal } from '../../mail/refusal.js'
import { formatTimestamp } from '../../platform/clock.js'
import type { Read } from '../../storage/prepared.js'
import { SERVICE_WORKSPACE } from '../../storage/tables/tables.js'
import type { Write } from '../../storage/writer/write.js'
import {
  addUsage,
  addWithinBounds,
  bucketsSince,
  inviteeUsageKind,
  inviterUsageKind,
  SERVICE_INVITATIONS,
} from '../limits/usage.js'

const HOUR = 3_600_000
const DAY = 24 * HOUR

const MAX_PER_PERSON_HOUR = 50
/** A fifth of what the service sends by default: no one person takes all of that from the others. */
const MAX_PER_PERSON_DAY = 200
const MAX_PER_ADDRESS_DAY = 3

export interface InvitationCount {
  /** Who invites. */
  readonly userId: string
  /** Who is invited; however it is written, and whatever stands behind a `+`, it counts as one. */
  readonly email: Address
  readonly now: number
}

interface InvitationLimit {
  /** Of the rows in `usage`. */
  readonly kind: string
  readonly max: number
  /** Milliseconds. */
  readonly window: number
  /** Moments are told in steps of so many milliseconds. */
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
      message: `one person may invite ${MAX_PER_PERSON_HOUR} people in an hour`,
    },
    {
      kind: inviterUsageKind(userId),
      max: MAX_PER_PERSON_DAY,
      window: DAY,
      rounding: 1,
      message: `one person may invite ${MAX_PER_PERSON_DAY} people in a day`,
    },
    {
      kind: inviteeUsageKind(personKey(email)),
      max: MAX_PER_ADDRESS_DAY,
      window: DAY,
      rounding: HOUR,
      message: `one address may be invited ${MAX_PER_ADDRESS_DAY} times in a day`,
    },
    {
      kind: SERVICE_INVITATIONS,
      max: perDay,
      window: DAY,
      rounding: HOUR,
      message: 'the service sent its invitations of a day',
    },
  ]
}

export interface InvitationCharge {
  /** In the commit of the invitation, before it: they miss when a limit is reached, and then have changed nothing. */
  readonly writes: readonly Write[]
  /** Why they missed; null: they had no reason to. */
  readonly findRefusal: () => Refusal | null
}

/** `perDay`: of the service as a whole, `limits.invitations_per_day`. */
export function chargeInvitation(read: Read, wanted: InvitationCount, perDay: number): InvitationCharge {
  const { now } = wanted
  const limits = limitsOf(wanted, perDay)
  const bounds = limits.map(({ kind, max, window }) => ({ kind, since: now - window + 1, atMost: max - 1 }))
  return {
    writes: [...new Set(limits.map(({ kind }) => kind))].map((kind, place) => {
      const row = { workspace_id: SERVICE_WORKSPACE, kind, bucket: now, count: 1 }
      return place === 0 ? addWithinBounds(row, bounds) : addUsage(row)
    }),
    findRefusal: () => limits.map((limit) => refusalFor(read, limit, now)).find((refusal) => refusal !== null) ?? null,
  }
}

/** Null: there is room. */
function refusalFor(read: Read, limit: InvitationLimit, now: number): Refusal | null {
  const { kind, max, window, rounding } = limit
  const buckets = bucketsSince(read, { workspaceId: SERVICE_WORKSPACE, kind, since: now - window + 1 })
  const used = buckets.reduce((sum, { count }) => sum + count, 0)
  if (used < max) return null
  // No later than a window from now, though the clock may have been set back meanwhile.
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
