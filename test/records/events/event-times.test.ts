/** A place in the event log by its time, and the times that the log gives to events. */
import fc from 'fast-check'
import t, { type Test } from 'tap'
import type { Database } from '../../../src/base/storage/db/database.js'
import { findSeqRange, isInTime, seqAtTime } from '../../../src/records/events/event-times.js'
import { temporaryDatabase } from '../../helpers/database/database.js'
import { buildEventWrite } from '../../helpers/database/store-events.js'
import { skipOnPostgres } from '../../helpers/database/test-engine.js'

const DAY = 86_400_000

const timesIn = async ({ read }: Database): Promise<readonly number[]> =>
  (await read<{ at: number }>('select created_at as at from events order by seq', [])).map(({ at }) => at)

async function storeAt(t: Test, times: readonly number[]): Promise<Database> {
  const { database } = await temporaryDatabase(t)
  await database.commit(times.map((at) => buildEventWrite({ type: 'email.sent', at })))
  return database
}

t.test('the times of the log never decrease, unless the clock was ahead', async (t) => {
  const tables: readonly (readonly [given: readonly number[], stored: readonly number[], why: string])[] = [
    [[1, 2, 2, 3], [1, 2, 2, 3], 'in order'],
    [[5_000, 4_000, 4_500, 6_000], [5_000, 5_000, 5_000, 6_000], 'late'],
    [[DAY + 5, 5, 4], [DAY + 5, DAY + 5, 4], 'a day late, and more than a day'],
    [[9 * DAY, 5, 6, 4], [9 * DAY, 5, 6, 6], 'after a clock that was ahead'],
  ]
  for (const [given, stored, why] of tables) t.same(await timesIn(await storeAt(t, given)), stored, why)
})

t.test('a place is that of the first event at a time or later', async (t) => {
  const database = await storeAt(t, [10, 20, 20, 20, 30])
  const { read, commit } = database
  const expected = [
    [0, 1],
    [10, 1],
    [11, 2],
    [20, 2],
    [21, 5],
    [30, 5],
    [31, 6],
    [Number.MAX_SAFE_INTEGER, 6],
  ] as const
  for (const [time, seq] of expected) t.equal(await seqAtTime(read, time), seq, String(time))
  await commit([{ sql: 'delete from events where seq in (1, 3)', parameters: [] }])
  t.same(await Promise.all([10, 20, 21].map((time) => seqAtTime(read, time))), [2, 2, 5], 'with gaps')
  await commit([{ sql: 'delete from events', parameters: [] }])
  t.equal(await seqAtTime(read, 20), 0, 'an empty log')
})

t.test('it is found for any times and any gaps', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { read, commit } = database
  const model = fc.array(fc.tuple(fc.nat({ max: 50 }), fc.boolean()), { maxLength: 60 })
  await fc.assert(
    fc.asyncProperty(model, fc.nat({ max: 60 }), async (events, time) => {
      await commit([
        { sql: 'delete from events', parameters: [] },
        ...events.map(([at]) => buildEventWrite({ type: 'email.sent', at })),
      ])
      const seqs = (await read<{ seq: number }>('select seq from events order by seq', [])).map(({ seq }) => seq)
      const gone = seqs.filter((_, place) => events[place]?.[1] === true)
      await commit(gone.map((seq) => ({ sql: 'delete from events where seq = ?', parameters: [seq] })))
      const first = await seqAtTime(read, time)
      const left = await read<{ seq: number; at: number }>('select seq, created_at as at from events', [])
      for (const { seq, at } of left) {
        if (seq >= first !== at >= time) throw new Error(`${seq} of ${at}: ${first} for ${time}`)
      }
    }),
    { numRuns: 100 },
  )
})

t.test('a range has all events of its times, even where the log is not in their order', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { read, commit } = database
  const model = fc.array(fc.tuple(fc.nat({ max: 4 }), fc.nat({ max: 10 })), { maxLength: 40 })
  const time = fc.option(fc.nat({ max: 80 }), { nil: undefined })
  await fc.assert(
    fc.asyncProperty(model, time, time, async (steps, from, to) => {
      let latest = 0
      const times = steps.map(([step, back]) => {
        latest += step
        return latest - back
      })
      await commit([
        { sql: 'delete from events', parameters: [] },
        ...times.map((at, place) => ({
          sql: `insert into events (seq, id, workspace_id, type, created_at, data) values (?, ?, 'w', 'email.sent', ?, '{}')`,
          parameters: [place + 1, String(place), at],
        })),
      ])
      const { first, end } = await findSeqRange(read, { from, to }, 10)
      for (const [place, at] of times.entries()) {
        const isMissed = place + 1 < first || place + 1 >= end
        if (isMissed && isInTime({ from, to }, { created_at: at })) throw new Error(`${place + 1} of ${at}`)
      }
    }),
    { numRuns: 100 },
  )
})

t.test(
  'a range is exact where the log is in the order of time',
  { skip: skipOnPostgres('ranges are wider where the log may be out of order') },
  async (t) => {
    const { read } = await storeAt(t, [10, 20, 20, 20, 30])
    t.same(await findSeqRange(read, { from: 20, to: 30 }), { first: 2, end: 5 })
    t.same(await findSeqRange(read, {}), { first: 1, end: 6 })
    t.same(await findSeqRange(read, { to: 10 }), { first: 1, end: 1 })
    t.same(await findSeqRange(read, { from: 31 }), { first: 6, end: 6 })
  },
)
