/** The offset to a time server, and replies that are none. */
import t from 'tap'
import { measureClockOffset } from '../../src/platform/sntp.js'
import { sntpServer } from '../helpers/doctor/sntp-server.js'

const limits = { clock: () => Date.now(), timeout: 300 }

t.test('how far the clock is off', async (t) => {
  for (const offset of [0, 5_000, -5_000, 400 * 86_400_000]) {
    const port = await sntpServer(t, { offset })
    const found = await measureClockOffset({ address: '127.0.0.1', port }, { ...limits, timeout: 5_000 })
    t.ok(found !== null && Math.abs(found + offset) < 2_000, `${offset}: ${found}`)
  }
})

t.test('the era after 2036', async (t) => {
  const offset = Date.UTC(2040, 0, 1) - Date.now()
  const port = await sntpServer(t, { offset })
  const found = await measureClockOffset({ address: '127.0.0.1', port }, { ...limits, timeout: 5_000 })
  t.ok(found !== null && Math.abs(found + offset) < 2_000)
})

t.test('replies that are no answer', async (t) => {
  const table: readonly (readonly [string, Parameters<typeof sntpServer>[1]])[] = [
    ['a refusal', { stratum: 0 }],
    ['not synchronized', { stratum: 16 }],
    ['a clock that is not set', { head: 0xe4 }],
    ['no server', { head: 0x23 }],
    ['too short', { spoil: (reply) => reply.subarray(0, 47) }],
    ['another query', { spoil: (reply) => reply.fill(7, 24, 32) }],
    ['empty', { spoil: () => Buffer.alloc(0) }],
  ]
  for (const [what, options] of table) {
    const port = await sntpServer(t, options)
    t.equal(await measureClockOffset({ address: '127.0.0.1', port }, limits), null, what)
  }
  t.equal(await measureClockOffset({ address: '127.0.0.1', port: 1 }, limits), null, 'no one answers')
})
