/**
 * How many sending domains a workspace may register in an hour: ten, in any sixty minutes.
 *
 * One row of `usage` for each moment at which it did. A place is taken before the work
 * begins, by one statement that counts and adds, so that requests at the same moment
 * cannot pass the limit together; deleting a domain gives no place back.
 */
import { sql } from 'kysely'
import { Refusal } from '../mail/refusal.js'
import { timestamp } from '../platform/clock.js'
import { prepareRead, prepareWrite, type Read } from '../storage/prepared.js'
import { type Commit, Missed } from '../storage/write.js'

export const DOMAINS_PER_HOUR = 10

const HOUR = 3_600_000
const KIND = 'domain-creations'

interface Window {
  readonly workspaceId: string
  /** Moments after this one count. */
  readonly after: number
}

const forget = prepareWrite<Window>(({ db, slot }) =>
  db
    .deleteFrom('usage')
    .where('workspace_id', '=', slot('workspaceId'))
    .where('kind', '=', KIND)
    .where('bucket', '<=', slot('after')),
)

/** Misses when the hour is full. */
const add = prepareWrite<Window & { now: number }>(
  ({ db, slot }) =>
    db
      .insertInto('usage')
      .columns(['workspace_id', 'kind', 'bucket', 'count'])
      .expression(
        db
          .selectNoFrom([
            sql<string>`${slot('workspaceId')}`.as('workspace_id'),
            sql.lit(KIND).as('kind'),
            sql<number>`${slot('now')}`.as('bucket'),
            sql.lit(1).as('count'),
          ])
          .where(
            db
              .selectFrom('usage')
              .select(({ fn }) => fn.coalesce(fn.sum<number>('count'), sql.lit(0)).as('made'))
              .where('workspace_id', '=', slot('workspaceId'))
              .where('kind', '=', KIND)
              .where('bucket', '>', slot('after')),
            '<',
            DOMAINS_PER_HOUR,
          ),
      )
      .onConflict((conflict) =>
        conflict
          .columns(['workspace_id', 'kind', 'bucket'])
          .doUpdateSet((eb) => ({ count: eb('usage.count', '+', 1) })),
      ),
  1,
)

const oldest = prepareRead<Window>()(({ db, slot }) =>
  db
    .selectFrom('usage')
    .select('bucket')
    .where('workspace_id', '=', slot('workspaceId'))
    .where('kind', '=', KIND)
    .where('bucket', '>', slot('after'))
    .orderBy('bucket')
    .limit(1),
)

/** Throws a Refusal `rate-limited` when the hour is full. */
export async function countDomainCreation(
  { read, commit }: { readonly read: Read; readonly commit: Commit },
  workspaceId: string,
  now: number,
): Promise<void> {
  const window = { workspaceId, after: now - HOUR }
  try {
    await commit([forget(window), add({ ...window, now })])
  } catch (error) {
    if (!(error instanceof Missed)) throw error
    const free = (oldest(read, window)[0]?.bucket ?? now) + HOUR
    throw tooMany(Math.min(free, now + HOUR), now)
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
