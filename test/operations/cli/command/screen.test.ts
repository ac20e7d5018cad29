/** The full screen: entered, drawn within its size, and restored. */
import { EventEmitter } from 'node:events'
import t, { type Test } from 'tap'
import { Screen } from '../../../../src/operations/cli/command/screen.js'

function terminal(columns: number, rows: number) {
  const written: string[] = []
  const raw: boolean[] = []
  const input = Object.assign(new EventEmitter(), {
    setRawMode: (on: boolean) => raw.push(on),
    resume: () => undefined,
    pause: () => undefined,
  })
  const output = Object.assign(new EventEmitter(), { columns, rows, write: (text: string) => written.push(text) })
  return { input, output, written, raw }
}

function open(t: Test, columns = 10, rows = 3) {
  const faked = terminal(columns, rows)
  const calls: string[] = []
  const screen = new Screen(faked, { onQuit: () => calls.push('quit'), onResize: () => calls.push('resize') })
  screen.open()
  t.teardown(() => screen.close())
  return { ...faked, screen, calls }
}

t.test('the alternate screen is entered and left once, with raw mode and listeners', async (t) => {
  const exits = process.listenerCount('exit')
  const { screen, written, raw, input, output } = open(t)
  t.match(written, ['\x1b[?1049h\x1b[?25l'])
  screen.close()
  screen.close()
  t.match(written, [String, '\x1b[?25h\x1b[?1049l'])
  t.equal(written.length, 2)
  t.same(raw, [true, false])
  t.equal(input.listenerCount('data') + output.listenerCount('resize'), 0)
  t.equal(process.listenerCount('exit'), exits)
  screen.draw(['late'])
  t.equal(written.length, 2, 'nothing is drawn after the end')
})

t.test('a frame is one write, cut to the size, without control characters', async (t) => {
  const { screen, written } = open(t)
  screen.draw(['0123456789abc', 'a\x1b[2Jb', 'three', 'four'])
  t.equal(written.length, 2)
  t.equal(written[1], '\x1b[?2026h\x1b[H0123456789\x1b[K\r\na?[2Jb\x1b[K\r\nthree\x1b[K\x1b[J\x1b[?2026l')
})

t.test('q and Ctrl-C quit, other keys do not; a resize is reported', async (t) => {
  const { input, output, calls } = open(t)
  for (const key of ['x', '\x1b[A', 'q', '\x03']) input.emit('data', Buffer.from(key))
  output.emit('resize')
  t.same(calls, ['quit', 'quit', 'resize'])
})
