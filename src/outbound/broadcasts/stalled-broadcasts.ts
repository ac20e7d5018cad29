/** Reads the broadcasts of a workspace that do not continue: paused ones, and those that wait for a limit. */
import { sql } from 'kysely'
import { prepareRead } from '../../base/storage/db/prepared.js'

/** The first conditions must be the same as in the index `broadcasts_active`. */
export const stalledBroadcasts = prepareRead<{ workspaceId: string; limit: number }>()(({ db, slot }) =>
  db
    .selectFrom('broadcasts')
    .select(['id', 'name', 'status', 'waits_until', 'note'])
    .where('workspace_id', '=', slot('workspaceId'))
    .where(sql<boolean>`status <> 'draft'`)
    .where('finished_at', 'is', null)
    .where(sql<boolean>`(status = 'paused' or waits_until is not null)`)
    .limit(slot('limit')),
)
