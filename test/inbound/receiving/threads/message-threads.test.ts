/** Authentication on threads: the same verdicts, the bytes returned, the stored form, a free main thread, and threads that end. */
import type { Worker } from 'node:worker_threads'
import t, { type Test } from 'tap'
import { parseAddress } from '../../../../src/base/mail/address.js'
import { scanHeader } from '../../../../src/base/mail/header-fields.js'
import { MessageBytes } from '../../../../src/base/storage/db/message-bytes.js'
import { WholeBodyHash } from '../../../../src/inbound/receiving/authentication/body-hash.js'
import { buildResultFields } from '../../../../src/inbound/receiving/authentication/result-fields.js'
import { type TraceFacts, withTrace } from '../../../../src/inbound/receiving/authentication/trace-fields.js'
import type { CheckedMessage, MessageThread } from '../../../../src/inbound/receiving/threads/message-thread.js'
import { countThreads, MessageThreads } from '../../../../src/inbound/receiving/threads/message-threads.js'
import { type RecordZoneResolver, recordZone } from '../../../helpers/dns/record-zone.js'
import { rsaKey, signMessage } from '../../../helpers/mail/sign-message.js'

const now = Date.UTC(2026, 5, 1, 12)
const key = rsaKey()
const hereby = { clientAddress: '192.0.2.1', helo: 'h.test', envelopeFrom: 'a@b.test', hostname: 'mx.test' }
const plain = 'From: A <a@b.test>\r\nSubject: x\r\n\r\nbody\r\n'
const zone = {
  's._domainkey.b.test': { TXT: [`v=DKIM1; ${key.record}`] },
  'b.test': { TXT: ['v=spf1 ip4:192.0.2.1 mx -all'] },
}

function threadsOf(
  t: Test,
  maxThreads?: number,
): { readonly threads: MessageThreads; readonly resolver: RecordZoneResolver; readonly failures: readonly unknown[] } {
  const resolver = recordZone(zone)
  const failures: unknown[] = []
  const onFailure = (cause: unknown): number => failures.push(cause)
  const threads = new MessageThreads({ resolver, clock: () => now, onFailure }, maxThreads)
  t.teardown(() => threads.stop())
  return { threads, resolver, failures }
}

function authenticate(threads: MessageThreads, raw: Buffer): Promise<CheckedMessage> {
  return threads.authenticate(MessageBytes.lent(raw), scanHeader(raw), hereby, null)
}

t.test('verdicts come back with the bytes, and DNS queries go through the resolver of the main thread', async (t) => {
  const { threads, resolver } = threadsOf(t)
  for (const body of ['', 'some words\r\n'.repeat(100_000)]) {
    const message = Buffer.from(signMessage(`${plain}${body}`, key, { domain: 'b.test' }))
    const expected = Buffer.from(message)
    const bytes = MessageBytes.lent(message)
    const checking = threads.authenticate(bytes, scanHeader(message), hereby, null)
    t.equal(bytes.isGone, expected.length >= 65_536, 'the thread has the memory of a large one')
    const { authentication } = await checking
    t.match(authentication, { spf: { result: 'pass' }, dkim: [{ result: 'pass' }], fromFields: 1 })
    t.ok(bytes.read().equals(expected), `${expected.length} bytes`)
  }
  t.ok(resolver.asked.some((question) => question.includes('s._domainkey.b.test')))
})

t.test('a refusal is passed on, and does not affect the next message', async (t) => {
  const { threads } = threadsOf(t)
  const endless = Buffer.from(`X-Lines: a\r\n${' a\r\n'.repeat(600_000)}${plain}`)
  await t.rejects(authenticate(threads, endless), { name: 'Refusal', kind: 'malformed-message' })
  t.match(await authenticate(threads, Buffer.from(plain)), { authentication: { dkim: [] } })
})

t.test('when the thread ends, running and later messages are rejected', async (t) => {
  const { threads } = threadsOf(t)
  const under = authenticate(threads, Buffer.from(plain))
  const stopped = threads.stop()
  await t.rejects(under, { message: 'a message was not authenticated' })
  await stopped
  await t.rejects(authenticate(threads, Buffer.from(plain)), { message: 'the threads for inbound mail are stopped' })
})

t.test('bodies are hashed outside the main thread, and a small message overtakes large ones', async (t) => {
  const { threads } = threadsOf(t)
  await authenticate(threads, Buffer.from(plain))
  const once = signMessage(`${plain}${'some words \r\n'.repeat(400_000)}`, key, { domain: 'b.test' })
  const large = signMessage(once, key, { domain: 'b.test', canonicalization: 'relaxed/simple' })
  let hashedHere = 0
  t.intercept(WholeBodyHash.prototype, 'hashBody', { value: () => (hashedHere += 1) })
  const order: string[] = []
  // Made before, so that all are posted within a moment.
  const messages = Array.from({ length: 3 }, () => Buffer.from(large))
  const hashed = messages.map(async (message) => {
    const { authentication } = await authenticate(threads, message)
    order.push('large')
    t.match(authentication, { dkim: [{ result: 'fail' }, { result: 'pass' }] }, 'both were hashed')
  })
  await authenticate(threads, Buffer.from(plain))
  order.push('small')
  await Promise.all(hashed)
  t.equal(order.at(-1), 'large', 'the small one, posted last, did not wait for all of them')
  t.equal(hashedHere, 0, 'the main thread hashes nothing')
})

t.test('the threads are busy while each has several messages in hand', async (t) => {
  const { threads } = threadsOf(t, 1)
  t.equal(threads.isBusy(), false, 'there is none yet')
  const checked = Array.from({ length: 2 }, () => authenticate(threads, Buffer.from(plain)))
  t.equal(threads.isBusy(), false, 'two are soon done')
  checked.push(authenticate(threads, Buffer.from(plain)))
  t.equal(threads.isBusy(), true)
  await Promise.all(checked)
  t.equal(threads.isBusy(), false)
})

t.test('an answer is asked for once in its time to live, and a new record is seen at once after it', async (t) => {
  let at = now
  const other = rsaKey()
  const changing = { ...zone, 's._domainkey.b.test': { TXT: [`v=DKIM1; ${key.record}`] } }
  const resolver = recordZone(changing)
  const threads = new MessageThreads({
    resolver: { ...resolver, freshUntil: () => at + 3_600_000 },
    clock: () => at,
    onFailure: (cause) => t.fail(String(cause)),
  })
  t.teardown(() => threads.stop())
  const message = signMessage(plain, key, { domain: 'b.test' })
  const results = async (): Promise<unknown> => {
    const { authentication } = await authenticate(threads, Buffer.from(message))
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

const trace: TraceFacts = {
  ...{ returnPath: parseAddress('a@b.test'), helo: 'h.test', address: '192.0.2.1', hostname: 'mx.test' },
  ...{ protocol: 'ESMTP', tls: null, id: 'x', recipient: parseAddress('c@home.test'), now },
}

t.test('a small message comes back in the form in which it is stored, with what its content is', async (t) => {
  const { threads } = threadsOf(t)
  const forged = 'Return-Path: <forged@b.test>\r\nAuthentication-Results: mx.test; spf=pass\r\n'
  for (const text of [plain, `${forged}${plain}`, plain.replace('body', 'bödy')]) {
    const raw = Buffer.from(text)
    const bytes = MessageBytes.lent(raw)
    const { authentication, authenticationJson, form } = await threads.authenticate(
      bytes,
      scanHeader(raw),
      hereby,
      trace,
    )
    t.same(JSON.parse(authenticationJson), authentication)
    const results = buildResultFields(authentication, hereby)
    const expected = Buffer.concat(withTrace(raw, scanHeader(raw), trace, results))
    t.equal(Buffer.concat(form?.pieces ?? []).toString(), expected.toString())
    t.match(form?.content?.summary, { from_email: 'a@b.test', subject: 'x', has_text: 1 })
  }
})

t.test('a large message has no stored form, and neither has one of which it is not asked', async (t) => {
  const { threads } = threadsOf(t)
  const large = Buffer.from(`${plain}${'some words\r\n'.repeat(6_000)}`)
  t.equal((await threads.authenticate(MessageBytes.lent(large), scanHeader(large), hereby, trace)).form, null)
  const small = Buffer.from(plain)
  t.equal((await threads.authenticate(MessageBytes.lent(small), scanHeader(small), hereby, null)).form, null)
})

function authenticateMany(threads: MessageThreads, count: number): Promise<PromiseSettledResult<CheckedMessage>[]> {
  return Promise.allSettled(Array.from({ length: count }, () => authenticate(threads, Buffer.from(plain))))
}

/** Each with its worker, once both are ready. */
async function startBoth(threads: MessageThreads): Promise<readonly MessageThread[]> {
  const all: readonly MessageThread[] = Reflect.get(threads, 'threads')
  for (let round = 0; round < 2_000 && !all.every((thread) => thread.isReady); round += 1)
    await authenticateMany(threads, 12)
  return all
}

const workerOf = (thread: MessageThread | undefined): Worker => Reflect.get(thread ?? {}, 'worker')

t.test('how many threads there may be, by cores', async (t) => {
  const expected = { 1: 1, 2: 2, 3: 2, 4: 3, 5: 4, 16: 4 }
  for (const [cores, count] of Object.entries(expected)) t.equal(countThreads(Number(cores)), count, `${cores} cores`)
})

t.test('another thread is started when the first one has work, and has messages once it is ready', async (t) => {
  const { threads, failures } = threadsOf(t, 2)
  await authenticate(threads, Buffer.from(plain))
  t.match(
    threads.busyTimes.map((read) => read()),
    [Number, 0],
  )
  const all = Reflect.get(threads, 'threads') as readonly MessageThread[]
  const under = authenticateMany(threads, 12)
  t.same(
    all.map(({ load }) => load),
    [12, 0],
    'none waits for the second one',
  )
  await under
  await startBoth(threads)
  const shared = authenticateMany(threads, 5)
  t.same(
    all.map(({ load }) => load),
    [3, 2],
  )
  t.equal(threads.isBusy(), false, 'both are soon done')
  const more = authenticateMany(threads, 1)
  t.equal(threads.isBusy(), true)
  t.ok([...(await shared), ...(await more)].every(({ status }) => status === 'fulfilled'))
  t.equal(threads.isBusy(), false)
  t.same(failures, [])
})

t.test('a thread that ends has its messages rejected, the other one goes on, and it is started again', async (t) => {
  const { threads, failures } = threadsOf(t, 2)
  const [first] = await startBoth(threads)
  const under = authenticateMany(threads, 6)
  await workerOf(first).terminate()
  // Its first message was posted at once, and may be done before it ends; the other two were not.
  const rejected = (await under).filter(({ status }) => status === 'rejected')
  t.ok(rejected.length === 2 || rejected.length === 3, `${rejected.length} were rejected`)
  t.same(failures, [], 'its messages say so')
  t.equal(first?.isReady, false)
  await authenticate(threads, Buffer.from(plain))
  t.equal(workerOf(first), null, 'one message does not need it')
  Reflect.set(first ?? {}, 'lastStart', Number.NEGATIVE_INFINITY)
  t.match(await startBoth(threads), [{ isReady: true }, { isReady: true }])
})

t.test('the code of the first thread can be loaded before there is a message', async (t) => {
  const { threads } = threadsOf(t, 2)
  const [busyTime = () => 0, other = () => 0] = threads.busyTimes
  t.equal(busyTime(), 0)
  await threads.loadCode(60_000)
  t.ok(busyTime() > 0, 'it runs')
  t.equal(other(), 0, 'the other one does not')
  await threads.loadCode(60_000)
})

t.test('a thread that ends without a message is reported, and is not started ahead all the time', async (t) => {
  const { threads, failures } = threadsOf(t, 2)
  const [first, second] = await startBoth(threads)
  await workerOf(second).terminate()
  t.match(failures, [{ message: 'the thread ended' }])
  await authenticateMany(threads, 12)
  t.equal(workerOf(second), null)
  await workerOf(first).terminate()
  t.equal(failures.length, 2)
  t.match(await authenticate(threads, Buffer.from(plain)), { authentication: { dkim: [] } }, 'for a message it is')
})
