/**
 * Reads that find the broadcasts with work to do, and the contacts of one. Each walks an index, so its cost follows the
 * broadcasts that are under way, not those that wait for their time or are over.
 */
import { sql } from 'kysely'
import { prepareRead } from '../storage/prepared.js'

/** The condition is that of the index `broadcasts_running`. Sending, paused, or cancelled with entries left in the queue: of all workspaces. */
export const runningBroadcasts = prepareRead<Record<never, never>>()(({ db }) =>
  db
    .selectFrom('broadcasts')
    .select(['id', 'workspace_id', 'status'])
    .where(sql<boolean>`status in ('sending', 'paused', 'cancelled')`)
    .where('finished_at', 'is', null),
)

/** Scheduled ones whose time has come, the oldest first. */
export const dueBroadcasts = prepareRead<{ now: number; limit: number }>()(({ db, slot }) =>
  db
    .selectFrom('broadcasts')
    .select(['id', 'workspace_id', 'status'])
    .where('status', '=', sql.lit('scheduled'))
    .where('scheduled_for', '<=', slot('now'))
    .orderBy('scheduled_for')
    .limit(slot('limit')),
)

interface ContactsQuery {
  readonly workspaceId: string
  readonly audienceId: string
  /** Contacts after this id, up to and with the other. */
  readonly after: string
  readonly ceiling: string
  readonly limit: number
}

/** Contacts of an audience in the order of their ids. */
export const nextContacts = prepareRead<ContactsQuery>()(({ db, slot }) =>
  db
    .selectFrom('contacts')
    .selectAll()
    .where('workspace_id', '=', slot('workspaceId'))
    .where('audience_id', '=', slot('audienceId'))
    .where('id', '>', slot('after'))
    .where('id', '<=', slot('ceiling'))
    .orderBy('id')
    .limit(slot('limit')),
)
