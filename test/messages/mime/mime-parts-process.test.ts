/** The process that takes messages apart: whose answer is whose, and what ends it. */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { setImmediate as breath } from 'node:timers/promises'
import t from 'tap'
import { defaultMimeLimits } from '../../../src/messages/mime/mime-parts.js'
import { MimeProcess } from '../../../src/messages/mime/mime-parts-process.js'
import { contentAnalyzer, messageDigester } from '../../fixtures/odd-analyzer.js'
import { waitUntil } from '../../helpers/wait-until.js'

const message = (text: string): Buffer => Buffer.from(`Subject: x\r\n\r\n${text}\r\n`)

/** Nothing of this process runs meanwhile; the other ones do. */
function standStill(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds)
}

t.test('what a process says after its time is not taken for the next message', async (t) => {
  const process = new MimeProcess({ ...defaultMimeLimits, time: 60, timePerMegabyte: 0 })
  t.teardown(() => process.end())
  const first = message('first'.repeat(20_000))
  let lost = 0
  for (let round = 0; round < 60 && lost < 3; round += 1) {
    const answer = process.parse(first)
    // Its time begins in one of these breaths; then the answer comes while nobody can hear it.
    for (let breaths = 0; breaths < round % 20; breaths += 1) await breath()
    standStill(90)
    if ((await answer).kind === 'unreadable') lost += 1
    const next = await process.parse(message('second'))
    if (next.kind === 'parts') t.equal(next.parts.text, 'second')
  }
  t.ok(lost > 0, 'some answers came too late')
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

t.test('where no process can begin, nothing is said of the message', async (t) => {
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

/** Of a process; undefined: it is gone. A zombie has no memory any more, and waits for nothing but its parent. */
function stateOf(pid: number): string | undefined {
  const file = `/proc/${pid}/stat`
  const state = existsSync(file) ? readFileSync(file, 'latin1').replace(/^.*\) /s, '')[0] : undefined
  return state === 'Z' ? undefined : state
}

t.test('a process that is in a loop ends when ours is killed', { skip: !existsSync('/proc/self/stat') }, async (t) => {
  const reader = new URL('../../fixtures/endless-reader.js', import.meta.url).pathname
  const parent: ChildProcess = spawn(process.execPath, [reader], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = (await once(parent.stdout as NodeJS.ReadableStream, 'data')) as [Buffer]
  const pid = Number(line.toString())
  t.ok(stateOf(pid), 'it runs')
  parent.kill('SIGKILL')
  await waitUntil('it is gone', () => stateOf(pid) === undefined)
})
