/**
 * The end of an audience: it is gone at once, and its contacts follow.
 *
 * One commit takes the audience away and notes that its contacts are to be removed; from then
 * on nothing can be put into it. They go in small commits, so that mail flows on meanwhile,
 * however many they are; a daemon that stops in between goes on with it when it starts.
 *
 * Limit: until they are removed they are still met in the list of all contacts.
 */

import type { Store } from '../storage/database.js'
import { prepareRead, prepareWrite } from '../storage/prepared.js'
import type { Tables } from '../storage/tables/tables.js'
import type { Write } from '../storage/writer/write.js'
import type { Audience } from './audiences.js'

export interface DeletedAudience {
  readonly workspaceId: string
  readonly audienceId: string
}

/** Contacts of one commit: some ten milliseconds of the writer. */
const BATCH_SIZE = 500

const removeAudience = prepareWrite<{ workspaceId: string; id: string }>(
  ({ db, slot }) =>
    db.deleteFrom('audiences').where('workspace_id', '=', slot('workspaceId')).where('id', '=', slot('id')),
  1,
)

const insertRemoval = prepareWrite<Tables['audience_removals']>(({ db, slot }) =>
  db.insertInto('audience_removals').values({
    audience_id: slot('audience_id'),
    workspace_id: slot('workspace_id'),
    created_at: slot('created_at'),
  }),
)

/** Misses when the audience is gone already. */
export function deleteAudience({ workspace_id, id }: Audience, at: number): readonly Write[] {
  return [
    removeAudience({ workspaceId: workspace_id, id }),
    insertRemoval({ audience_id: id, workspace_id, created_at: at }),
  ]
}

/** Of all workspaces: at a start, those that were cut off. */
export const listPendingRemovals = prepareRead<Record<never, never>>()(({ db }) =>
  db.selectFrom('audience_removals').select(['workspace_id as workspaceId', 'audience_id as audienceId']),
)

const findAnyContact = prepareRead<DeletedAudience>()(({ db, slot }) =>
  db
    .selectFrom('contacts')
    .select('id')
    .where('workspace_id', '=', slot('workspaceId'))
    .where('audience_id', '=', slot('audienceId'))
    .limit(1),
)

const removeContactBatch = prepareWrite<DeletedAudience>(({ db, slot }) =>
  db
    .deleteFrom('contacts')
    .where('workspace_id', '=', slot('workspaceId'))
    .where('id', 'in', (eb) =>
      eb
        .selectFrom('contacts')
        .select('id')
        .where('workspace_id', '=', slot('workspaceId'))
        .where('audience_id', '=', slot('audienceId'))
        .orderBy('id')
        .limit(BATCH_SIZE),
    ),
)

const removeCount = prepareWrite<DeletedAudience>(({ db, slot }) =>
  db
    .deleteFrom('contact_counts')
    .where('workspace_id', '=', slot('workspaceId'))
    .where('list', '=', slot('audienceId')),
)

const finishRemoval = prepareWrite<DeletedAudience>(({ db, slot }) =>
  db
    .deleteFrom('audience_removals')
    .where('workspace_id', '=', slot('workspaceId'))
    .where('audience_id', '=', slot('audienceId')),
)

/** Rejects with the signal's reason when it is aborted between two commits. */
export async function removeAudienceContacts(
  { read, commit }: Store,
  gone: DeletedAudience,
  signal: AbortSignal,
): Promise<void> {
  while (findAnyContact(read, gone).length > 0) {
    signal.throwIfAborted()
    await commit([removeContactBatch(gone)])
  }
  await commit([removeCount(gone), finishRemoval(gone)])
}
