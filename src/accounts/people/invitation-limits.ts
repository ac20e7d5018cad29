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
import { timestamp } from '../../platform/clock.js'
import type { Read } from '../../storage/prepared.js'
import { SERVICE } from '../../storage/tables/tables.js'
import type { Write } from '../../storage/writer/write.js'
import {
  addUsage,
  addWithin,
  bucketsSince,
  invitationsBy,
  invitationsTo,
  SERVICE_INVITATIONS,
} from '../limits/usage.js'

const HOUR = 3_600_000
const DAY = 24 * HOUR

const OF_PERSON = 50
/** A fifth of what the service sends by default: no one person takes all of that from the others. */
const OF_PERSON_IN_A_DAY = 200
const OF_ADDRESS = 3

export interface InvitationCount {
  /** Who invites. */
  readonly userId: string
  /** Who is invited; however it is written, and whatever stands behind a `+`, it counts as one. */
  readonly email: Address
  readonly now: number
}

interface Limit {
  /** Of the rows in `usage`. */
  readonly kind: string
  readonly most: number
  /** Milliseconds. */
  readonly window: number
  /** Moments are told in steps of so many milliseconds. */
  readonly told: number
  readonly says: string
}

function limitsOf({ userId, email }: InvitationCount, perDay: number): readonly Limit[] {
  return [
    {
      kind: invitationsBy(userId),
      most: OF_PERSON,
      window: HOUR,
      told: 1,
      says: `one person may invite ${OF_PERSON} people in an hour`,
    },
    {
      kind: invitationsBy(userId),
      most: OF_PERSON_IN_A_DAY,
      window: DAY,
      told: 1,
      says: `one person may invite ${OF_PERSON_IN_A_DAY} people in a day`,
    },
    {
      kind: invitationsTo(personKey(email)),
      most: OF_ADDRESS,
      window: DAY,
      told: HOUR,
      says: `one address may be invited ${OF_ADDRESS} times in a day`,
    },
    {
      kind: SERVICE_INVITATIONS,
      most: perDay,
      window: DAY,
      told: HOUR,
      says: 'the service sent its invitations of a day',
    },
  ]
}

export interface InvitationCharge {
  /** In the commit of the invitation, before it: they miss when a limit is reached, and then have changed nothing. */
  readonly writes: readonly Write[]
  /** Why they missed; null: they had no reason to. */
  readonly refusal: () => Refusal | null
}

/** `perDay`: of the service as a whole, `limits.invitations_per_day`. */
export function chargeInvitation(read: Read, wanted: InvitationCount, perDay: number): InvitationCharge {
  const { now } = wanted
  const limits = limitsOf(wanted, perDay)
  const bounds = limits.map(({ kind, most, window }) => ({ kind, since: now - window + 1, atMost: most - 1 }))
  return {
    writes: [...new Set(limits.map(({ kind }) => kind))].map((kind, place) => {
      const row = { workspace_id: SERVICE, kind, bucket: now, count: 1 }
      return place === 0 ? addWithin(row, bounds) : addUsage(row)
    }),
    refusal: () => limits.map((limit) => refusalOf(read, limit, now)).find((refusal) => refusal !== null) ?? null,
  }
}

/** Null: there is room. */
function refusalOf(read: Read, limit: Limit, now: number): Refusal | null {
  const { kind, most, window, told } = limit
  const buckets = bucketsSince(read, { workspaceId: SERVICE, kind, since: now - window + 1 })
  const used = buckets.reduce((sum, { count }) => sum + count, 0)
  if (used < most) return null
  // No later than a window from now, though the clock may have been set back meanwhile.
  const free = Math.min((buckets[0]?.bucket ?? now) + window, now + window)
  return tooMany(limit, Math.ceil(free / told) * told, now)
}

function tooMany({ most, says }: Limit, free: number, now: number): Refusal {
  const seconds = Math.max(1, Math.ceil((free - now) / 1000))
  return new Refusal('rate-limited', `${says}: try again in ${seconds} s`, {
    retry_after: seconds,
    limit: most,
    remaining: 0,
    reset_at: timestamp(free),
  })
}
