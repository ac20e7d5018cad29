/** The broadcasts of a workspace that do not go on: paused ones, and those that wait because a limit is used up. */
import { prepareRead } from '../storage/prepared.js'

/** By `broadcasts_active`, which has those that may still have messages to make. */
export const stalledBroadcasts = prepareRead<{ workspaceId: string; limit: number }>()(({ db, slot }) =>
  db
    .selectFrom('broadcasts')
    .select(['id', 'name', 'status', 'waits_until', 'note'])
    .where('workspace_id', '=', slot('workspaceId'))
    .where('status', '<>', 'draft')
    .where('finished_at', 'is', null)
    .where((eb) => eb.or([eb('status', '=', 'paused'), eb('waits_until', 'is not', null)]))
    .limit(slot('limit')),
)
