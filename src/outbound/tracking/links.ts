/** The rows of tracked links, and the data that restores the HTML of an email as it was submitted. */
import { type Selectable, sql } from 'kysely'
import type { Store } from '../../base/storage/db/database.js'
import { textOfTuple, tuplesOf } from '../../base/storage/db/dialect.js'
import { prepareRead, prepareWrite, type Read } from '../../base/storage/db/prepared.js'
import type { Json } from '../../base/storage/tables/columns.js'
import type { Tables } from '../../base/storage/tables/tables.js'
import { isFramed } from '../../records/messages/frames/framed-message.js'
import type { HtmlChangeRequest } from '../../records/messages/mime/mime-parts-protocol.js'
import { firstLinkIdOf } from './link-id.js'
import { htmlChange, type TrackedHtml } from './restore-html.js'

type Link = Selectable<Tables['links']>

type NewLinks = Pick<Link, 'workspace_id' | 'email_id' | 'created_at'> & {
  /** The ids and URLs of the links. */
  readonly links: Json<readonly (readonly [id: string, url: string])[]>
}

/** Inserts the links of one email in one statement, because a statement for each costs as much as the rows. */
export const insertLinks = prepareWrite<NewLinks>(({ db, slot }) =>
  db
    .insertInto('links')
    .columns(['id', 'workspace_id', 'email_id', 'url', 'created_at', 'clicks'])
    .expression(
      db
        .selectFrom(tuplesOf(slot('links')))
        .select((eb) => [
          textOfTuple(0).as('id'),
          eb.val(slot('workspace_id')).as('workspace_id'),
          eb.val(slot('email_id')).as('email_id'),
          textOfTuple(1).as('url'),
          eb.val(slot('created_at')).as('created_at'),
          sql.lit(0).as('clicks'),
        ]),
    ),
)

/** Finds a link of any workspace, because a click has no key. */
export const linkById = prepareRead<{ id: string }>()(({ db, slot }) =>
  db
    .selectFrom('links')
    .select(['id', 'workspace_id', 'email_id', 'url', 'created_at', 'clicks', 'first_clicked_at', 'last_clicked_at'])
    .where('id', '=', slot('id')),
)

export const insertHtmlEdits = prepareWrite<Selectable<Tables['html_edits']>>(({ db, slots }) =>
  db.insertInto('html_edits').values(slots(['email_id', 'workspace_id', 'created_at', 'edits'])),
)

interface EmailRef {
  readonly workspaceId: string
  readonly emailId: string
}

const htmlEditsOf = prepareRead<EmailRef>()(({ db, slot }) =>
  db
    .selectFrom('html_edits')
    .select('edits')
    .where('email_id', '=', slot('emailId'))
    .where('workspace_id', '=', slot('workspaceId')),
)

/** Finds what restores the HTML of an email as it was submitted. Returns null if the email is not tracked. */
export function createHtmlChangeFinder(read: Read): (email: EmailRef) => Promise<HtmlChangeRequest | null> {
  return async (email) => {
    const facts = await findTrackedHtml(read, email)
    return facts === null ? null : { module: htmlChange.module.href, facts }
  }
}

/** Returns null if the email is not tracked. */
export async function findTrackedHtml(read: Read, email: EmailRef): Promise<TrackedHtml | null> {
  const { emailId } = email
  if (isFramed(emailId)) return { emailId, edits: null }
  const [row] = await htmlEditsOf(read, email)
  return row === undefined ? null : { emailId, edits: row.edits }
}

const BATCH_SIZE = 500

const linksBelow = prepareRead<{ id: string }>()(({ db, slot }) =>
  db.selectFrom('links').select('id').where('id', '<', slot('id')).orderBy('id').limit(BATCH_SIZE),
)

const removeLinksUpTo = prepareWrite<{ id: string }>(({ db, slot }) =>
  db.deleteFrom('links').where('id', '<=', slot('id')),
)

/** Removes some links that were made before `before`, oldest first. Resolves to true if there may be more. */
export async function removeOldLinks({ read, commit }: Store, before: number): Promise<boolean> {
  const old = await linksBelow(read, { id: firstLinkIdOf(before) })
  const last = old.at(-1)
  if (last !== undefined) await commit([removeLinksUpTo(last)])
  return old.length === BATCH_SIZE
}
