/** Facts of this installation that outlive a restart: secrets, times of periodic work. */
import { sql } from 'kysely'
import { prepareRead, prepareWrite } from './prepared.js'

/** The id of the operator's workspace: see `workspaces/accounts/workspace/operator-workspace.ts`. */
export const OPERATOR_WORKSPACE_KEY = 'operator_workspace'

export const readServiceState = prepareRead<{ key: string }>()(({ db, slot }) =>
  db.selectFrom('service_state').select('value').where('key', '=', slot('key')),
)

/** The key of a value that each node has for itself. It goes when the node is removed: see `forgetNode`. */
export function nodeKeyOf(key: string, node: string): string {
  return node === '' ? key : `${key}@${node}`
}

/** Keeps an existing value, so that two processes that start at once agree. */
export const initServiceState = prepareWrite<{ key: string; value: string }>(({ db, slot }) =>
  db
    .insertInto('service_state')
    .values({ key: slot('key'), value: slot('value') })
    .onConflict((conflict) => conflict.column('key').doNothing()),
)

export const setServiceState = prepareWrite<{ key: string; value: string }>(({ db, slot }) =>
  db
    .insertInto('service_state')
    .values({ key: slot('key'), value: slot('value') })
    .onConflict((conflict) => conflict.column('key').doUpdateSet({ value: slot('value') })),
)

/** Misses if there is another value than `expected`. */
export const replaceServiceState = prepareWrite<{ key: string; expected: string; value: string }>(
  ({ db, slot }) =>
    db
      .insertInto('service_state')
      .values({ key: slot('key'), value: slot('value') })
      .onConflict((conflict) =>
        conflict
          .column('key')
          .doUpdateSet({ value: slot('value') })
          .where('service_state.value', '=', slot('expected')),
      ),
  1,
)

export const removeServiceState = prepareWrite<{ key: string }>(({ db, slot }) =>
  db.deleteFrom('service_state').where('key', '=', slot('key')),
)

/** Removes the keys from `from` to before `to` if their values are times before `before`, in epoch milliseconds. */
export const removeOldTimes = prepareWrite<{ from: string; to: string; before: number }>(({ db, slot }) =>
  db
    .deleteFrom('service_state')
    .where('key', '>=', slot('from'))
    .where('key', '<', slot('to'))
    .where(sql<number>`cast(value as bigint)`, '<', slot('before')),
)
