/**
 * Reads the links of emails for clicks: finds them by URL, counts them, and lists them with their clicks.
 *
 * Every read is bounded, because a message may have thousands of links.
 */
import { sql } from 'kysely'
import { greatestOf, leastOf } from '../../base/storage/db/dialect.js'
import { prepareRead, prepareWrite } from '../../base/storage/db/prepared.js'

const columns = ['id', 'email_id', 'url'] as const

/** The most links of an email among which a URL is searched. */
const MAX_SEARCHED = 1_000

export const linkOfEmail = prepareRead<{ emailId: string; url: string }>()(({ db, slot }) =>
  db
    .selectFrom(
      db.selectFrom('links').select(columns).where('email_id', '=', slot('emailId')).limit(MAX_SEARCHED).as('known'),
    )
    .selectAll()
    .where('url', '=', slot('url'))
    .limit(1),
)

export const countLinks = prepareRead<{ emailId: string }>()(({ db, slot }) =>
  db
    .selectFrom('links')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('email_id', '=', slot('emailId')),
)

/** Counts a click of a person. */
export const countClick = prepareWrite<{ id: string; at: number }>(({ db, slot }) =>
  db
    .updateTable('links')
    .set({
      clicks: sql`clicks + 1`,
      first_clicked_at: leastOf(sql`coalesce(first_clicked_at, ${slot('at')})`, slot('at')),
      last_clicked_at: greatestOf(sql`coalesce(last_clicked_at, ${slot('at')})`, slot('at')),
    })
    .where('id', '=', slot('id')),
)

/** The most links that the statistics of an email list. */
const MAX_LISTED = 1_000

/** Lists the links that were clicked, the most clicked first. */
export const clickedLinks = prepareRead<{ workspaceId: string; emailId: string }>()(({ db, slot }) =>
  db
    .selectFrom('links')
    .select(['url', 'clicks', 'last_clicked_at'])
    .where('email_id', '=', slot('emailId'))
    .where('workspace_id', '=', slot('workspaceId'))
    .where(sql<boolean>`clicks > 0`) // a literal, as the partial index has it
    .orderBy('clicks', 'desc')
    .orderBy('id')
    .limit(MAX_LISTED),
)

/** Sums the clicks of all links of an email. */
export const clickTotals = prepareRead<{ workspaceId: string; emailId: string }>()(({ db, slot }) =>
  db
    .selectFrom('links')
    .select((eb) => [
      eb.fn.countAll<number>().as('links'),
      eb.fn.sum<number | null>('clicks').as('clicks'),
      eb.fn.min<number | null>('first_clicked_at').as('first_clicked_at'),
    ])
    .where('email_id', '=', slot('emailId'))
    .where('workspace_id', '=', slot('workspaceId'))
    .where(sql<boolean>`clicks > 0`),
)
