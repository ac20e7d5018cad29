/**
 * Rows of turns are removed, and a turn stays one whatever becomes of its row.
 *
 * Runs alone: it sets the engine of its process.
 */
import t from 'tap'
import type { Database } from '../../../../src/base/storage/db/database.js'
import { TurnPurge } from '../../../../src/base/storage/postgres/old-turns.js'
import { openTestPostgres, stopServer, temporaryPostgres } from '../../../helpers/database/postgres-database.js'
import { withoutPostgres } from '../../../helpers/programs/postgres.js'

t.teardown(stopServer)

const skip = withoutPostgres
const LIMIT = 150

const countTurns = async ({ read }: Database): Promise<number> =>
  (await read<{ count: number }>('select count(*) as count from turns', []))[0]?.count ?? -1

/** Adds one if the sum of all slots is below the limit, as commits of a quota do. */
const addBelowLimit = {
  sql: `insert into usage (workspace_id, kind, bucket, count)
    select 'w', 'emails', 0, 1 where coalesce((select sum(count) from usage where workspace_id = 'w'), 0) < ${LIMIT}
    on conflict (workspace_id, kind, bucket, slot) do update set count = usage.count + 1`,
  parameters: [],
  turn: 'usage of w',
}

t.test('all rows go, in portions', { skip }, async (t) => {
  const database = await openTestPostgres(t, await temporaryPostgres(t))
  await database.commit(
    Array.from({ length: 205 }, (_, at) => ({ sql: 'select 1', parameters: [], turn: `usage of ws_${at}` })),
  )
  t.equal(await countTurns(database), 205)
  const purge = new TurnPurge(database)
  t.ok(await purge.step())
  t.ok(await purge.step())
  t.notOk(await purge.step())
  t.equal(await countTurns(database), 0)
})

t.test('a limit stays exact while the row of its turn is removed again and again', { skip }, async (t) => {
  const url = await temporaryPostgres(t)
  const one = await openTestPostgres(t, url, { node: 'one' })
  const two = await openTestPostgres(t, url, { node: 'two' })
  let isDone = false
  let removals = 0
  const purge = async (): Promise<void> => {
    for (; !isDone; removals++) await new TurnPurge(two).step()
  }
  const add = async (database: Database): Promise<void> => {
    for (let at = 0; at < LIMIT; at++) await database.commit([addBelowLimit])
  }
  const purging = purge()
  await Promise.all([add(one), add(two)])
  isDone = true
  await purging
  t.ok(removals > 1)
  t.match(await one.read('select sum(count)::bigint as sum from usage', []), [{ sum: LIMIT }])
})
