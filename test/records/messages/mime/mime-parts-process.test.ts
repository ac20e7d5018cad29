/** The process that parses messages: which answer belongs to which message, and what ends it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { defaultMimeLimits } from '../../../../src/records/messages/mime/mime-parts.js'
import { MimeProcess } from '../../../../src/records/messages/mime/mime-parts-process.js'
import { contentAnalyzer, messageDigester } from '../../../fixtures/odd-analyzer.js'
import { waitUntil } from '../../../helpers/wait-until.js'

const message = (text: string): Buffer => Buffer.from(`Subject: x\r\n\r\n${text}\r\n`)

/** Blocks this process and no other. */
function block(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds)
}

/** Promises that are settled have had their effect; no input was read and no timer ran. */
async function runMicrotasks(): Promise<void> {
  for (let count = 0; count < 20; count += 1) await null
}

/** Runs `act` with timers that end when the caller says so. */
async function withHeldTimers(t: Test, act: (expire: () => void) => Promise<void>): Promise<void> {
  const started: (() => void)[] = []
  const { restore } = t.intercept(globalThis, 'setTimeout', { value: (run: () => void) => started.push(run) })
  await act(() => {
    restore()
    for (const run of started) run()
  })
}

t.test('an answer that comes after the time limit is not taken for that of the next message', async (t) => {
  const process = new MimeProcess(defaultMimeLimits)
  t.teardown(() => process.end())
  for (let round = 0; round < 3; round += 1) {
    t.match(await process.parse(message('started')), { kind: 'parts' })
    await withHeldTimers(t, async (expire) => {
      const answer = process.parse(message('first'))
      await runMicrotasks()
      // The answer arrives while this process is blocked, and the limit passes before it is read.
      block(90)
      expire()
      t.match(await answer, { kind: 'unreadable', why: 'time' })
    })
  }
  t.match(await process.parse(message('second')), { kind: 'parts', parts: { text: 'second' } })
})

t.test('a process that runs out of its heap, or holds too much outside of it, costs its message alone', async (t) => {
  const small = new MimeProcess({ ...defaultMimeLimits, memory: 32 }, contentAnalyzer)
  const narrow = new MimeProcess({ ...defaultMimeLimits, resident: 150 }, contentAnalyzer)
  t.teardown(() => Promise.all([small.end(), narrow.end()]))
  for (const [process, facts] of [
    [small, 'fill'],
    [narrow, 'fill-outside'],
  ] as const) {
    t.match(await process.analyze(message('x'), facts), {
      kind: 'analyzed',
      summary: { hasText: true },
      analysis: null,
    })
    t.match(
      await process.analyze(message('x'), 'count'),
      { analysis: { facts: 'count' } },
      'the next one has a process',
    )
    const read = await process.digest(message('x'), messageDigester, facts)
    t.match(read, { kind: 'unreadable', why: 'memory' }, facts)
  }
})

t.test('of several messages none is blamed for the end of their process, and one that was alone is', async (t) => {
  const process = new MimeProcess({ ...defaultMimeLimits, memory: 32, time: 3_000 }, contentAnalyzer)
  t.teardown(() => process.end())
  const ask = (facts: string) => process.analyze(message(facts), facts)
  for (const deadly of ['fill', 'hang', 'die']) {
    const [before, ...others] = await Promise.all(['before', deadly, 'after', 'last'].map(ask))
    t.match(before, { kind: 'analyzed', analysis: { facts: 'before' } })
    t.same(others, [null, null, null], deadly)
    t.match(await ask(deadly), { kind: 'analyzed', summary: { hasText: true }, analysis: null }, 'alone')
    t.match(await ask('next'), { analysis: { facts: 'next' } })
  }
  const ended = ['first', 'second'].map(ask)
  await process.end()
  t.same(await Promise.all(ended), [null, null])
})

t.test('an answer that was lost with its process is not taken for the end of its message', async (t) => {
  const process = new MimeProcess(defaultMimeLimits, contentAnalyzer)
  t.teardown(() => process.end())
  const ask = (facts: string) => process.analyze(message(facts), facts)
  await ask('started')
  const first = [ask('answered'), ask('die')]
  await runMicrotasks()
  // Meanwhile the first is answered and the process ends; the next write fails before the answer is read.
  block(500)
  const all = await Promise.all([...first, ask('late')])
  t.ok(
    all.every((result) => result === null || (result.kind === 'analyzed' && result.analysis !== null)),
    JSON.stringify(all),
  )
})

t.test('if the system starts no process, the message gets no result', async (t) => {
  const process = new MimeProcess(defaultMimeLimits)
  t.teardown(() => process.end())
  const { restore } = t.intercept(globalThis.process, 'execPath', { value: `${import.meta.filename}/node` })
  await t.rejects(process.parse(message('x')), { name: 'Refusal', kind: 'unavailable' })
  restore()
  t.match(await process.parse(message('y')), { kind: 'parts', parts: { text: 'y' } })
})

t.test('if no process can be started, the message gets no result', async (t) => {
  const module = new URL('../../fixtures/no-such-analyzer.js', import.meta.url)
  const broken = new MimeProcess(defaultMimeLimits, { ...contentAnalyzer, module })
  t.teardown(() => broken.end())
  await t.rejects(broken.parse(message('x')), { name: 'Refusal', kind: 'unavailable' })
  await t.rejects(broken.parse(message('x')), { name: 'Refusal', kind: 'unavailable' }, 'and the next is tried')
})

t.test('a process that has nothing to do ends, and is started again', async (t) => {
  const process = new MimeProcess({ ...defaultMimeLimits, idle: 50 })
  t.teardown(() => process.end())
  t.match(await process.parse(message('x')), { kind: 'parts' })
  await waitUntil('it has ended', () => process.pid === undefined)
  t.match(await process.parse(message('y')), { kind: 'parts', parts: { text: 'y' } })
})

/** The state of a process; undefined: it is gone. A zombie has no memory and waits only for its parent. */
function stateOf(pid: number): string | undefined {
  const file = `/proc/${pid}/stat`
  const state = existsSync(file) ? readFileSync(file, 'latin1').replace(/^.*\) /s, '')[0] : undefined
  return state === 'Z' ? undefined : state
}

t.test(
  'a process in an endless loop ends when its parent is killed',
  { skip: !existsSync('/proc/self/stat') },
  async (t) => {
    const reader = new URL('../../../fixtures/endless-reader.js', import.meta.url).pathname
    const parent: ChildProcess = spawn(process.execPath, [reader], { stdio: ['ignore', 'pipe', 'inherit'] })
    const [line] = (await once(parent.stdout as NodeJS.ReadableStream, 'data')) as [Buffer]
    const pid = Number(line.toString())
    t.ok(stateOf(pid), 'it runs')
    parent.kill('SIGKILL')
    await waitUntil('it is gone', () => stateOf(pid) === undefined)
  },
)
