/** The thread that takes messages apart: whose answer is whose. */
import { setImmediate as breath } from 'node:timers/promises'
import t from 'tap'
import { MimeThread } from '../../src/messages/mime-parts-thread.js'

const message = (text: string): Buffer => Buffer.from(`Subject: x\r\n\r\n${text}\r\n`)

/** Nothing of this thread runs meanwhile; the other ones do. */
function standStill(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds)
}

t.test('what a thread says after its time is not taken for the next message', async (t) => {
  const thread = new MimeThread({ time: 20, memory: 64 })
  t.teardown(() => thread.end())
  const first = message('first'.repeat(20_000))
  let lost = 0
  for (let round = 0; round < 200 && lost < 3; round += 1) {
    const answer = thread.parse(first)
    // Its time begins in one of these breaths; then the answer comes while nobody can hear it.
    for (let breaths = 0; breaths < round % 20; breaths += 1) await breath()
    standStill(40)
    if ((await answer).kind === 'unreadable') lost += 1
    const next = await thread.parse(message('second'))
    if (next.kind === 'parts') t.equal(next.parts.text, 'second')
  }
  t.ok(lost > 0, 'some answers came too late')
})
