/**
 * Metrics after random histories: roll-ups are what counting anew gives, whatever happened to emails in which order,
 * those that were removed included. Each history is made with the writes of the program itself.
 */
// Of SQLite alone: the recount is a repair of its file.
import assert from 'node:assert/strict'
import { dirname } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { DataFolderHeld, lockDataFolder } from '../../../../src/base/storage/db/data-lock.js'
import { repairData, verifyData } from '../../../../src/base/storage/maintenance/verify.js'
import { countAgain } from '../../../../src/base/storage/schema/metrics.js'
import { arbitraryHistory, type Step } from '../../../helpers/database/arbitrary-history.js'
import { temporaryDatabase } from '../../../helpers/database/database.js'
import { History } from '../../../helpers/database/email-history.js'
import { expectedMetrics, storedMetrics } from '../../../helpers/database/expected-metrics.js'

const metricsProblems = (file: string): unknown =>
  verifyData(file).filter(({ check }) => /^(email|link)-metrics$|^(email|recipient)-counts$/.test(check))

t.test('roll-ups equal a recount after any history', async (t) => {
  const seen = new Set<string>()
  await fc.assert(
    fc.asyncProperty(arbitraryHistory, async (steps) => {
      const { database, file } = await temporaryDatabase(t)
      const history = new History(database)
      await history.run(steps)
      assert.deepEqual(await storedMetrics(database.read), expectedMetrics(history))
      assert.deepEqual(metricsProblems(file), [])
      for (const word of history.seen()) seen.add(word)
      await database.close()
    }),
    { numRuns: 30, endOnFailure: true },
  )
  const statuses = ['scheduled', 'queued', 'sent', 'delivered', 'bounced', 'failed', 'cancelled', 'complained']
  const hits = ['email.opened', 'email.clicked', 'machine email.opened', 'machine email.clicked']
  const rest = ['swept', 'broadcast', 'removed', 'erased']
  t.same(
    [...statuses, ...hits, ...rest].filter((word) => !seen.has(word)),
    [],
    'the histories have them all',
  )
})

/** One history with something of everything but removals, which cannot be counted again. */
const steps: readonly Step[] = [
  // On an earlier day, because the clicks of the day on which the links begin need not all be there.
  { kind: 'send', workspace: 0, domain: 2, tags: [], recipients: 1, form: 'now' },
  { kind: 'wait', minutes: 1_440 },
  { kind: 'send', workspace: 0, domain: 0, tags: [0, 1, 2], recipients: 2, form: 'now' },
  { kind: 'send', workspace: 1, domain: 1, tags: [], recipients: 1, form: 'scheduled' },
  { kind: 'settle', email: 1, outcome: 'delivered' },
  { kind: 'settle', email: 1, outcome: 'bounced' },
  { kind: 'wait', minutes: 20 },
  { kind: 'send', workspace: 0, domain: 1, tags: [3], recipients: 1, form: 'broadcast' },
  { kind: 'settle', email: 3, outcome: 'delivered' },
  { kind: 'wait', minutes: 1 },
  { kind: 'open', email: 1, machine: false },
  { kind: 'open', email: 1, machine: true },
  { kind: 'click', email: 1, link: 1, machine: false },
  { kind: 'click', email: 1, link: 1, machine: false },
  { kind: 'click', email: 3, link: 2, machine: false },
  { kind: 'click', email: 1, link: 3, machine: true },
]

t.test('verify-data names roll-ups that differ, and --repair counts them again', async (t) => {
  const { database, file } = await temporaryDatabase(t)
  await new History(database).run(steps)
  const right = await storedMetrics(database.read)
  t.ok(Object.keys(right).length > 50)
  const damages = [
    `update email_metrics set delivered = delivered + 1 where tag = ''`,
    `update email_metrics set opens = opens - 1 where opens > 0`,
    `update email_metrics set unique_clicks = 0`,
    `update email_metrics set removed = 1`,
    'delete from email_metrics',
    `insert into email_metrics (workspace_id, domain, tag, bucket, sent) values ('ws_1', '', '', 0, 1)`,
    'update link_metrics set clicks = clicks + 1',
    'update link_metrics set unique_clicks = unique_clicks - 1',
    'update link_metrics set first_clicked_at = last_clicked_at + 1',
    'delete from link_metrics',
  ]
  for (const sql of damages) {
    const check = /(email|link)_metrics/.exec(sql)?.[1]
    await database.commit([{ sql, parameters: [] }])
    t.match(metricsProblems(file), [{ check: `${check}-metrics` }], sql)
    t.same(
      repairData(file).filter(({ check: found }) => found.endsWith('-metrics')),
      [],
    )
    t.same(await storedMetrics(database.read), right)
  }
})

t.test('what can no longer be counted stays, unless it is less than what is there', async (t) => {
  const { database, file } = await temporaryDatabase(t)
  await new History(database).run([
    ...steps,
    { kind: 'wait', minutes: 2 * 1_440 },
    { kind: 'remove', days: 1, linkDays: 0 },
  ])
  const right = await storedMetrics(database.read)
  t.ok(Object.keys(right).some((name) => name.endsWith(' removed')))
  t.same(metricsProblems(file), [], 'it is not damaged')
  repairData(file)
  t.same(await storedMetrics(database.read), right)
  await database.commit([{ sql: 'update email_metrics set queued = 0, scheduled = 0, removed = 9', parameters: [] }])
  t.match(metricsProblems(file), [{ check: 'email-metrics' }])
  repairData(file)
  t.same(metricsProblems(file), [])
})

t.test('a database of before gets the metrics of what it still stores', async (t) => {
  const { database } = await temporaryDatabase(t)
  await new History(database).run(steps)
  const right = await storedMetrics(database.read)
  const [emails, links] = ['email_metrics', 'link_metrics'] as const
  const statements = [`delete from ${emails}`, `delete from ${links}`, ...countAgain(emails, links)]
  await database.commit(statements.map((sql) => ({ sql, parameters: [] })))
  t.same(await storedMetrics(database.read), right)
})

t.test('nothing is repaired while a daemon holds the data folder', async (t) => {
  const { file } = await temporaryDatabase(t)
  const lock = lockDataFolder(dirname(file))
  t.teardown(() => lock.release())
  t.throws(() => repairData(file), DataFolderHeld)
})
