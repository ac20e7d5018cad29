/** The wait for DNS records: until all are there, until the time is over, until Ctrl-C. */
import t from 'tap'
import { waitForRecords } from '../../../../src/operations/cli/command/record-wait.js'
import type { MissingRecord } from '../../../../src/workspaces/domains/missing-records.js'

function missing(...names: readonly string[]): readonly MissingRecord[] {
  const common = { type: 'A', ttl: 60, value: '192.0.2.1', required: true, set_by: '', purpose: '' } as const
  return names.map((name) => ({ record: { ...common, name }, unanswered: false, found: null }))
}

const times = { first: 1, longest: 5, total: 60_000 }
const namesOf = (found: readonly MissingRecord[]): readonly string[] => found.map(({ record }) => record.name)

t.test('it ends when nothing is missing, and tells what has changed', async (t) => {
  const results = [missing('a', 'b'), missing('a', 'b'), missing('b'), missing()]
  const told: (readonly string[])[] = []
  const find = async () => results.shift() ?? []
  const left = await waitForRecords({ find, times, onChange: (found) => told.push(namesOf(found)) })
  t.same(left, [])
  t.same(told, [['a', 'b'], ['b']])
  t.equal(results.length, 0)
})

t.test('it ends with what is missing when the time is over', async (t) => {
  const find = async () => missing('a')
  const left = await waitForRecords({ find, times: { ...times, longest: 1_000, total: 30 }, onChange: () => undefined })
  t.same(namesOf(left), ['a'])
})

t.test('Ctrl-C ends the wait alone, also while a look-up is under way', async (t) => {
  const before = process.listenerCount('SIGINT')
  let count = 0
  const find = async (signal: AbortSignal) => {
    count += 1
    if (count === 1) return missing('a')
    process.emit('SIGINT')
    t.equal(signal.aborted, true)
    // What a cut look-up says is wrong.
    return missing('a', 'cut')
  }
  const left = await waitForRecords({ find, times, onChange: () => undefined })
  t.same(namesOf(left), ['a'])
  t.equal(process.listenerCount('SIGINT'), before)
})
