/**
 * Metrics after random histories: roll-ups are what counting anew gives, whatever happened to emails in which order,
 * those that were removed included. Each history is made with the writes of the program itself.
 */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { verifyData } from '../../../src/storage/maintenance/verify.js'
import { temporaryDatabase } from '../../helpers/database/database.js'
import { arbitraryHistory, History } from '../../helpers/database/email-history.js'
import { expectedMetrics, storedMetrics } from '../../helpers/database/expected-metrics.js'

const metricsProblems = (file: string): unknown =>
  verifyData(file).filter(({ check }) => check === 'email-metrics' || check === 'link-metrics')

t.test('roll-ups equal a recount after any history', async (t) => {
  const seen = new Set<string>()
  await fc.assert(
    fc.asyncProperty(arbitraryHistory, async (steps) => {
      const { database, file } = await temporaryDatabase(t)
      const history = new History(database)
      await history.run(steps)
      assert.deepEqual(storedMetrics(database.read), expectedMetrics(history))
      assert.deepEqual(metricsProblems(file), [])
      for (const word of history.seen()) seen.add(word)
      await database.close()
    }),
    { numRuns: 40, endOnFailure: true },
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
