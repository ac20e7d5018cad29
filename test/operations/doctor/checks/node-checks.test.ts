/**
 * Nodes that do not live, and versions that differ for long.
 *
 * Runs alone: it sets the engine of its process.
 */
import t from 'tap'
import { DAY } from '../../../../src/base/platform/time-units.js'
import type { CheckDeps } from '../../../../src/operations/doctor/check.js'
import { judgeNodes, nodeChecks } from '../../../../src/operations/doctor/checks/node-checks.js'
import { nodeRow } from '../../../helpers/database/node-row.js'
import { openTestPostgres, stopServer, temporaryPostgres } from '../../../helpers/database/postgres-database.js'
import { testConfig } from '../../../helpers/doctor/test-config.js'
import { withoutPostgres } from '../../../helpers/programs/postgres.js'

t.teardown(stopServer)

const NOW = 100 * DAY
const one = nodeRow({ leads: 1, joined_at: NOW - 50 * DAY })
const two = nodeRow({ name: 'two', joined_at: NOW - 40 * DAY })

t.test('nodes that live, or have ended a moment ago', async (t) => {
  const expected = [{ subject: 'nodes', state: 'ok', text: '1 of 2 live; one leads' }]
  t.match(judgeNodes([one, two], NOW), [{ state: 'ok', text: '2 of 2 live; one leads' }])
  t.match(judgeNodes([one, { ...two, is_held: 0, silence: 60 }], NOW), expected)
  const adopted = { ...two, is_held: 0, silence: 2e9, adopted_by: 'one' }
  t.match(judgeNodes([one, { ...adopted, adopted_at: NOW - 3 * DAY }], NOW), expected)
  t.match(judgeNodes([one, { ...adopted, adopted_at: NOW - 3 * DAY - 1 }], NOW), [
    {
      subject: 'two',
      state: 'warn',
      text: /^it has not worked for 3 days; one has/,
      remedy: [/^posthorn node remove two /],
    },
  ])
})

t.test('a node that nobody adopts', async (t) => {
  t.match(judgeNodes([one, { ...two, silence: 61 }], NOW), [
    {
      subject: 'two',
      state: 'warn',
      text: /^it is silent, and no node has adopted it/,
      remedy: [/machine of two$/, /list/],
    },
  ])
  t.match(judgeNodes([{ ...one, is_held: 0, silence: 61 }], NOW), [{ subject: 'one', text: /^it is stopped/ }])
})

t.test('versions may differ for a day', async (t) => {
  const newer = { ...two, version: '0.2.0' }
  t.match(judgeNodes([one, { ...newer, joined_at: NOW - DAY }], NOW), [{ state: 'ok' }])
  t.match(judgeNodes([one, { ...newer, joined_at: NOW - DAY - 1 }], NOW), [
    {
      subject: 'versions',
      state: 'warn',
      text: /for 24 hours: one 0\.1\.0, two 0\.2\.0$/,
      remedy: [/^posthorn node drain/],
    },
  ])
  t.match(judgeNodes([one, newer, { ...newer, joined_at: NOW }], NOW), [{ state: 'warn' }], 'one more changes nothing')
  t.match(judgeNodes([one, { ...newer, is_held: 0, silence: 30 }], NOW), [{ state: 'ok' }], 'one that has ended')
})

t.test('nothing is said on SQLite', async (t) => {
  const read = () => t.fail('there is no such table')
  t.same(await nodeChecks[0]?.run({ config: testConfig({}), read, clock: () => NOW } as unknown as CheckDeps), [])
})

t.test('the nodes of a database', { skip: withoutPostgres }, async (t) => {
  const url = await temporaryPostgres(t)
  const { read } = await openTestPostgres(t, url, { node: 'one' })
  await openTestPostgres(t, url, { node: 'two' })
  const deps = { config: testConfig({ storage: { url } }), read, clock: () => NOW }
  t.match(await nodeChecks[0]?.run(deps as unknown as CheckDeps), [{ state: 'ok', text: '2 of 2 live; one leads' }])
})
