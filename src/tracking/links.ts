/** The rows of tracked links, and what restores the HTML of an email as it was submitted. */
import type { Selectable } from 'kysely'
import { prepareRead, prepareWrite } from '../storage/prepared.js'
import type { Tables } from '../storage/tables/tables.js'

type Link = Selectable<Tables['links']>

export const insertLink = prepareWrite<Pick<Link, 'id' | 'workspace_id' | 'email_id' | 'url' | 'created_at'>>(
  ({ db, slots }) =>
    db.insertInto('links').values({
      ...slots(['id', 'workspace_id', 'email_id', 'url', 'created_at']),
      clicks: 0,
      first_clicked_at: null,
      last_clicked_at: null,
    }),
)

/** Of any workspace: a click has no key. */
export const linkById = prepareRead<{ id: string }>()(({ db, slot }) =>
  db
    .selectFrom('links')
    .select(['id', 'workspace_id', 'email_id', 'url', 'created_at', 'clicks', 'first_clicked_at', 'last_clicked_at'])
    .where('id', '=', slot('id')),
)

export const insertHtmlEdits = prepareWrite<Selectable<Tables['html_edits']>>(({ db, slots }) =>
  db.insertInto('html_edits').values(slots(['email_id', 'workspace_id', 'created_at', 'edits'])),
)

export const htmlEditsOf = prepareRead<{ workspaceId: string; emailId: string }>()(({ db, slot }) =>
  db
    .selectFrom('html_edits')
    .select('edits')
    .where('email_id', '=', slot('emailId'))
    .where('workspace_id', '=', slot('workspaceId')),
)
