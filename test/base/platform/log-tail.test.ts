/** The newest log lines in memory: order, levels, bounds. */
import t from 'tap'
import { createLog } from '../../../src/base/platform/log.js'
import { LogTail } from '../../../src/base/platform/log-tail.js'

const everything = { minLevel: 0, before: Number.MAX_SAFE_INTEGER, limit: 5_000 }

t.test('createLog hands each line to the tail as JSON, whatever the format', async (t) => {
  for (const format of ['json', 'pretty'] as const) {
    const tail = new LogTail()
    const written: string[] = []
    const log = createLog(
      { write: (line) => written.push(line) },
      { level: 'info', format },
      { tail: (line) => tail.write(line) },
    )
    log.debug('not logged')
    log.info({ ms: 3 }, 'one')
    log.warn('two')
    log.error('three')
    t.equal(written.length, 3)
    t.match(tail.read(everything), [
      { seq: 3, level: 50, message: 'three', fields: {} },
      { seq: 2, level: 40, message: 'two' },
      { seq: 1, level: 30, message: 'one', fields: { ms: 3 }, time: /^\d{4}-.*Z$/ },
    ])
    t.same(
      tail.read({ ...everything, minLevel: 40 }).map(({ seq }) => seq),
      [3, 2],
    )
    t.same(
      tail.read({ minLevel: 0, before: 3, limit: 1 }).map(({ seq }) => seq),
      [2],
    )
  }
})

t.test('1,000 lines are kept, and long ones are cut', async (t) => {
  const tail = new LogTail()
  for (let at = 1; at <= 5_500; at += 1) tail.write(JSON.stringify({ level: 30, time: 't', msg: String(at) }))
  const kept = tail.read(everything)
  t.equal(kept.length, 1_000)
  t.same([kept[0]?.message, kept.at(-1)?.message], ['5500', '4501'])
  tail.write(JSON.stringify({ level: 50, time: 't', msg: 'm'.repeat(100_000), secret: 'x'.repeat(100_000) }))
  const [long] = tail.read(everything)
  t.match(long, { level: 50, time: 't', fields: {} })
  t.ok((long?.message.length ?? 0) < 3_000)
  tail.write('no JSON')
  t.equal(tail.read({ ...everything, limit: 1 })[0]?.seq, 5_501, 'what is no line is left out')
})
