/**
 * Removes the buckets of `usage` that are older than every window. No index has their age, so the
 * complete table is walked in the order of its key, in small pages.
 */
import type { Database } from '../../../base/storage/db/database.js'
import { prepareRead, prepareWrite } from '../../../base/storage/db/prepared.js'
import { oldestSliceStart, slidingDay } from './rate-limit-window.js'
import { CREDITS, dayWindow, EMAILS, monthWindow, SMS_SEGMENTS, SMS_SENT, windowStart } from './usage.js'

const PAGE_SIZE = 500

/** Kinds of which a month of buckets is shown or counted. */
const monthlyKinds: ReadonlySet<string> = new Set([EMAILS, SMS_SENT, SMS_SEGMENTS])

interface BucketKey {
  readonly workspace_id: string
  readonly kind: string
  readonly bucket: number
}

const usagePage = prepareRead<BucketKey>()(({ db, slot }) =>
  db
    .selectFrom('usage')
    .select(['workspace_id', 'kind', 'bucket'])
    .where((eb) =>
      eb(
        eb.refTuple('workspace_id', 'kind', 'bucket'),
        '>',
        eb.tuple(slot('workspace_id'), slot('kind'), slot('bucket')),
      ),
    )
    .orderBy('workspace_id')
    .orderBy('kind')
    .orderBy('bucket')
    .limit(PAGE_SIZE),
)

const removeBucket = prepareWrite<BucketKey>(({ db, slot }) =>
  db
    .deleteFrom('usage')
    .where('workspace_id', '=', slot('workspace_id'))
    .where('kind', '=', slot('kind'))
    .where('bucket', '=', slot('bucket')),
)

/** Each call of the result is one step of the walk, and resolves to whether there are more. */
export function createUsageCleanup(
  { read, commit }: Pick<Database, 'read' | 'commit'>,
  now: number,
): () => Promise<boolean> {
  const monthStart = windowStart(monthWindow, now)
  const dayStart = Math.min(windowStart(dayWindow, now), oldestSliceStart(slidingDay, now))
  const isOld = ({ kind, bucket }: BucketKey): boolean =>
    kind !== CREDITS && bucket < (monthlyKinds.has(kind) ? monthStart : dayStart)
  let cursor: BucketKey = { workspace_id: '', kind: '', bucket: 0 }
  return async () => {
    const page = usagePage(read, cursor)
    const old = page.filter(isOld)
    if (old.length > 0) await commit(old.map(removeBucket))
    cursor = page.at(-1) ?? cursor
    return page.length === PAGE_SIZE
  }
}
