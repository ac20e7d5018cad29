/** Repairs entries that wait for a time which was computed while the clock was ahead. */
import { sql } from 'kysely'
import type { Store } from '../../../base/storage/db/database.js'
import { prepareRead, prepareWrite } from '../../../base/storage/db/prepared.js'
import { countChange } from '../../../base/storage/db/table-changes.js'

interface FutureEntries {
  /** The name of the node whose clock was set back. */
  readonly node: string
  readonly now: number
  /** The time after which no wait ends. */
  readonly latest: number
}

/** The entries of one commit, which takes the writer a few milliseconds. */
const PORTION_SIZE = 5_000
/** A text that sorts after every id. */
const END = '~'

/**
 * Makes entries due that were accepted later than now, and entries that wait for longer than any wait lasts. Scheduled
 * mail keeps its time. It reads the whole queue, in portions, and runs only after the clock was set back.
 */
export async function makeFutureEntriesDue({ read, commit }: Store, limits: FutureEntries): Promise<void> {
  for (let after = ''; after !== END; ) {
    const last = (await lastIdOfPortion(read, { after }))[0]?.id ?? END
    await commit([makePortionDue({ ...limits, after, last }), ...(last === END ? [countChange('due_mail')] : [])])
    after = last
  }
}

const lastIdOfPortion = prepareRead<{ after: string }>()(({ db, slot }) =>
  db
    .selectFrom('queue')
    .select('id')
    .where('id', '>', slot('after'))
    .orderBy('id')
    .limit(sql.lit(1))
    .offset(sql.lit(PORTION_SIZE - 1)),
)

const makePortionDue = prepareWrite<FutureEntries & { after: string; last: string }>(({ db, slot }) =>
  db
    .updateTable('queue')
    .set({ next_attempt_at: slot('now') })
    .where('id', '>', slot('after'))
    .where('id', '<=', slot('last'))
    .where('next_attempt_at', '>', slot('now'))
    .where('node', '=', slot('node'))
    .where('leased', '=', sql.lit(0))
    .where((eb) => eb.or([eb('enqueued_at', '>', slot('now')), eb('next_attempt_at', '>', slot('latest'))]))
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('emails')
            .select('emails.id')
            .whereRef('emails.id', '=', 'queue.email_id')
            .where('emails.status', '=', 'scheduled'),
        ),
      ),
    ),
)
