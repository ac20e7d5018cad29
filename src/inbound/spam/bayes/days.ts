/**
 * Counts how many messages of recent mail a workspace has taught the classifier: one row for each day of mail.
 *
 * A message counts on the day that it was received, not on the day that it was learned: a folder of old mail
 * teaches words, and nothing about current mail. A date after the moment of learning is not believed, and counts
 * as the oldest.
 *
 * Limit: days older than 180 are removed when the next message is learned, so a workspace has about 181 rows.
 */

import { dayOf } from '../../../base/platform/time-units.js'
import { prepareRead, prepareWrite, type Read } from '../../../base/storage/db/prepared.js'
import type { Write } from '../../../base/storage/db/write.js'
import type { TokenCount } from './score.js'

const RECENT_DAYS = 180

/** 1 January 1970 is the day of messages without a date. */
const UNDATED = 0

/**
 * The day that a message counts on. `dated` is when it was received, as far as is known. `at` is when it is learned.
 */
export function learningDayOf(dated: number, at: number): number {
  const day = dayOf(dated)
  return day < UNDATED || day > dayOf(at) + 1 ? UNDATED : day
}

const selectSums = prepareRead<{ workspaceId: string; from: number }>()(({ db, slot }) =>
  db
    .selectFrom('bayes_days')
    .select((eb) => [eb.fn.sum<number | null>('spam').as('spam'), eb.fn.sum<number | null>('ham').as('ham')])
    .where('workspace_id', '=', slot('workspaceId'))
    .where('day', '>=', slot('from')),
)

/** Learned messages that were received at most 180 days before `now`. */
export async function countRecentlyLearned(read: Read, workspaceId: string, now: number): Promise<TokenCount> {
  const [row] = await selectSums(read, { workspaceId, from: dayOf(now) - RECENT_DAYS })
  return { spam: row?.spam ?? 0, ham: row?.ham ?? 0 }
}

interface DayCount {
  readonly workspaceId: string
  readonly day: number
  readonly spam: number
  readonly ham: number
}

const addDayCount = prepareWrite<DayCount>(({ db, slot }) =>
  db
    .insertInto('bayes_days')
    .values({ workspace_id: slot('workspaceId'), day: slot('day'), spam: slot('spam'), ham: slot('ham') })
    .onConflict((conflict) =>
      conflict.columns(['workspace_id', 'day']).doUpdateSet((eb) => ({
        spam: eb('bayes_days.spam', '+', slot('spam')),
        ham: eb('bayes_days.ham', '+', slot('ham')),
      })),
    ),
)

const removeBefore = prepareWrite<{ workspaceId: string; day: number }>(({ db, slot }) =>
  db.deleteFrom('bayes_days').where('workspace_id', '=', slot('workspaceId')).where('day', '<', slot('day')),
)

/** `today` is the day of learning. */
export function buildDayCount(count: DayCount, today: number): readonly Write[] {
  const oldest = today - RECENT_DAYS
  return [
    ...(count.day < oldest ? [] : [addDayCount(count)]),
    removeBefore({ workspaceId: count.workspaceId, day: oldest }),
  ]
}

/** The row may have been removed because of its age. */
export const subtractDayCount = prepareWrite<DayCount>(({ db, slot }) =>
  db
    .updateTable('bayes_days')
    .set((eb) => ({ spam: eb('spam', '-', slot('spam')), ham: eb('ham', '-', slot('ham')) }))
    .where('workspace_id', '=', slot('workspaceId'))
    .where('day', '=', slot('day')),
)
