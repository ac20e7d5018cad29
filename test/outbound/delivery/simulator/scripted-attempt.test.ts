/** An attempt at the simulator: its slot, its wait, and the end of the process in the middle of it. */
import t from 'tap'
import { type DomainName, parseAddress } from '../../../../src/base/mail/address.js'
import { attemptScripted, type SimulatorDeps } from '../../../../src/outbound/delivery/simulator/scripted-attempt.js'
import type { OutboundMessage } from '../../../../src/outbound/delivery/smtp/outbound-message.js'

function messageTo(localPart: string): OutboundMessage {
  return {
    returnPath: 'bounce+token@posthorn.a.test',
    recipient: parseAddress(`${localPart}@simulator.zone.test`),
    domain: 'simulator.zone.test' as DomainName,
    pieces: [Buffer.from('X-Posthorn-Reference: token\r\n'), Buffer.from('From: a@a.test\r\n\r\nbody\r\n')],
    smtputf8: false,
    envid: null,
    ret: null,
    notify: null,
    orcpt: null,
  }
}

const waits: number[] = []
const deps: SimulatorDeps = {
  hostname: 'mx.service.test',
  zone: 'zone.test',
  clock: () => 1_000,
  sleep: async (milliseconds, signal) => {
    waits.push(milliseconds)
    signal.throwIfAborted()
  },
}

function slots() {
  const taken: string[] = []
  let held = 0
  return {
    taken,
    count: () => held,
    acquireSlot: async (host: string) => {
      taken.push(host)
      held += 1
      return () => {
        held -= 1
      }
    },
  }
}

t.test('a slow address keeps its slot while it waits, and no longer', async (t) => {
  const { acquireSlot, taken, count } = slots()
  const { signal } = new AbortController()
  const result = await attemptScripted(messageTo('slow'), { attempt: 1, acquireSlot, signal }, deps)
  t.match(result, { outcome: { kind: 'accepted' }, peer: { mx: 'simulator.zone.test', address: null }, writes: [] })
  t.same(waits, [30_000])
  t.same(taken, ['simulator.zone.test'])
  t.equal(count(), 0)
})

t.test('the end of the process ends the wait, and frees the slot', async (t) => {
  const { acquireSlot, count } = slots()
  const signal = AbortSignal.abort(new Error('the end'))
  await t.rejects(attemptScripted(messageTo('slow'), { attempt: 1, acquireSlot, signal }, deps), { message: 'the end' })
  t.equal(count(), 0)
})

t.test('a complaint is stored with the outcome, and has the header but not the body', async (t) => {
  const { acquireSlot } = slots()
  const { signal } = new AbortController()
  const result = await attemptScripted(messageTo('complaint+1'), { attempt: 1, acquireSlot, signal }, deps)
  const writes = 'outcome' in result ? result.writes : []
  const raw = writes?.flatMap(({ parameters }) => parameters).find((value) => Buffer.isBuffer(value))
  t.match(raw?.toString(), /Feedback-Type: abuse\r\n/)
  t.match(raw?.toString(), /\r\n\r\nX-Posthorn-Reference: token\r\nFrom: a@a\.test\r\n/)
  t.notMatch(raw?.toString(), /body/)
})

t.test("the service's own mail gets no complaint", async (t) => {
  const { acquireSlot } = slots()
  const { signal } = new AbortController()
  const own = { ...messageTo('complaint'), returnPath: '' }
  t.match(await attemptScripted(own, { attempt: 1, acquireSlot, signal }, deps), { writes: [] })
})
