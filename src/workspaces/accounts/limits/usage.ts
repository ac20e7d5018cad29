/**
 * Counts in the table `usage` what an owner has used with all of their workspaces, in buckets of time (UTC).
 *
 * `workspace_id` of a row is the id of the owner (`findOwnerId`), so that a further workspace, a deleted one and a
 * transferred one leave the count as it is; `sms-sent` and `sms-segments`, which limit nothing, are of a workspace.
 *
 *   kind             bucket       counts                              written
 *   emails           a day        emails, whatever their recipients   always
 *   emails-hourly    an hour      the same                            while the plan limits the day
 *   credits          one bucket   the same                            while the plan has credits
 *   domain:NAME      an hour      emails of one sender domain         always
 *   requests         ten minutes  requests                            while the plan limits the day
 *   domain-creations a moment     sending domains registered          always
 *   invitations-by:USER, invitations-to:PERSON, invitations
 *                    a moment     people invited, of the service      always
 *   workspaces       a moment     workspaces made by the user         always
 *   sms-phone:PHONE  a moment     codes requested, also of the service  always
 *   sms-range:RANGE  a minute     the same                            always
 *   sms-minutely     a second     codes requested                     always
 *   sms-hourly       a minute     the same                            always
 *   sms-daily        ten minutes  the same                            always
 *   sms-sent         a day        codes that the provider accepted    always
 *   sms-segments     a day        segments of their messages          always
 *
 * A window consists of the present bucket and those before it, so "a day" is 23 to 24 hours, and "a
 * month" 29 to 30 days. Counts that only a limit needs begin when the workspace gets that limit. Windows of codes are
 * in `sms/send-limits.ts`.
 *
 * An email counts when it is accepted, also if it is cancelled or bounces later.
 */
import { type Compilable, type OnConflictBuilder, type RawBuilder, sql } from 'kysely'
import { formatTimestamp } from '../../../base/platform/clock.js'
import { HOUR } from '../../../base/platform/time-units.js'
import { prepareRead, prepareWrite, type Read, type StatementBuilder } from '../../../base/storage/db/prepared.js'
import type { Write } from '../../../base/storage/db/write.js'
import type { Tables } from '../../../base/storage/tables/tables.js'
import { findOwnerId } from '../workspace/workspaces.js'
import type { Plan } from './plans.js'
import { UNLIMITED_PER_SECOND } from './rate-limit.js'

export const EMAILS = 'emails'
export const EMAILS_HOURLY = 'emails-hourly'
export const CREDITS = 'credits'
export const REQUESTS = 'requests'
export const DOMAIN_CREATIONS = 'domain-creations'
/** This kind and the two below are rows of the service. */
export const SERVICE_INVITATIONS = 'invitations'
export const inviterUsageKind = (userId: string): string => `invitations-by:${userId}`
export const inviteeUsageKind = (person: string): string => `invitations-to:${person}`
export const WORKSPACES = 'workspaces'
export const domainUsageKind = (domain: string): string => `domain:${domain}`
export const SMS_MINUTELY = 'sms-minutely'
export const SMS_HOURLY = 'sms-hourly'
export const SMS_DAILY = 'sms-daily'
export const SMS_SENT = 'sms-sent'
export const SMS_SEGMENTS = 'sms-segments'
/** This kind and the one below are rows of the workspace and of the service. */
export const phoneUsageKind = (phone: string): string => `sms-phone:${phone}`
export const phoneRangeUsageKind = (range: string): string => `sms-range:${range}`

/** A window of a kind. `width` is the milliseconds of a bucket. It is null if there is only one bucket. */
export interface UsageWindow {
  readonly width: number | null
  readonly buckets: number
}

export const dayWindow: UsageWindow = { width: HOUR, buckets: 24 }
export const monthWindow: UsageWindow = { width: 24 * HOUR, buckets: 30 }
export const unboundedWindow: UsageWindow = { width: null, buckets: 1 }

export function bucketOf({ width }: UsageWindow, now: number): number {
  return width === null ? 0 : now - (now % width)
}

/** Start of the oldest bucket that counts. */
export function windowStart(window: UsageWindow, now: number): number {
  return bucketOf(window, now) - (window.buckets - 1) * (window.width ?? 0)
}

/** The database fills the slot in. */
export type UsageRow = Omit<Tables['usage'], 'slot'>

const addOnConflict = (conflict: OnConflictBuilder<Tables, 'usage'>) =>
  conflict
    .columns(['workspace_id', 'kind', 'bucket', 'slot'])
    .doUpdateSet({ count: sql<number>`${sql.ref('usage.count')} + ${sql.ref('excluded.count')}` })

/** Adds to a bucket unconditionally. */
export const addUsage = prepareWrite<UsageRow>(({ db, slot }) =>
  db
    .insertInto('usage')
    .values({
      workspace_id: slot('workspace_id'),
      kind: slot('kind'),
      bucket: slot('bucket'),
      count: slot('count'),
    })
    .onConflict(addOnConflict),
)

/** Adds to a bucket if the condition holds. The casts are for databases that need types in a `select`. */
export function addIf<Values extends UsageRow>(
  { db, slot }: StatementBuilder<Values>,
  condition: RawBuilder<boolean>,
): Compilable {
  return db
    .insertInto('usage')
    .columns(['workspace_id', 'kind', 'bucket', 'count'])
    .expression(
      db
        .selectNoFrom([
          sql<string>`${slot('workspace_id')}`.as('workspace_id'),
          sql<string>`${slot('kind')}`.as('kind'),
          sql<number>`cast(${slot('bucket')} as bigint)`.as('bucket'),
          sql<number>`cast(${slot('count')} as bigint)`.as('count'),
        ])
        .where(condition),
    )
    .onConflict(addOnConflict)
}

/** Adds nothing if the owner is deleted, because counts in memory outlive the owner by a minute. */
export const addToExisting = prepareWrite<UsageRow>((builder) => {
  const { db, slot } = builder
  const user = db.selectFrom('users').select('id').where('id', '=', slot('workspace_id'))
  const workspace = db.selectFrom('workspaces').select('id').where('id', '=', slot('workspace_id'))
  return addIf(builder, sql<boolean>`exists ${user} or exists ${workspace}`)
})

/** The most that a kind may have counted since `since`, so that the row is added. */
export interface Bound {
  readonly kind: string
  readonly since: number
  readonly atMost: number
}

/** The row, and the bounds with their indexes as suffixes of the names. */
type BoundedRow = UsageRow & { [key: `kind${number}`]: string; [key: `since${number}` | `atMost${number}`]: number }

/** Prepared statements, by the number of bounds. */
const boundedWrites: ((row: UsageRow, bounds: readonly Bound[]) => Write)[] = []

/**
 * Adds to a bucket if every bound holds, and misses otherwise. This one statement checks all bounds before it
 * changes anything, so a miss leaves nothing to undo. No other commit comes in between: those of one owner that have
 * bounds are made in turn.
 */
export function addWithinBounds(row: UsageRow, bounds: readonly Bound[]): Write {
  return { ...addWithinFarBounds(row, bounds), turn: `usage of ${row.workspace_id}` }
}

/** Does the same where no commit that is under way can reach a bound: see `FarBounds`. */
export function addWithinFarBounds(row: UsageRow, bounds: readonly Bound[]): Write {
  const write = boundedWrites[bounds.length] ?? prepareBoundedWrite(bounds.length)
  boundedWrites[bounds.length] = write
  return write(row, bounds)
}

function prepareBoundedWrite(count: number): (row: UsageRow, bounds: readonly Bound[]) => Write {
  const slots = Array.from({ length: count }, (_, place) => {
    return { kind: `kind${place}`, since: `since${place}`, atMost: `atMost${place}` } as const
  })
  const write = prepareWrite<BoundedRow>((builder) => {
    const { db, slot } = builder
    const holds = slots.map(({ kind, since, atMost }) => {
      const used = db
        .selectFrom('usage')
        .select(({ fn }) => fn.sum('count').as('used'))
        .where('workspace_id', '=', slot('workspace_id'))
        .where('kind', '=', slot(kind))
        .where('bucket', '>=', slot(since))
      return sql`coalesce(${used}, 0) <= ${slot(atMost)}`
    })
    return addIf(builder, sql<boolean>`${sql.join(holds, sql` and `)}`)
  }, 1)
  return ({ workspace_id, kind, bucket, count }, bounds) => {
    const values: BoundedRow = { workspace_id, kind, bucket, count }
    bounds.forEach((bound, place) => {
      const at = slots[place]
      if (at === undefined) throw new Error('the statement was built for another number of bounds')
      values[at.kind] = bound.kind
      values[at.since] = bound.since
      values[at.atMost] = bound.atMost
    })
    return write(values)
  }
}

/** The buckets, oldest first. */
export const bucketsSince = prepareRead<{ workspaceId: string; kind: string; since: number }>()(({ db, slot }) =>
  db
    .selectFrom('usage')
    .select((eb) => ['bucket', eb.fn.sum<number>('count').as('count')])
    .where('workspace_id', '=', slot('workspaceId'))
    .where('kind', '=', slot('kind'))
    .where('bucket', '>=', slot('since'))
    .groupBy('bucket')
    .orderBy('bucket'),
)

export async function sumSince(read: Read, owner: string, kind: string, since: number): Promise<number> {
  return (await bucketsSince(read, { workspaceId: owner, kind, since })).reduce((sum, { count }) => sum + count, 0)
}

type Usage =
  | {
      readonly plan: string
      readonly rate_limit: { readonly requests_per_second: number; readonly burst_limit: number }
      readonly usage: {
        readonly emails_sent: number
        /** Null means unlimited. */
        readonly emails_limit: number | null
        readonly period_start: string
        readonly period_end: string
      }
    }
  | {
      readonly credits_remaining: number
      readonly credits_used: number
      readonly credits_total: number
      readonly credits_expire_at: null
    }

/**
 * The answer of GET /v1/usage: the month that ends now, or the credits if the plan has them. The quotas of the plan
 * are compared with it, so it has the emails of all workspaces of the owner.
 */
export async function readUsage(read: Read, workspaceId: string, { name, limits }: Plan, now: number): Promise<Usage> {
  const owner = await findOwnerId(read, workspaceId)
  const sumUsed = (kind: string, window: UsageWindow): Promise<number> =>
    sumSince(read, owner, kind, windowStart(window, now))
  const { credits, requests_per_second = UNLIMITED_PER_SECOND, burst = requests_per_second, emails_per_month } = limits
  if (credits !== undefined) {
    const spent = await sumUsed(CREDITS, unboundedWindow)
    return {
      credits_remaining: Math.max(0, credits - spent),
      credits_used: spent,
      credits_total: credits,
      credits_expire_at: null,
    }
  }
  return {
    plan: name,
    rate_limit: { requests_per_second, burst_limit: burst },
    usage: {
      emails_sent: await sumUsed(EMAILS, monthWindow),
      emails_limit: emails_per_month ?? null,
      period_start: formatTimestamp(windowStart(monthWindow, now)),
      period_end: formatTimestamp(now),
    },
  }
}
