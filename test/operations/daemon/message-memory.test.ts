/** Many large messages at all listeners at once, more than their memory holds: clients that wait are served. */
import t from 'tap'
import { MemoryBudget } from '../../../src/base/platform/memory/budget.js'
import { MessageMemory } from '../../../src/operations/daemon/message-memory.js'
import { post, startTestApi } from '../../helpers/http/test-api.js'
import type { Dialogue } from '../../helpers/smtp/smtp-dialogue.js'
import { waitUntil } from '../../helpers/wait-until.js'
import { runMx } from '../../servers/smtp/mx-listener.js'
import { printer, runSubmission } from '../../servers/smtp/submission-listener.js'

const SIZE = 600_000
const CLIENTS = 12
const lines = `Subject: large\r\n\r\n${`${'x'.repeat(70)}\r\n`.repeat(Math.floor(SIZE / 72) - 1)}`
const body = JSON.stringify({ text: 'x'.repeat(SIZE) })

/** When a client leaves: while it waits, in the middle of its message, or not at all. */
const leavings = ['stays', 'stays', 'at DATA', 'stays', 'half-way'] as const
type Leaving = (typeof leavings)[number]

async function bring(client: Dialogue, from: string, to: string, leaving: Leaving): Promise<string> {
  await client.sendCommand('EHLO client.test')
  await client.sendCommand(`MAIL FROM:<${from}> SIZE=${SIZE}`)
  await client.sendCommand(`RCPT TO:<${to}>`)
  await client.send('DATA\r\n')
  if (leaving === 'at DATA') return left(client)
  const reply = await client.readReply()
  if (!reply.startsWith('354')) return reply
  if (leaving === 'stays') return client.sendCommand(`${lines}.`)
  await client.send(lines.slice(0, SIZE / 2))
  return left(client)
}

function left(client: Dialogue): string {
  client.reset()
  return 'left'
}

t.test(
  'when more large messages arrive than fit, all that wait are accepted, and every byte is released',
  async (t) => {
    const whole = new MemoryBudget(SIZE * 6)
    const [mx, submission, requests] = [2, 3, 4].map((copies) => new MemoryBudget(SIZE * 5, whole, copies))
    if (mx === undefined || submission === undefined || requests === undefined) throw new Error('three shares')
    const incoming = await runMx(t, { maxWaitingPerAddress: CLIENTS }, { memory: mx })
    const outgoing = await runSubmission(t, {}, { trusted: () => printer, memory: submission })
    const api = await startTestApi(t, { memory: requests })
    let most = 0
    const postOver = async (leaving: Leaving): Promise<string> => {
      const client = await api.connect()
      const whole = post('/v1/things', body)
      client.send(leaving === 'stays' ? whole : whole.slice(0, leaving === 'half-way' ? SIZE / 2 : 1000))
      if (leaving === 'stays') return String((await client.answer()).status)
      client.socket.destroy()
      return 'left'
    }
    const clients = Array.from({ length: CLIENTS }, (_, at) => {
      const leaving = leavings[at % leavings.length] ?? 'stays'
      return [
        incoming.open().then((client) => bring(client, 'ann@sender.test', 'bob@home.test', leaving)),
        outgoing.open().then((client) => bring(client, 'a@example.test', 'b@remote.test', leaving)),
        postOver(leaving),
      ]
    }).flat()
    const watch = setInterval(() => {
      most = Math.max(most, whole.countWaiting())
    }, 1)
    const answers = (await Promise.all(clients)).map((answer) => answer.slice(0, 3))
    clearInterval(watch)
    const stayed = Array.from({ length: CLIENTS }, (_, at) => leavings[at % leavings.length] === 'stays').filter(
      Boolean,
    )
    t.ok(most > 0, 'some waited')
    t.equal(answers.filter((answer) => answer === '250').length, 2 * stayed.length)
    t.equal(answers.filter((answer) => answer === '201').length, stayed.length)
    t.same([...new Set(answers)].sort(), ['201', '250', 'lef'])
    await waitUntil('all is given back', () => whole.usedBytes() === 0)
    t.same([whole.countWaiting(), mx.usedBytes(), submission.usedBytes(), requests.usedBytes()], [0, 0, 0, 0])
  },
)

t.test('a reload that raises the size of messages makes room for one of that size', (t) => {
  const MB = 1_048_576
  const config = { inbound: { max_size: 25 * MB }, submission: { max_size: 25 * MB } }
  const memory = new MessageMemory((() => config) as unknown as ConstructorParameters<typeof MessageMemory>[0])
  const sizes = [60 * MB, 200 * MB]
  for (const part of [memory.mx, memory.submission]) for (const size of sizes) t.notOk(part.hasRoomFor(size))
  Object.assign(config.inbound, { max_size: 200 * MB })
  Object.assign(config.submission, { max_size: 200 * MB })
  for (const part of [memory.mx, memory.submission]) {
    for (const size of sizes) {
      t.ok(part.acquire(size))
      part.release(size)
    }
  }
  t.end()
})
