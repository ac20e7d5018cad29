/** The signing thread: its signatures verify, and no request waits forever when it dies or ends. */
import { createPrivateKey } from 'node:crypto'
import { Worker } from 'node:worker_threads'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import t, { type Test } from 'tap'
import { type DkimKeyPair, generateDkimKey } from '../../../../src/workspaces/domains/dkim/key.js'
import type { DkimKey } from '../../../../src/workspaces/domains/dkim/sign.js'
import { SigningThread } from '../../../../src/workspaces/domains/dkim/signing-thread.js'
import { waitUntil } from '../../../helpers/wait-until.js'

const signedAt = Date.UTC(2024, 0, 1)
const pairs = new Map<string, DkimKeyPair>([
  ['one.test', await generateDkimKey()],
  ['two.test', await generateDkimKey()],
])
const keys: readonly DkimKey[] = [...pairs].map(([domain, pair]) => ({
  domain,
  selector: 'dkim1',
  keyObject: createPrivateKey(pair.privateKey),
}))
const [first, second] = keys as readonly [DkimKey, DkimKey]

const worker = new URL('../../../../src/workspaces/domains/dkim/signing-worker.js', import.meta.url)
/** A thread that accepts requests and never answers. */
const silentWorker = (): Worker => new Worker('setInterval(() => undefined, 1000)', { eval: true })

function startSigning(t: Test, start?: () => Worker): SigningThread {
  const thread = new SigningThread(start)
  t.teardown(() => thread.stop())
  return thread
}

function letter(domain: string, body: string): Buffer {
  return Buffer.from(`From: a@${domain}\r\nSubject: hello\r\n\r\n${body}\r\n`)
}

/** The verdict of mailauth on the only signature. */
async function verdict(field: string, raw: Buffer): Promise<string | undefined> {
  const resolver = async (name: string): Promise<string[][]> => [
    [pairs.get(name.replace('dkim1._domainkey.', ''))?.publicRecord ?? ''],
  ]
  const { results } = await dkimVerify(Buffer.concat([Buffer.from(field), raw]), { resolver, strict: true })
  return results.length === 1 ? results[0]?.status?.result : `${results.length} signatures`
}

t.test('each of many messages gets its own signature, by its own key', async (t) => {
  const thread = startSigning(t)
  const raws = Array.from({ length: 200 }, (_, at) => letter(at % 2 === 0 ? 'one.test' : 'two.test', `text ${at}`))
  const fields = await Promise.all(raws.map((raw, at) => thread.sign(raw, at % 2 === 0 ? first : second, signedAt)))
  const verdicts = await Promise.all(fields.map((field, at) => verdict(field, raws[at] ?? Buffer.alloc(0))))
  t.strictSame([...new Set(verdicts)], ['pass'])
  t.equal(new Set(fields).size, raws.length)
})

t.test('a batch is bounded in bytes, and the rest goes into the next', async (t) => {
  const thread = startSigning(t)
  const raws = Array.from({ length: 12 }, (_, at) => letter('one.test', `${at} of them \r\n`.repeat(18_000)))
  const fields = await Promise.all(raws.map((raw) => thread.sign(raw, first, signedAt)))
  for (const [at, field] of fields.entries()) t.equal(await verdict(field, raws[at] ?? Buffer.alloc(0)), 'pass')
})

t.test('a large body is hashed on the main thread in steps, while the event loop turns', async (t) => {
  const thread = startSigning(t)
  const raw = letter('one.test', 'a line \t of  text, with blanks \r\n'.repeat(100_000))
  let turns = 0
  let done = false
  const turn = (): void => {
    turns++
    if (!done) setImmediate(turn)
  }
  turn()
  const field = await thread.sign(raw, first, signedAt)
  done = true
  t.equal(await verdict(field, raw), 'pass')
  t.ok(turns > 4, `${turns} turns`)
})

t.test('a message that cannot be signed affects no other', async (t) => {
  const thread = startSigning(t)
  const endless = Buffer.from(`${'X-Field: x\r\n'.repeat(10_001)}\r\n`)
  const good = letter('one.test', 'text')
  const [bad, field] = await Promise.allSettled([
    thread.sign(endless, first, signedAt),
    thread.sign(good, first, signedAt),
  ])
  t.match(bad, { status: 'rejected', reason: { message: /cannot be signed: more than 10000 header fields/ } })
  t.equal(field.status === 'fulfilled' && (await verdict(field.value, good)), 'pass')
})

t.test('the batch of a thread that dies is rejected; later requests are signed by the next thread', async (t) => {
  const started: Worker[] = []
  const thread = startSigning(t, () => {
    const one = started.length === 0 ? silentWorker() : new Worker(worker)
    started.push(one)
    return one
  })
  const raw = letter('one.test', 'text')
  const lost = thread.sign(raw, first, signedAt)
  await waitUntil('it has the batch', () => started.length === 1)
  const later = thread.sign(raw, first, signedAt)
  await Promise.all([t.rejects(lost, { message: 'a signature was not made' }), started[0]?.terminate()])
  t.equal(await verdict(await later, raw), 'pass')
  t.equal(started.length, 2)
})

t.test('a thread that throws is replaced too', async (t) => {
  let started = 0
  const thread = startSigning(t, () => {
    started += 1
    return started === 1 ? new Worker('throw new Error("no room")', { eval: true }) : new Worker(worker)
  })
  const raw = letter('one.test', 'text')
  await t.rejects(thread.sign(raw, first, signedAt), { cause: { message: 'no room' } })
  t.equal(await verdict(await thread.sign(raw, first, signedAt), raw), 'pass')
})

t.test('a key that was dropped is given to the thread again', async (t) => {
  const thread = startSigning(t)
  const raw = letter('two.test', 'text')
  await thread.sign(letter('one.test', 'text'), first, signedAt)
  const before = thread.sign(raw, second, signedAt)
  thread.drop()
  const after = thread.sign(raw, second, signedAt)
  thread.drop()
  t.equal(await verdict(await before, raw), 'pass')
  t.equal(await verdict(await after, raw), 'pass')
  t.equal(await verdict(await thread.sign(raw, second, signedAt), raw), 'pass')
})

t.test('stopping rejects running, waiting and later requests', async (t) => {
  let started = 0
  const thread = startSigning(t, () => {
    started += 1
    return silentWorker()
  })
  const raw = letter('one.test', 'text')
  const posted = t.rejects(thread.sign(raw, first, signedAt), { message: 'a signature was not made' })
  await waitUntil('it has the batch', () => started === 1)
  const waiting = t.rejects(thread.sign(raw, first, signedAt), { message: 'a signature was not made' })
  await Promise.all([thread.stop(), posted, waiting])
  await t.rejects(thread.sign(raw, first, signedAt), { message: 'the signing thread is stopped' })
  t.equal(started, 1)
})

t.test('a message of other mail waits for few of a broadcast, and all get their own signatures', async (t) => {
  const thread = startSigning(t)
  const signed: string[] = []
  const sign = async (name: string, isBulk: boolean): Promise<void> => {
    const raw = letter('one.test', name)
    t.equal(await verdict(await thread.sign(raw, first, signedAt, isBulk), raw), 'pass')
    signed.push(name)
  }
  const all = Array.from({ length: 30 }, (_, n) => sign(`news ${n}`, true))
  await waitUntil('the first are signed', () => signed.length > 0)
  await sign('receipt', false)
  t.ok(signed.indexOf('receipt') < 20, `after ${signed.indexOf('receipt')} of the broadcast`)
  await Promise.all(all)
  t.equal(signed.length, 31)
})
