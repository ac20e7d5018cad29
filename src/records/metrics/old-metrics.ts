/** Removes roll-ups of emails that were made so long ago that no window reaches them. */
import { sql } from 'kysely'
import { DAY } from '../../base/platform/time-units.js'
import type { Store } from '../../base/storage/db/database.js'
import { prepareRead, prepareWrite } from '../../base/storage/db/prepared.js'
import { KEPT_METRICS_DAYS } from '../../base/storage/tables/metrics-tables.js'

/** The rows of one commit. */
const BATCH_SIZE = 500

interface Old {
  /** The number of days since 1970. */
  readonly day: number
}

/** The day, in the same expression as in the indexes. */
const dayOfBucket = sql<number>`bucket / ${sql.lit(DAY)}`
const dayOfLink = sql<number>`day / ${sql.lit(DAY)}`

const someOldEmailMetrics = prepareRead<Old>()(({ db, slot }) =>
  db.selectFrom('email_metrics').select('bucket').where(dayOfBucket, '<', slot('day')).limit(1),
)

const removeEmailMetrics = prepareWrite<Old>(({ db, slot }) =>
  db
    .deleteFrom('email_metrics')
    .where((eb) =>
      eb(
        eb.refTuple('workspace_id', 'domain', 'tag', 'bucket', 'slot'),
        'in',
        eb
          .selectFrom('email_metrics')
          .select(['workspace_id', 'domain', 'tag', 'bucket', 'slot'])
          .where(dayOfBucket, '<', slot('day'))
          .limit(BATCH_SIZE)
          .$asTuple('workspace_id', 'domain', 'tag', 'bucket', 'slot'),
      ),
    ),
)

const someOldLinkMetrics = prepareRead<Old>()(({ db, slot }) =>
  db.selectFrom('link_metrics').select('day').where(dayOfLink, '<', slot('day')).limit(1),
)

const removeLinkMetrics = prepareWrite<Old>(({ db, slot }) => {
  const key = sql`workspace_id, domain, day, url, slot`
  return db.deleteFrom('link_metrics').where(
    sql<boolean>`(${key}) in (select ${key} from link_metrics
      where ${dayOfLink} < ${slot('day')} limit ${sql.lit(BATCH_SIZE)})`,
  )
})

/** Removes some old rows. Resolves to true if there may be more. */
export async function removeOldMetrics({ read, commit }: Store, now: number): Promise<boolean> {
  const old = { day: Math.floor(now / DAY) - KEPT_METRICS_DAYS }
  const removals = [
    ...((await someOldEmailMetrics(read, old)).length > 0 ? [removeEmailMetrics(old)] : []),
    ...((await someOldLinkMetrics(read, old)).length > 0 ? [removeLinkMetrics(old)] : []),
  ]
  if (removals.length > 0) await commit(removals)
  return removals.length > 0
}
