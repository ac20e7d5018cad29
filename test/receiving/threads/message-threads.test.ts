/** Authentication on its own thread: the same verdicts, the bytes returned, and a free main thread. */
import t, { type Test } from 'tap'
import { scanHeader } from '../../../src/mail/header-fields.js'
import {
  type AuthenticationResult,
  MessageThreads,
} from '../../../src/receiving/threads/message-threads.js'
import { WholeBodyHash } from '../../../src/receiving/authentication/body-hash.js'
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

function threadOf(t: Test): { readonly thread: MessageThreads; readonly resolver: RecordZoneResolver } {
  const resolver = recordZone(zone)
  const thread = new MessageThreads({ resolver, clock: () => now })
  t.teardown(() => thread.stop())
  return { thread, resolver }
}

function authenticate(thread: MessageThreads, raw: Buffer): Promise<AuthenticationResult> {
  return thread.authenticate(raw, scanHeader(raw), hereby)
}

t.test('verdicts come back with the bytes, and DNS queries go through the resolver of the main thread', async (t) => {
  const { thread, resolver } = threadOf(t)
  for (const body of ['', 'some words\r\n'.repeat(100_000)]) {
    const message = Buffer.from(signMessage(`${plain}${body}`, key, { domain: 'b.test' }))
    const expected = Buffer.from(message)
    const { authentication, raw } = await authenticate(thread, message)
    t.match(authentication, { spf: { result: 'pass' }, dkim: [{ result: 'pass' }], fromFields: 1 })
    t.ok(raw.equals(expected), `${expected.length} bytes`)
  }
  t.ok(resolver.asked.some((question) => question.includes('s._domainkey.b.test')))
})

t.test('a refusal is passed on, and does not affect the next message', async (t) => {
  const { thread } = threadOf(t)
  const endless = Buffer.from(`X-Lines: a\r\n${' a\r\n'.repeat(600_000)}${plain}`)
  await t.rejects(authenticate(thread, endless), { name: 'Refusal', kind: 'malformed-message' })
  t.match(await authenticate(thread, Buffer.from(plain)), { authentication: { dkim: [] } })
})

t.test('when the thread ends, running and later messages are rejected', async (t) => {
  const { thread } = threadOf(t)
  const under = authenticate(thread, Buffer.from(plain))
  const stopped = thread.stop()
  await t.rejects(under, { message: 'a message was not authenticated' })
  await stopped
  await t.rejects(authenticate(thread, Buffer.from(plain)), { message: 'the authentication thread is stopped' })
})

t.test('bodies are hashed outside the main thread, and a small message overtakes large ones', async (t) => {
  const { thread } = threadOf(t)
  await authenticate(thread, Buffer.from(plain))
  const once = signMessage(`${plain}${'some words \r\n'.repeat(400_000)}`, key, { domain: 'b.test' })
  const large = signMessage(once, key, { domain: 'b.test', canonicalization: 'relaxed/simple' })
  let hashedHere = 0
  t.intercept(WholeBodyHash.prototype, 'hashBody', { value: () => (hashedHere += 1) })
  const order: string[] = []
  const hashed = Array.from({ length: 3 }, async () => {
    const { authentication } = await authenticate(thread, Buffer.from(large))
    order.push('large')
    t.match(authentication, { dkim: [{ result: 'fail' }, { result: 'pass' }] }, 'both were hashed')
  })
  await authenticate(thread, Buffer.from(plain))
  order.push('small')
  await Promise.all(hashed)
  t.equal(order[0], 'small')
  t.equal(hashedHere, 0, 'the main thread hashes nothing')
})

t.test('an answer is asked for once in its time to live, and a new record is seen at once after it', async (t) => {
  let at = now
  const other = rsaKey()
  const changing = { ...zone, 's._domainkey.b.test': { TXT: [`v=DKIM1; ${key.record}`] } }
  const resolver = recordZone(changing)
  const thread = new MessageThreads({
    resolver: { ...resolver, freshUntil: () => at + 3_600_000 },
    clock: () => at,
  })
  t.teardown(() => thread.stop())
  const message = signMessage(plain, key, { domain: 'b.test' })
  const results = async (): Promise<unknown> => {
    const { authentication } = await authenticate(thread, Buffer.from(message))
    const { spf, dkim, dmarc, iprev } = authentication
    return [spf.result, ...dkim.map(({ result }) => result), dmarc.result, iprev.result]
  }
  const first = await results()
  t.same(first, ['pass', 'pass', 'none', 'permerror'])
  const asked = resolver.asked.length
  t.same(await results(), first)
  t.equal(resolver.asked.length, asked, 'no question goes to the main thread')
  changing['s._domainkey.b.test'] = { TXT: [`v=DKIM1; ${other.record}`] }
  at += 1_800_000
  t.same(await results(), first)
  at += 1_800_000
  t.same(await results(), ['pass', 'fail', 'none', 'permerror'])
  t.equal(resolver.asked.length, 2 * asked)
})
