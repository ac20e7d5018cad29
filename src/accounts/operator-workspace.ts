/**
 * The operator's workspace: whose mail to `postmaster` and `abuse` of the service is.
 *
 * It is stored, so that no other workspace ever takes its place by itself: the first one that the
 * command line makes, until the operator names another. It cannot be closed (`storage/maintenance/erase.ts`).
 */
import { sql } from 'kysely'
import { prepareRead, prepareWrite, type Read } from '../storage/prepared.js'
import { initServiceState, OPERATOR_WORKSPACE_KEY } from '../storage/service-state.js'
import type { Write } from '../storage/writer/write.js'

const storedOperatorWorkspace = prepareRead<{ key: string }>()(({ db, slot }) =>
  db
    .selectFrom('service_state')
    .innerJoin('workspaces', 'workspaces.id', 'service_state.value')
    .select('workspaces.id')
    .where('service_state.key', '=', slot('key')),
)

/** Null: there is none yet. */
export function findOperatorWorkspace(read: Read): string | null {
  return storedOperatorWorkspace(read, { key: OPERATOR_WORKSPACE_KEY })[0]?.id ?? null
}

/** Of a workspace that the operator makes: it is theirs where none is yet. */
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

/** Misses when there is no such workspace any more. */
export function setOperatorWorkspace(id: string): Write {
  return upsertOperatorWorkspace({ key: OPERATOR_WORKSPACE_KEY, id })
}
