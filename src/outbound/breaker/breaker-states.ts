/**
 * Stores the scopes whose bounces or complaints are not ok, with their state. Each change is one guarded write: of two
 * at the same moment, one takes place.
 */
import { type Selectable, sql } from 'kysely'
import { prepareRead, prepareWrite, type Read } from '../../base/storage/db/prepared.js'
import type { BreakerStatesTable } from '../../base/storage/tables/breaker-tables.js'
import type { ScopeRef } from './outcome-counts.js'

export type BreakerState = Selectable<BreakerStatesTable>

/** Rows of one read. */
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

/** Misses if its state is another by now. */
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

/** In the order of their scopes. */
export const statesOfWorkspace = prepareRead<{ workspaceId: string; limit: number }>()(({ db, slot }) =>
  db
    .selectFrom('breaker_states')
    .selectAll()
    .where('workspace_id', '=', slot('workspaceId'))
    .orderBy('scope')
    .orderBy('subject')
    .limit(slot('limit')),
)

/** Covers all workspaces, after this place in the order of the key. */
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

/** Counted by SQLite. */
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

/** More are not counted. */
const MAX_COUNTED = 10_000

export function countScopes(read: Read, { state, scope }: Pick<BreakerState, 'state' | 'scope'>): number {
  return scopesInState(read, { state, scope, limit: MAX_COUNTED })[0]?.count ?? 0
}
