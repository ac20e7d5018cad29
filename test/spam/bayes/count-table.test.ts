/** Counts by key: every one that is there is found, and no other. */
import fc from 'fast-check'
import t from 'tap'
import { CountTable } from '../../../src/spam/bayes/count-table.js'

const largest = 2 ** 48 - 1
const key = fc.oneof(
  fc.integer({ min: 0, max: largest }),
  fc.integer({ min: 0, max: 20 }),
  fc.integer({ min: largest - 20, max: largest }),
)

t.test('each key has its counts, and others have none', async (t) => {
  fc.assert(
    fc.property(fc.uniqueArray(key, { maxLength: 200 }), fc.array(key, { maxLength: 50 }), (stored, others) => {
      const rows = stored.sort((a, b) => a - b).map((token, at) => ({ token, spam: at, ham: at + 1 }))
      const table = new CountTable(rows.length)
      table.append(rows.slice(0, 7))
      table.append(rows.slice(7))
      for (const { token, spam, ham } of rows) t.same(table.get(token), { spam, ham })
      for (const other of others) if (!stored.includes(other)) t.equal(table.get(other), undefined)
    }),
    { numRuns: 50 },
  )
})

t.test('there is no room for more than was said', async (t) => {
  const table = new CountTable(1)
  t.equal(table.append([{ token: 1, spam: 1, ham: 0 }]), true)
  t.equal(table.append([{ token: 2, spam: 1, ham: 0 }]), false)
  t.equal(table.get(2), undefined)
})
