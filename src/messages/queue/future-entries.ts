/** Entries that wait for a time which was computed while the clock was ahead. */
import { sql } from 'kysely'
import { prepareWrite } from '../../storage/prepared.js'

interface FutureEntries {
  readonly now: number
  /** No wait ends later than this. */
  readonly latest: number
}

/**
 * Makes them due: those that were accepted later than now, and those that wait for longer than any wait lasts. Scheduled
 * mail keeps its time. It reads the whole queue, which is done after the clock was set back only.
 */
export const makeFutureEntriesDue = prepareWrite<FutureEntries>(({ db, slot }) =>
  db
    .updateTable('queue')
    .set({ next_attempt_at: slot('now') })
    .where('next_attempt_at', '>', slot('now'))
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
