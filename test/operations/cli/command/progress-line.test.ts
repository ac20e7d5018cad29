/** What a backup says about its progress, at a terminal and in a log. */
import t from 'tap'
import { formatProgress, ProgressLine } from '../../../../src/operations/cli/command/progress-line.js'

const MB = 1_048_576

t.test('bytes, percent and time left', (t) => {
  const of = (bytes: number, took: number): string => formatProgress({ phase: 'copy', bytes, total: 100 * MB }, took)
  t.equal(of(0, 10), '0.0 MB of 100.0 MB, 0 %')
  t.equal(of(25 * MB, 10_000), '25.0 MB of 100.0 MB, 25 %, 30 s left')
  t.equal(of(50 * MB, 90_000), '50.0 MB of 100.0 MB, 50 %, 1 min 30 s left')
  t.equal(formatProgress({ phase: 'copy', bytes: 0, total: 0 }, 0), '0.0 MB of 0.0 MB, 100 %')
  t.equal(formatProgress({ phase: 'fold', bytes: MB, total: 4 * MB }, 1), '1.0 MB of 4.0 MB of the spool, 25 %')
  t.equal(formatProgress({ phase: 'check', bytes: 5, total: 10 * MB }, 1), 'checking 10.0 MB')
  t.end()
})

t.test('a line every ten percent in a log, one line that is rewritten at a terminal', (t) => {
  for (const isTerminal of [false, true]) {
    const printed: string[] = []
    let time = 1000
    const line = new ProgressLine({ print: (text) => printed.push(text), isTerminal, now: () => time })
    for (let part = 1; part <= 100; part += 1) {
      time += 100
      line.update({ phase: 'copy', bytes: part * MB, total: 100 * MB })
    }
    line.update({ phase: 'check', bytes: 100 * MB, total: 100 * MB })
    line.end()
    if (isTerminal) {
      t.equal(printed.at(-1), '\n')
      t.ok(printed.slice(0, -1).every((text) => text.startsWith('\r')))
      t.equal(printed.length, 36)
    } else {
      t.equal(printed.length, 12)
      t.ok(printed.every((text) => text.endsWith('\n')))
    }
  }
  t.end()
})
