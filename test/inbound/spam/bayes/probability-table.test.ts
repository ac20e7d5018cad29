/** Probabilities by key: every decisive one that is there is found, and no other. */
import fc from 'fast-check'
import t from 'tap'
import { ProbabilityTable } from '../../../../src/inbound/spam/bayes/probability-table.js'
import { computeDecisiveProbability } from '../../../../src/inbound/spam/bayes/score.js'

const largest = 2 ** 48 - 1
const key = fc.oneof(
  fc.integer({ min: 0, max: largest }),
  fc.integer({ min: 0, max: 20 }),
  fc.integer({ min: largest - 20, max: largest }),
)

const messages = { spam: 90, ham: 70 }

t.test('each key has its probability unless it is near one half, and others have none', async (t) => {
  fc.assert(
    fc.property(fc.uniqueArray(key, { maxLength: 200 }), fc.array(key, { maxLength: 50 }), (stored, others) => {
      const rows = stored.sort((a, b) => a - b).map((token, at) => ({ token, spam: at % 13, ham: at % 7 }))
      const table = new ProbabilityTable(rows.length, messages)
      table.append(rows.slice(0, 7))
      table.append(rows.slice(7))
      for (const row of rows) t.equal(table.get(row.token), computeDecisiveProbability(row, messages) ?? 0)
      for (const other of others) if (!stored.includes(other)) t.equal(table.get(other), 0)
    }),
    { numRuns: 50 },
  )
})

t.test('there is no room for more than was said', async (t) => {
  const table = new ProbabilityTable(1, messages)
  t.equal(table.append([{ token: 1, spam: 1, ham: 0 }]), true)
  t.equal(table.append([{ token: 2, spam: 1, ham: 0 }]), false)
  t.equal(table.get(2), 0)
})
