/**
 * Removes the buckets of `usage` that are older than every window. No index has their age, so it walks the whole
 * table in the order of its key, in small pages.
 */
import type { Store } from '../../../base/storage/db/database.js'
import { prepareRead, prepareWrite } from '../../../base/storage/db/prepared.js'
import { oldestSliceStart, slidingDay } from './rate-limit-window.js'
import { CREDITS, dayWindow, EMAILS, monthWindow, SMS_SEGMENTS, SMS_SENT, windowStart } from './usage.js'

const PAGE_SIZE = 500

/** Kinds whose buckets of a month we show or count. */
const monthlyKinds: ReadonlySet<string> = new Set([EMAILS, SMS_SENT, SMS_SEGMENTS])

interface BucketKey {
  readonly workspace_id: string
  readonly kind: string
  readonly bucket: number
  readonly slot: number
}

const usagePage = prepareRead<BucketKey>()(({ db, slot }) =>
  db
    .selectFrom('usage')
    .select(['workspace_id', 'kind', 'bucket', 'slot'])
    .where((eb) =>
      eb(
        eb.refTuple('workspace_id', 'kind', 'bucket', 'slot'),
        '>',
        eb.tuple(slot('workspace_id'), slot('kind'), slot('bucket'), slot('slot')),
      ),
    )
    .orderBy('workspace_id')
    .orderBy('kind')
    .orderBy('bucket')
    .orderBy('slot')
    .limit(PAGE_SIZE),
)

const removeBucket = prepareWrite<BucketKey>(({ db, slot }) =>
  db
    .deleteFrom('usage')
    .where('workspace_id', '=', slot('workspace_id'))
    .where('kind', '=', slot('kind'))
    .where('bucket', '=', slot('bucket'))
    .where('slot', '=', slot('slot')),
)

export class UsageCleanup {
  private cursor: BucketKey = { workspace_id: '', kind: '', bucket: 0, slot: 0 }
  private readonly monthStart: number
  private readonly dayStart: number

  constructor(
    private readonly store: Store,
    now: number,
  ) {
    this.monthStart = windowStart(monthWindow, now)
    this.dayStart = Math.min(windowStart(dayWindow, now), oldestSliceStart(slidingDay, now))
  }

  /** Makes one step of the walk. Resolves to whether there are more. */
  async step(): Promise<boolean> {
    const page = await usagePage(this.store.read, this.cursor)
    const old = page.filter((bucket) => this.isOld(bucket))
    if (old.length > 0) await this.store.commit(old.map(removeBucket))
    this.cursor = page.at(-1) ?? this.cursor
    return page.length === PAGE_SIZE
  }

  private isOld({ kind, bucket }: BucketKey): boolean {
    return kind !== CREDITS && bucket < (monthlyKinds.has(kind) ? this.monthStart : this.dayStart)
  }
}
