/**
 * The operator's workspace, which receives mail to `postmaster` and `abuse` of the service.
 *
 * It is the first workspace that the command line creates, until the operator chooses another. We store its id, so
 * it never changes without a command. You cannot close it (`storage/maintenance/erase.ts`).
 */
import { sql } from 'kysely'
import { SharedLoads } from '../../../base/platform/shared-loads.js'
import { type Awaitable, prepareRead, prepareWrite, type Read } from '../../../base/storage/db/prepared.js'
import { initServiceState, OPERATOR_WORKSPACE_KEY } from '../../../base/storage/db/service-state.js'
import type { FollowsTables } from '../../../base/storage/db/table-changes.js'
import type { Write } from '../../../base/storage/db/write.js'
import { roleIn } from './workspaces.js'

const storedOperatorWorkspace = prepareRead<{ key: string }>()(({ db, slot }) =>
  db
    .selectFrom('service_state')
    .innerJoin('workspaces', 'workspaces.id', 'service_state.value')
    .select('workspaces.id')
    .where('service_state.key', '=', slot('key')),
)

/** Null means that there is none yet. */
export async function findOperatorWorkspace(read: Read): Promise<string | null> {
  return (await storedOperatorWorkspace(read, { key: OPERATOR_WORKSPACE_KEY }))[0]?.id ?? null
}

/**
 * The operator's workspace, if the user is its owner or admin. Null means that the user does not operate the
 * service.
 */
export async function findOperatedBy(read: Read, userId: string): Promise<string | null> {
  const workspaceId = await findOperatorWorkspace(read)
  const role = workspaceId === null ? undefined : (await roleIn(read, { workspaceId, userId }))[0]?.role
  return role === 'owner' || role === 'admin' ? workspaceId : null
}

/**
 * Caches the operator's workspace, which only the command line changes. While there is none, it reads the database
 * each time, because the quickstart makes one in its own process.
 */
export class OperatorWorkspaceCache implements FollowsTables {
  readonly follows = ['service_state', 'workspaces'] as const

  private known: string | null = null
  private readonly loads = new SharedLoads<string | null>()

  constructor(private readonly deps: { readonly read: Read }) {}

  /** The same as `findOperatorWorkspace`. */
  find(): Awaitable<string | null> {
    return (
      this.known ??
      this.loads.join(
        OPERATOR_WORKSPACE_KEY,
        () => findOperatorWorkspace(this.deps.read),
        (found) => {
          this.known = found
        },
      )
    )
  }

  /** Forgets the workspace, because another process has changed which one it is. */
  drop(): void {
    this.known = null
    this.loads.forgetAll()
  }
}

/** Makes a workspace of the operator the operator's workspace, if there is none yet. */
export function initOperatorWorkspace(id: string): Write {
  return initServiceState({ key: OPERATOR_WORKSPACE_KEY, value: id })
}

const upsertOperatorWorkspace = prepareWrite<{ key: string; id: string }>(
  ({ db, slot }) =>
    db
      .insertInto('service_state')
      .columns(['key', 'value'])
      .expression((eb) =>
        eb
          .selectFrom('workspaces')
          .select([sql<string>`${slot('key')}`.as('key'), 'workspaces.id as value'])
          .where('workspaces.id', '=', slot('id')),
      )
      .onConflict((conflict) =>
        conflict.column('key').doUpdateSet({ value: sql<string>`${sql.ref('excluded.value')}` }),
      ),
  1,
)

/** Misses when the workspace does not exist. */
export function setOperatorWorkspace(id: string): Write {
  return upsertOperatorWorkspace({ key: OPERATOR_WORKSPACE_KEY, id })
}
