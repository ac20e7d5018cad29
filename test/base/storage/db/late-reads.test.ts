/** Late reads: the same rows after a turn of the event loop, and only where tests ask for them. */
import t from 'tap'
import { delayForTests } from '../../../../src/base/storage/db/late-reads.js'
import type { Read } from '../../../../src/base/storage/db/prepared.js'

const rowsAtOnce: Read = (sql) => [{ sql }] as never[]

t.test('without the variable a read stays as it is', async (t) => {
  const { POSTHORN_TEST_READS: asked } = process.env
  t.teardown(() => {
    if (asked !== undefined) process.env['POSTHORN_TEST_READS'] = asked
  })
  delete process.env['POSTHORN_TEST_READS']
  t.equal(delayForTests(rowsAtOnce), rowsAtOnce)
})

t.test('a late read gives its rows, and its fault, by a promise', async (t) => {
  const { POSTHORN_TEST_READS: asked } = process.env
  t.teardown(() => {
    if (asked === undefined) delete process.env['POSTHORN_TEST_READS']
  })
  process.env['POSTHORN_TEST_READS'] = 'late'
  const late = delayForTests(rowsAtOnce)
  const rows = late('select 1', [])
  t.ok(rows instanceof Promise)
  t.same(await rows, [{ sql: 'select 1' }])
  const broken = delayForTests(() => {
    throw new Error('broken')
  })
  await t.rejects(async () => broken('select 1', []), /broken/)
})

t.test('late reads overtake each other', async (t) => {
  process.env['POSTHORN_TEST_READS'] ??= 'late'
  const late = delayForTests(rowsAtOnce)
  const order: number[] = []
  await Promise.all(
    Array.from({ length: 50 }, async (_, at) => {
      await late('', [])
      order.push(at)
    }),
  )
  t.not(order.join(), [...order].sort((one, other) => one - other).join())
})
