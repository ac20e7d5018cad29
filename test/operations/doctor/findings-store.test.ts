/**
 * Each node has findings and runs of its own, which go when the node is removed.
 *
 * Runs alone: it sets the engine of its process.
 */
import t, { type Test } from 'tap'
import type { Database } from '../../../src/base/storage/db/database.js'
import { OPERATOR_WORKSPACE_KEY, setServiceState } from '../../../src/base/storage/db/service-state.js'
import { forgetNode } from '../../../src/base/storage/postgres/node-rows.js'
import { storeDailyRun } from '../../../src/operations/doctor/daily/daily-run.js'
import type { FindingState } from '../../../src/operations/doctor/finding.js'
import {
  readAllFindings,
  readFindings,
  readLastRun,
  readRunsOfAll,
  storeRun,
} from '../../../src/operations/doctor/findings-store.js'
import {
  openTestPostgres,
  openTestStore,
  stopServer,
  temporaryPostgres,
} from '../../helpers/database/postgres-database.js'
import { seedDatabase } from '../../helpers/database/seed-data.js'
import { withoutPostgres } from '../../helpers/programs/postgres.js'
import { waitUntil } from '../../helpers/wait-until.js'

t.teardown(stopServer)

const skip = withoutPostgres
const log = { info: () => undefined, warn: () => undefined }

function runAt(database: Database, at: number, ...found: readonly (readonly [string, FindingState])[]) {
  const findings = found.map(([subject, state]) => ({ check: 'ptr', subject, state, text: subject, remedy: [] }))
  return storeDailyRun({ ...database, log }, findings, at)
}

const listAll = async ({ read }: Database) =>
  (await readAllFindings(read)).map(({ node, subject, failedAt }) => `${node} ${subject} ${failedAt}`)

async function openTwo(t: Test) {
  const url = await temporaryPostgres(t)
  const one = await openTestPostgres(t, url, { node: 'one', mayBeTaken: true })
  const two = await openTestPostgres(t, url, { node: 'two' })
  return { url, one, two }
}

t.test('a run of a node neither resolves nor overwrites the findings of another', { skip }, async (t) => {
  const { one, two } = await openTwo(t)
  const { workspaceId } = await seedDatabase(one)
  await one.commit([setServiceState({ key: OPERATOR_WORKSPACE_KEY, value: workspaceId })])
  await runAt(one, 1, ['a', 'fail'], ['common', 'fail'])
  await runAt(two, 2, ['common', 'warn'], ['b', 'ok'])
  const { recovered } = await runAt(one, 3, ['a', 'fail'], ['common', 'ok'])
  t.match(recovered, [{ subject: 'common', failedAt: 1 }])
  t.same(await listAll(one), ['one a 1', 'two common 2'])
  const events = await two.read<{ type: string; data: string }>(
    `select type, data from events where type in ('service.check_failed', 'service.check_recovered') order by seq`,
    [],
  )
  t.same(
    events.map(({ type, data }) => `${type} ${JSON.parse(data).subject} ${JSON.parse(data).node}`),
    [
      'service.check_failed a one',
      'service.check_failed common one',
      'service.check_failed common two',
      'service.check_recovered common one',
    ],
  )
  t.match(await readLastRun(one.read, 'one'), { at: 3, totals: { ok: 1, warn: 0, fail: 1 } })
  t.match(await readLastRun(one.read, 'two'), { at: 2, totals: { ok: 1, warn: 1, fail: 0 } })
  t.match(await readRunsOfAll(one.read), { at: 3, totals: { ok: 2, warn: 1, fail: 1 } })
})

t.test('the findings of a removed node go', { skip }, async (t) => {
  const { url, one, two } = await openTwo(t)
  await runAt(one, 1, ['a', 'fail'])
  await runAt(two, 2, ['b', 'fail'])
  const store = await openTestStore(t, url)
  await store.commit([
    { sql: `update fence set beat = now() - interval '31 seconds' where node = 'one'`, parameters: [] },
  ])
  await waitUntil('it is adopted', () => two.node.slots().length > 1)
  t.same(await listAll(two), ['one a 1', 'two b 2'], 'an adoption changes nothing: the machine is as it was')
  await store.commit(forgetNode('one'))
  t.same(await listAll(two), ['two b 2'])
  t.match(await readRunsOfAll(two.read), { at: 2, totals: { fail: 1 } })
})

t.test('what a copy from SQLite brings is taken over by the next run', { skip }, async (t) => {
  const { url, one } = await openTwo(t)
  const store = await openTestStore(t, url)
  await store.commit([
    {
      sql: `insert into doctor_findings (workspace_id, check_name, subject, state, text, remedy, failed_at, checked_at, noticed)
        values ('service', 'ptr', 'a', 'fail', 'a', '[]', 1, 1, 1), ('service', 'ptr', 'b', 'fail', 'b', '[]', 1, 1, 1)`,
      parameters: [],
    },
    ...storeRun({ at: 1, noticedAt: 0, totals: { ok: 0, warn: 0, fail: 2 }, unanswered: [] }, ''),
  ])
  t.equal((await readFindings(one.read, 'one')).length, 2)
  await runAt(one, 5, ['a', 'fail'], ['b', 'ok'])
  t.same(await listAll(one), ['one a 1'])
  t.match(await readRunsOfAll(one.read), { at: 5, totals: { ok: 1, fail: 1 } })
})
