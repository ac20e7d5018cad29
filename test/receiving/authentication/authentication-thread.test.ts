/** Authentication on its own thread: the same verdicts, the bytes back, and a main thread that goes on. */
import { performance } from 'node:perf_hooks'
import t, { type Test } from 'tap'
import { scanHeader } from '../../../src/mail/header-fields.js'
import {
  type AuthenticationResult,
  AuthenticationThread,
} from '../../../src/receiving/authentication/authentication-thread.js'
import { type RecordZoneResolver, recordZone } from '../../helpers/dns/record-zone.js'
import { rsaKey, signMessage } from '../../helpers/mail/sign-message.js'

const now = Date.UTC(2026, 5, 1, 12)
const key = rsaKey()
const hereby = { clientAddress: '192.0.2.1', helo: 'h.test', envelopeFrom: 'a@b.test', hostname: 'mx.test' }
const plain = 'From: A <a@b.test>\r\nSubject: x\r\n\r\nbody\r\n'
const zone = {
  's._domainkey.b.test': { TXT: [`v=DKIM1; ${key.record}`] },
  'b.test': { TXT: ['v=spf1 ip4:192.0.2.1 mx -all'] },
}

function threadOf(t: Test): { readonly thread: AuthenticationThread; readonly resolver: RecordZoneResolver } {
  const resolver = recordZone(zone)
  const thread = new AuthenticationThread({ resolver, clock: () => now })
  t.teardown(() => thread.stop())
  return { thread, resolver }
}

function authenticate(thread: AuthenticationThread, raw: Buffer): Promise<AuthenticationResult> {
  return thread.authenticate(raw, scanHeader(raw), hereby)
}

t.test('verdicts come back with the bytes, and questions are asked of the resolver here', async (t) => {
  const { thread, resolver } = threadOf(t)
  for (const body of ['', 'some words\r\n'.repeat(100_000)]) {
    const message = Buffer.from(signMessage(`${plain}${body}`, key, { domain: 'b.test' }))
    const wanted = Buffer.from(message)
    const { authentication, raw } = await authenticate(thread, message)
    t.match(authentication, { spf: { result: 'pass' }, dkim: [{ result: 'pass' }], fromFields: 1 })
    t.ok(raw.equals(wanted), `${wanted.length} bytes`)
  }
  t.ok(resolver.asked.some((question) => question.includes('s._domainkey.b.test')))
})

t.test('a refusal is one here too, and costs the next message nothing', async (t) => {
  const { thread } = threadOf(t)
  const endless = Buffer.from(`X-Lines: a\r\n${' a\r\n'.repeat(600_000)}${plain}`)
  await t.rejects(authenticate(thread, endless), { name: 'Refusal', kind: 'malformed-message' })
  t.match(await authenticate(thread, Buffer.from(plain)), { authentication: { dkim: [] } })
})

t.test('what is under way when the thread ends is rejected, and so is what comes later', async (t) => {
  const { thread } = threadOf(t)
  const under = authenticate(thread, Buffer.from(plain))
  const stopped = thread.stop()
  await t.rejects(under, { message: 'a message was not authenticated' })
  await stopped
  await t.rejects(authenticate(thread, Buffer.from(plain)), { message: 'authentication has ended' })
})

t.test('while bodies are hashed the main thread is free, and a small message overtakes them', async (t) => {
  const { thread } = threadOf(t)
  await authenticate(thread, Buffer.from(plain))
  const body = 'some words \r\n'.repeat(400_000)
  const large = Buffer.from(
    signMessage(signMessage(`${plain}${body}`, key, { domain: 'b.test' }), key, {
      domain: 'b.test',
      canonicalization: 'relaxed/simple',
    }),
  )
  const order: string[] = []
  const copies = Array.from({ length: 3 }, () => Buffer.from(large))
  const before = performance.eventLoopUtilization()
  const hashed = copies.map(async (copy) => {
    await authenticate(thread, copy)
    order.push('large')
  })
  await authenticate(thread, Buffer.from(plain))
  order.push('small')
  await Promise.all(hashed)
  t.equal(order[0], 'small')
  const { utilization } = performance.eventLoopUtilization(before)
  t.ok(utilization < 0.5, `busy for ${utilization} of the time`)
})
