/** Log lines for an operator and for the journal of systemd. */
import { fstatSync } from 'node:fs'
import t from 'tap'
import { createLog, isJournalStream, type LogSettings } from '../../../src/base/platform/log.js'
import { StorageFault } from '../../../src/base/storage/db/write.js'

function lines(settings: LogSettings, journal: boolean): string[] {
  const written: string[] = []
  const log = createLog({ write: (line) => written.push(line) }, settings, { journal })
  log.debug('one')
  log.info({ ms: 3 }, 'two')
  log.warn('three')
  log.error({ err: new Error('broken') }, 'four')
  log.fatal('five')
  return written
}

t.test('each line for the journal begins with its priority', async (t) => {
  for (const format of ['json', 'pretty'] as const) {
    const written = lines({ level: 'debug', format }, true)
    t.same(
      written.map((line) => line.slice(0, 3)),
      ['<7>', '<6>', '<4>', '<3>', '<2>'],
      format,
    )
    t.ok(
      written.every((line) => line.indexOf('\n') === line.length - 1),
      'one line each, stacks included',
    )
  }
  t.match(JSON.parse(lines({ level: 'info', format: 'json' }, true)[0]?.slice(3) ?? ''), {
    level: 30,
    ms: 3,
    msg: 'two',
  })
})

t.test('a fault of what the program stands on has no stack, and other errors have one', async (t) => {
  const written: string[] = []
  const log = createLog({ write: (line) => written.push(line) }, { level: 'info', format: 'json' }, {})
  log.error({ err: new StorageFault('ECONNREFUSED', 'no server can be used') }, 'it failed')
  log.error({ err: new Error('a bug') }, 'it failed')
  const [fault, bug] = written.map((line) => JSON.parse(line).err)
  t.same(fault, { type: 'StorageFault', message: 'no server can be used', code: 'ECONNREFUSED' })
  t.match(bug, { type: 'Error', message: 'a bug', stack: /log\.test/ })
})

t.test('elsewhere a line has no prefix', async (t) => {
  t.match(JSON.parse(lines({ level: 'info', format: 'json' }, false)[0] ?? ''), { time: /Z$/, msg: 'two' })
  t.match(lines({ level: 'info', format: 'pretty' }, false)[0], /^\d{4}-\S+Z INFO {2}two ms=3\n$/)
})

t.test('standard output is the journal only if it is the stream that systemd has named', async (t) => {
  const { dev, ino } = fstatSync(1)
  t.ok(isJournalStream(`${dev}:${ino}`))
  for (const named of [undefined, '', `${dev}:${ino + 1}`, `${dev}`]) t.notOk(isJournalStream(named), String(named))
})

t.test('no text of a line makes a second one, or reaches a terminal as a control', async (t) => {
  const text = 'a\r\n2026 ERROR forged\u001b[31m\u009b1m\u2028\u202eb'
  for (const format of ['json', 'pretty'] as const) {
    const written: string[] = []
    createLog({ write: (line) => written.push(line) }, { level: 'info', format }, {}).info({ text, [text]: 1 }, text)
    t.equal(written.length, 1)
    t.notMatch(written[0]?.slice(0, -1), /[\p{Cc}\u2028\u202e]/u, format)
    if (format === 'json') t.match(JSON.parse(written[0] ?? ''), { msg: text, text, [text]: 1 }, 'JSON says the same')
  }
})
