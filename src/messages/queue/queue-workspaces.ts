/** Walks the workspaces that have entries in the queue: one step of an index each. */
import { prepareRead } from '../../storage/prepared.js'

export const nextWorkspaceInQueue = prepareRead<{ after: string }>()(({ db, slot }) =>
  db
    .selectFrom('queue')
    .select('workspace_id')
    .where('workspace_id', '>', slot('after'))
    .orderBy('workspace_id')
    .limit(1),
)
