/**
 * Stores the scopes whose bounces or complaints are not ok, with their state. Each change is one guarded write: if two
 * changes start at the same moment, only one takes place.
 */
import { type Selectable, sql } from 'kysely'
import { prepareRead, prepareWrite, type Read } from '../../base/storage/db/prepared.js'
import type { BreakerStatesTable } from '../../base/storage/tables/breaker-tables.js'
import type { ScopeRef } from './outcome-counts.js'

export type BreakerState = Selectable<BreakerStatesTable>

/** The most rows that one read returns. */
export const MAX_STATES = 200

export const insertState = prepareWrite<BreakerState>(({ db, slots }) =>
  db
    .insertInto('breaker_states')
    .values(
      slots([
        ...(['workspace_id', 'scope', 'subject', 'state', 'cause', 'since'] as const),
        ...(['messages', 'failures', 'limit_hundredths', 'hold_rule'] as const),
      ]),
    ),
)

/** Removes a state. Misses if the state has changed since it was read. */
export const removeState = prepareWrite<ScopeRef & Pick<BreakerState, 'state' | 'since'>>(
  ({ db, slot }) =>
    db
      .deleteFrom('breaker_states')
      .where('workspace_id', '=', slot('workspaceId'))
      .where('scope', '=', slot('scope'))
      .where('subject', '=', slot('subject'))
      .where('state', '=', slot('state'))
      .where('since', '=', slot('since')),
  1,
)

export const stateOfScope = prepareRead<ScopeRef>()(({ db, slot }) =>
  db
    .selectFrom('breaker_states')
    .selectAll()
    .where('workspace_id', '=', slot('workspaceId'))
    .where('scope', '=', slot('scope'))
    .where('subject', '=', slot('subject')),
)

/** The states of a workspace, in the order of their scopes. */
export const statesOfWorkspace = prepareRead<{ workspaceId: string; limit: number }>()(({ db, slot }) =>
  db
    .selectFrom('breaker_states')
    .selectAll()
    .where('workspace_id', '=', slot('workspaceId'))
    .orderBy('scope')
    .orderBy('subject')
    .limit(slot('limit')),
)

/** Reads the states of all workspaces that follow this place in the order of the key. */
export const statesAfter = prepareRead<ScopeRef & { limit: number }>()(({ db, slot }) =>
  db
    .selectFrom('breaker_states')
    .selectAll()
    .where(
      sql<boolean>`(workspace_id, scope, subject) > (${slot('workspaceId')}, ${slot('scope')}, ${slot('subject')})`,
    )
    .orderBy('workspace_id')
    .orderBy('scope')
    .orderBy('subject')
    .limit(slot('limit')),
)

/** SQLite counts these rows, so that the main thread reads only the number. */
const scopesInState = prepareRead<Pick<BreakerState, 'state' | 'scope'> & { limit: number }>()(({ db, slot }) =>
  db
    .selectFrom(
      db
        .selectFrom('breaker_states')
        .select('subject')
        .where('state', '=', slot('state'))
        .where('scope', '=', slot('scope'))
        .limit(slot('limit'))
        .as('some'),
    )
    .select(({ fn }) => fn.countAll<number>().as('count')),
)

/** The count stops here. */
const MAX_COUNTED = 10_000

export async function countScopes(
  read: Read,
  { state, scope }: Pick<BreakerState, 'state' | 'scope'>,
): Promise<number> {
  return (await scopesInState(read, { state, scope, limit: MAX_COUNTED }))[0]?.count ?? 0
}
