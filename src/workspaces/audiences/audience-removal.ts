/**
 * The removal of an audience. The audience is deleted at once, its contacts afterwards.
 *
 * One commit deletes the audience and records the removal. From then on no contact can be added to it. Small commits
 * remove the contacts, so that other commits go on at the same time. A removal that is cut off resumes when the
 * daemon starts.
 *
 * Limit: until they are removed, the contacts are still in the list of all contacts.
 */
import type { Log } from '../../base/platform/log.js'
import type { Store } from '../../base/storage/db/database.js'
import { prepareRead, prepareWrite } from '../../base/storage/db/prepared.js'
import { RemovalRunner } from '../../base/storage/db/removal-runner.js'
import type { Write } from '../../base/storage/db/write.js'
import type { Tables } from '../../base/storage/tables/tables.js'
import type { Audience } from './audiences.js'

interface DeletedAudience {
  readonly workspaceId: string
  readonly audienceId: string
}

/** Contacts of one commit, which takes some ten milliseconds of the writer. */
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

/** Misses when the audience is deleted already. */
export function deleteAudience({ workspace_id, id }: Audience, at: number): readonly Write[] {
  return [
    removeAudience({ workspaceId: workspace_id, id }),
    insertRemoval({ audience_id: id, workspace_id, created_at: at }),
  ]
}

/** The removals of all workspaces that have not finished. At a start, these are the removals that were cut off. */
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

/** Rejects with the signal's reason when the signal aborts between two commits. */
async function removeAudienceContacts(
  { read, commit }: Store,
  audience: DeletedAudience,
  signal: AbortSignal,
): Promise<void> {
  while ((await findAnyContact(read, audience)).length > 0) {
    signal.throwIfAborted()
    await commit([removeContactBatch(audience)])
  }
  await commit([removeCount(audience), finishRemoval(audience)])
}

interface AudienceRemovalRunnerDeps extends Store {
  readonly log: Pick<Log, 'error'>
  /** Milliseconds that a deletion waits for its contacts at most. */
  readonly maxWait?: number
  /** Milliseconds from a fault to the next try. */
  readonly retryDelay?: number
}

export type AudienceRemovalRunner = RemovalRunner<DeletedAudience>

export function createAudienceRemovalRunner(deps: AudienceRemovalRunnerDeps): AudienceRemovalRunner {
  const { read, commit, log, maxWait, retryDelay } = deps
  return new RemovalRunner<DeletedAudience>({
    listPending: async () => listPendingRemovals(read, {}),
    idOf: ({ audienceId }) => audienceId,
    remove: (audience, signal) => removeAudienceContacts({ read, commit }, audience, signal),
    onFault: (err, { workspaceId: workspace, audienceId: audience }) =>
      log.error({ err, workspace, audience }, 'contacts of a deleted audience cannot be removed now'),
    maxWait,
    retryDelay,
  })
}
