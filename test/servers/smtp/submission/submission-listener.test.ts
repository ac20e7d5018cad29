import { once } from 'node:events'
import { connect as connectPlain } from 'node:net'
import { connect } from 'node:tls'
import t from 'tap'
import { Refusal } from '../../../../src/base/mail/refusal.js'
import { MemoryBudget } from '../../../../src/base/platform/memory/budget.js'
import { StorageFault } from '../../../../src/base/storage/db/write.js'
import { type Dialogue, dial } from '../../../helpers/smtp/smtp-dialogue.js'
import {
  advanceToData,
  app,
  authPlain,
  base64,
  createSelfSigned,
  letter,
  other,
  printer,
  runSubmission,
  type SubmissionChanges,
  waitUntil,
} from '../submission-listener.js'

const trusting = { trusted: () => printer }

t.test('the greeting is sent at once', async (t) => {
  const { port } = await runSubmission(t, { session_deadline: 777_000 })
  const timers = t.capture(globalThis, 'setTimeout', setTimeout)
  const client = await dial(port(false))
  t.equal(await client.readReply(), '220 mail.test ESMTP')
  t.same(
    timers().map(({ args }) => args[1]),
    [777_000, 30_000],
    'those of the session and of its key are the only timers, the 100 ms of smtp-server are gone',
  )
  client.end()
})

t.test('EHLO offers AUTH only where it may be used, REQUIRETLS over TLS alone, and never XCLIENT', async (t) => {
  const { open } = await runSubmission(t)
  const common = ['PIPELINING', '8BITMIME', 'SMTPUTF8', 'ENHANCEDSTATUSCODES', 'DSN']
  const secured = ['mail.test', ...common, 'AUTH PLAIN LOGIN', 'REQUIRETLS', 'SIZE 15728640']
  const lines = (reply: string): string[] => reply.split('\n').map((line) => line.slice(4))

  const client = await open()
  t.same(lines(await client.sendCommand('EHLO c')), ['mail.test', ...common, 'STARTTLS', 'SIZE 15728640'])
  t.equal(await client.sendCommand('STARTTLS'), '220 2.0.0 Ready to start TLS')
  await client.startTls()
  t.same(lines(await client.sendCommand('EHLO c')), secured)

  const secure = await open({ tls: true })
  t.same(lines(await secure.sendCommand('EHLO c')), secured)

  const { open: openPlain } = await runSubmission(t, { allow_plaintext_loopback: true })
  t.match(
    await (await openPlain()).sendCommand('EHLO c'),
    /AUTH PLAIN LOGIN/,
    'where the settings allow it on loopback',
  )
})

t.test('a message over STARTTLS with AUTH PLAIN is handed over unchanged', async (t) => {
  const { open, taken } = await runSubmission(t)
  const client = await open()
  await client.sendCommand('EHLO client.test')
  await client.sendCommand('STARTTLS')
  await client.startTls()
  await client.sendCommand('EHLO client.test')
  t.equal(await client.sendCommand(authPlain('app-key')), '235 2.7.0 Authentication successful')
  t.equal(await client.sendCommand('MAIL FROM:<A@Example.TEST> SIZE=100 BODY=8BITMIME'), '250 2.1.0 Ok')
  t.equal(await client.sendCommand('RCPT TO:<b@remote.test>'), '250 2.1.5 Ok')
  t.equal(await client.sendCommand('DATA'), '354 End data with <CR><LF>.<CR><LF>')
  t.equal(await client.sendCommand(`${letter}.`), '250 2.0.0 Ok: queued as email-1')
  t.equal(await client.sendCommand('QUIT'), '221 2.0.0 Bye')
  t.equal(await client.readReply(), 'closed')
  t.same(taken, [
    {
      principal: app,
      message: {
        envelopeFrom: 'A@example.test',
        envid: null,
        ret: null,
        smtputf8: false,
        requiresTls: false,
        recipients: [{ address: 'b@remote.test', notify: null, orcpt: null }],
        raw: Buffer.from(letter),
        protocol: 'ESMTPSA',
      },
    },
  ])
})

t.test('every form of AUTH PLAIN and LOGIN is accepted, with any user name', async (t) => {
  const { open } = await runSubmission(t)
  const forms: readonly (readonly string[])[] = [
    [authPlain('app-key')],
    ['AUTH PLAIN', base64('\0\0app-key')],
    ['auth plain', base64('someone\0\0app-key')],
    ['AUTH LOGIN', base64('anybody'), base64('app-key')],
    [`AUTH LOGIN ${base64('anybody')}`, base64('app-key')],
    ['AUTH LOGIN', '', base64('app-key')],
    ['AUTH LOGIN =', base64('app-key')],
    ['AUTH LOGIN', base64('any\nbody'), base64('app-key\r\n')],
    [`AUTH PLAIN ${base64('\0some\nbody\0app-key')}`],
    ['AUTH PLAIN', base64('\0\0 app-key\n')],
  ]
  for (const form of forms) {
    const client = await open({ tls: true })
    await client.sendCommand('EHLO c')
    for (const line of form.slice(0, -1)) t.match(await client.sendCommand(line), /^334 /, line)
    t.equal(await client.sendCommand(form.at(-1) ?? ''), '235 2.7.0 Authentication successful', form.join(' | '))
    t.equal(await client.sendCommand('AUTH PLAIN AHgAeA=='), '503 5.5.1 Error: No identity changes permitted')
    client.end()
  }
})

t.test('a trusted network submits without AUTH and without TLS', async (t) => {
  const { open, taken } = await runSubmission(t, {}, trusting)
  const client = await open()
  await advanceToData(client)
  t.match(await client.sendCommand(`${letter}.`), /^250 /)
  t.same(taken[0]?.principal, printer)
  t.equal(taken[0]?.message.protocol, 'ESMTP')
})

t.test('a key takes precedence over the trusted network', async (t) => {
  const { open, taken } = await runSubmission(t, { allow_plaintext_loopback: true }, trusting)
  const client = await open()
  await client.sendCommand('EHLO c')
  t.match(await client.sendCommand(authPlain('other-key')), /^235 /)
  await advanceToData(client)
  t.equal(taken.length, 0)
  await client.sendCommand('.')
  t.same(taken[0]?.principal, other)
})

t.test('STARTTLS forgets the key and the transaction from before it', async (t) => {
  const { open } = await runSubmission(t, { allow_plaintext_loopback: true })
  const client = await open()
  await client.sendCommand('EHLO c')
  await client.sendCommand(authPlain('app-key'))
  t.match(await client.sendCommand('MAIL FROM:<a@example.test>'), /^250 /)
  await client.sendCommand('STARTTLS')
  await client.startTls()
  t.equal(await client.sendCommand('RCPT TO:<b@remote.test>'), '503 5.5.1 Error: send HELO/EHLO first')
  await client.sendCommand('EHLO c')
  t.equal(await client.sendCommand('RCPT TO:<b@remote.test>'), '503 5.5.1 need MAIL command')
  t.equal(await client.sendCommand('MAIL FROM:<a@example.test>'), '530 5.7.0 Authentication required')
})

t.test('delivery status parameters arrive parsed and decoded', async (t) => {
  const { open, taken } = await runSubmission(t, {}, trusting)
  const client = await open()
  await client.sendCommand('EHLO c')
  t.match(await client.sendCommand('MAIL FROM:<a@example.test> RET=hdrs ENVID=QQ+2B314 AUTH=<>'), /^250 /)
  t.match(
    await client.sendCommand('RCPT TO:<b@remote.test> NOTIFY=SUCCESS,delay ORCPT=rfc822;Bob+2Bx@remote.test'),
    /^250 /,
  )
  t.match(await client.sendCommand('RCPT TO:<c@remote.test> NOTIFY=NEVER'), /^250 /)
  t.match(await client.sendCommand('RCPT TO:<c@remote.test> NOTIFY=FAILURE'), /^250 /, 'the last word counts')
  await client.sendCommand('DATA')
  await client.sendCommand(`${letter}.`)
  const { message } = taken[0] ?? {}
  t.equal(message?.ret, 'headers')
  t.equal(message?.envid, 'QQ+314')
  t.same(message?.recipients, [
    { address: 'b@remote.test', notify: ['success', 'delay'], orcpt: 'rfc822;Bob+x@remote.test' },
    { address: 'c@remote.test', notify: ['failure'], orcpt: null },
  ])
})

t.test('non-ASCII addresses are accepted with SMTPUTF8, their domains as A-labels', async (t) => {
  const { open, taken } = await runSubmission(t, {}, trusting)
  const client = await open()
  await client.sendCommand('EHLO c')
  t.match(await client.sendCommand('MAIL FROM:<> SMTPUTF8'), /^250 /)
  t.match(await client.sendCommand('RCPT TO:<jürgen@münchen.test>'), /^250 /)
  t.match(await client.sendCommand('RCPT TO:<postmaster>'), /^250 /)
  await client.sendCommand('DATA')
  await client.sendCommand('.')
  t.equal(taken[0]?.message.smtputf8, true)
  t.equal(taken[0]?.message.envelopeFrom, '')
  t.same(
    taken[0]?.message.recipients.map(({ address }) => address),
    ['jürgen@xn--mnchen-3ya.test', 'postmaster@mail.test'],
  )
})

t.test('a pipelining client gets its replies in order, over several messages', async (t) => {
  const { open, taken } = await runSubmission(t, {}, trusting)
  const client = await open()
  const group = 'MAIL FROM:<a@example.test>\r\nRCPT TO:<b@remote.test>\r\nRCPT TO:<bad>\r\nDATA\r\n'
  await client.send(`EHLO c\r\n${group}`)
  const codes = async (count: number): Promise<string> =>
    (await client.readReplies(count)).map((reply) => reply.slice(0, 9).trimEnd()).join(', ')
  t.match(await client.readReply(), /^250-/)
  t.equal(await codes(4), '250 2.1.0, 250 2.1.5, 553 5.1.3, 354 End d')
  await client.send(`${letter}.\r\n${group}`)
  t.equal(await codes(5), '250 2.0.0, 250 2.1.0, 250 2.1.5, 553 5.1.3, 354 End d')
  await client.send(`${letter}.\r\nQUIT\r\n`)
  t.equal(await codes(3), '250 2.0.0, 221 2.0.0, closed')
  t.equal(taken.length, 2)
})

t.test('two messages and QUIT in one piece are answered to the end', async (t) => {
  const { open, taken } = await runSubmission(t, {}, trusting)
  const client = await open()
  const message = `MAIL FROM:<a@example.test>\r\nRCPT TO:<b@remote.test>\r\nDATA\r\n${letter}.\r\n`
  await client.send(`EHLO c\r\n${message}${message}QUIT\r\n`)
  t.match(await client.readReply(), /^250-/)
  const codes = (await client.readReplies(10)).map((reply) => reply.slice(0, 3).trim())
  t.same(codes, ['250', '250', '354', '250', '250', '250', '354', '250', '221', 'clo'])
  t.equal(taken.length, 2)
})

/** Bytes that a message may contain, with all that could confuse the framing. */
const awkward = Buffer.concat([
  Buffer.from('From: a@example.test\r\n\r\n.\r\r\n'.replace('\r\r', '\r')),
  Buffer.from('..\r\n.leading dot\r\n...\r\n.\r\n\r\n'),
  Buffer.from(Array.from({ length: 128 }, (_, at) => at + 128)),
  Buffer.from('\r\nlast line, which ends with a dot.\r\n.\r\n'),
])

function dotStuff(raw: Buffer): Buffer {
  return Buffer.from(`${raw.toString('latin1').replaceAll('\r\n.', '\r\n..')}.\r\n`, 'latin1')
}

t.test('eight-bit bytes and lines with dots arrive exactly as they were', async (t) => {
  const { open, taken } = await runSubmission(t, {}, trusting)
  const client = await open()
  await advanceToData(client)
  await client.send(dotStuff(awkward))
  t.match(await client.readReply(), /^250 /)
  t.same(taken[0]?.message.raw, awkward)
})

t.test('a message may come in pieces of any size', async (t) => {
  const { open, taken, listener } = await runSubmission(t, {}, trusting)
  const whole = dotStuff(awkward)
  for (const size of [1, 2, 3, 4, 5, 7]) {
    const client = await open()
    await advanceToData(client)
    for (let at = 0; at < whole.length; at += size) await client.send(whole.subarray(at, at + size))
    t.match(await client.readReply(), /^250 /, `pieces of ${size}`)
    t.same(taken.at(-1)?.message.raw, awkward)
    client.end()
  }
  t.equal(listener.bytesInFlight(), 0)
})

t.test('a large message is complete, in memory of its own, which is freed after the reply', async (t) => {
  const whole: Buffer[] = []
  const accept: NonNullable<SubmissionChanges['accept']> = async (_principal, { raw }) => {
    whole.push(Buffer.from(raw))
    kept = raw
    return { emailId: 'email-1' }
  }
  let kept: Buffer | undefined
  const { open } = await runSubmission(t, {}, { ...trusting, accept })
  const client = await open()
  await advanceToData(client)
  const raw = Buffer.from(`${letter}${`${'x'.repeat(70)}\r\n`.repeat(30_000)}`)
  await client.send(Buffer.concat([raw, Buffer.from('.\r\n')]))
  t.match(await client.readReply(), /^250 /)
  t.ok(whole[0]?.equals(raw))
  t.equal(kept?.length, 0)
})

t.test('a refusal by accept reaches the client with its own code, once, and the session goes on', async (t) => {
  const outcomes: readonly (readonly [Error, string])[] = [
    [new Refusal('all-recipients-suppressed', 'all are suppressed'), '554 5.7.1 all are suppressed'],
    [new Refusal('rate-limited', 'too fast'), '451 4.7.1 too fast'],
    [new Refusal('mail-loop', 'too many hops'), '554 5.4.6 too many hops'],
    [new StorageFault('SQLITE_FULL', 'secret'), '452 4.3.1 insufficient system storage, try again later'],
    [new StorageFault('53100', 'secret'), '452 4.3.1 insufficient system storage, try again later'],
    [new StorageFault('connection', 'secret'), '451 4.3.0 the mail cannot be stored now, try again later'],
    [new Error('secret'), '451 4.3.0 local error, try again later'],
  ]
  let next = 0
  const { open, errors, listener } = await runSubmission(
    t,
    {},
    { ...trusting, accept: async () => Promise.reject(outcomes[next++]?.[0]) },
  )
  const client = await open()
  for (const [, expected] of outcomes) {
    await advanceToData(client)
    t.equal(await client.sendCommand(`${letter}.`), expected)
  }
  t.same(
    errors.map((line) => (line as { err: Error }).err.message),
    Array(3).fill('secret'),
    'bugs and faults of the disk are logged; an outage is logged elsewhere, once',
  )
  t.equal(listener.bytesInFlight(), 0)
})

t.test('a bug in a dependency never refuses mail permanently', async (t) => {
  const brokenHere = (): never => {
    throw new TypeError('secret')
  }
  const broken = async (): Promise<never> => brokenHere()
  const { open } = await runSubmission(t, {}, { authenticate: broken, checkSender: broken })
  const client = await open({ tls: true })
  await client.sendCommand('EHLO c')
  t.equal(await client.sendCommand(authPlain('app-key')), '454 4.7.0 Temporary authentication failure')

  const { port } = await runSubmission(t, {}, { trusted: brokenHere })
  const second = await dial(port(false))
  t.equal(await second.readReply(), '421 4.3.0 local error, try again later')

  const { open: openTrusted } = await runSubmission(t, {}, { ...trusting, checkSender: broken })
  const third = await openTrusted()
  await third.sendCommand('EHLO c')
  t.equal(await third.sendCommand('MAIL FROM:<a@example.test>'), '451 4.3.0 local error, try again later')
})

t.test('no message is accepted while the disk is nearly full', async (t) => {
  let room = true
  const { open } = await runSubmission(t, {}, { ...trusting, hasDiskSpace: () => room })
  const client = await open()
  await client.sendCommand('EHLO c')
  await client.sendCommand('MAIL FROM:<a@example.test>')
  await client.sendCommand('RCPT TO:<b@remote.test>')
  room = false
  t.match(await client.sendCommand('DATA'), /^452 4\.3\.1 /, 'at DATA')
  await client.sendCommand('RSET')
  t.match(await client.sendCommand('MAIL FROM:<a@example.test>'), /^452 4\.3\.1 /, 'at MAIL')
  room = true
  t.match(await client.sendCommand('MAIL FROM:<a@example.test>'), /^250 /)
})

t.test('messages in memory are limited over all sessions together', async (t) => {
  let finish: () => void = () => undefined
  const waiting = new Promise<void>((resolve) => {
    finish = resolve
  })
  const limits = { max_size: 1000, maxBytesInFlight: 1500 }
  const accept = (): Promise<{ emailId: string }> => waiting.then(() => ({ emailId: 'x' }))
  const { open, listener } = await runSubmission(t, limits, { ...trusting, accept })
  const [first, second] = [await open(), await open()]
  await advanceToData(first)
  await advanceToData(second)
  await first.send(`X: ${'x'.repeat(897)}\r\n.\r\n`)
  await waitUntil(() => listener.bytesInFlight() === 902)

  t.match(await second.sendCommand(`${'x'.repeat(800)}\r\n.`), /^452 4\.3\.1 /, 'while its bytes come in')
  t.match(await second.sendCommand('MAIL FROM:<a@example.test> SIZE=900'), /^452 4\.3\.1 /, 'by its declared size')
  t.match(await second.sendCommand('MAIL FROM:<a@example.test> SIZE=500'), /^250 /)
  finish()
  t.match(await first.readReply(), /^250 /)
  t.equal(listener.bytesInFlight(), 0)
})

const LARGE = 300_000
const largeMail = `MAIL FROM:<a@example.test> SIZE=${LARGE}`
const largeLetter = `X: ${'x'.repeat(67)}\r\n\r\n${`${'x'.repeat(70)}\r\n`.repeat(LARGE / 72 - 2)}.`

/** A client that has said DATA to a message that is declared as large; its reply is not read. */
async function atLargeData(client: Dialogue): Promise<void> {
  await client.sendCommand('EHLO client.test')
  t.match(await client.sendCommand(largeMail), /^250 /)
  await client.sendCommand('RCPT TO:<b@remote.test>')
  await client.send('DATA\r\n')
}

t.test('DATA of a large message is answered when there is memory for all of it', async (t) => {
  const memory = new MemoryBudget(LARGE * 1.5)
  const { open, listener } = await runSubmission(t, { max_connections: 3, memoryWait: 60_000 }, { ...trusting, memory })
  const [first, second] = [await open(), await open()]
  await atLargeData(first)
  t.match(await first.readReply(), /^354 /)
  t.equal(memory.usedBytes(), LARGE, 'it is reserved before a byte has come')
  await atLargeData(second)
  await waitUntil(() => memory.countWaiting() === 1)

  const third = await open()
  await advanceToData(third)
  t.match(await third.sendCommand(`${letter}.`), /^250 /, 'a short one waits behind no large one')
  await atLargeData(third)
  await waitUntil(() => memory.countWaiting() === 2)
  third.end()
  await waitUntil(() => memory.countWaiting() === 1)

  t.match(await first.sendCommand(largeLetter), /^250 /)
  t.match(await second.readReply(), /^354 /)
  t.match(await second.sendCommand(largeLetter), /^250 /)
  t.same([listener.bytesInFlight(), memory.usedBytes(), memory.countWaiting()], [0, 0, 0])

  await atLargeData(first)
  t.match(await first.readReply(), /^354 /)
  t.match(await first.sendCommand(`${letter}.`), /^250 /, 'shorter than declared')
  t.same([listener.bytesInFlight(), memory.usedBytes()], [0, 0])
})

t.test(
  'a client that gets no memory in time is answered 452, may go on, and does not count as idle meanwhile',
  async (t) => {
    const memory = new MemoryBudget(LARGE * 1.5)
    const limits = { max_connections: 2, memoryWait: 500 }
    const { open, port, advance } = await runSubmission(t, limits, { ...trusting, memory })
    memory.acquire(LARGE)
    const [client] = [await open(), await open()]
    await atLargeData(client)
    await waitUntil(() => memory.countWaiting() === 1)
    advance(30_000)
    t.match(await (await dial(port(false))).readReply(), /^220 /, 'another one gave way')
    t.match(await client.readReply(), /^452 4\.3\.1 /)
    t.match(await client.sendCommand('NOOP'), /^250 /)
    t.equal(memory.countWaiting(), 0)
    memory.release(LARGE)
    await client.send('DATA\r\n')
    t.match(await client.readReply(), /^354 /)
    client.reset()
    await waitUntil(() => memory.usedBytes() === 0)
  },
)

t.test('a listener that stops, and a key that ends, end the wait for memory', async (t) => {
  const memory = new MemoryBudget(LARGE * 1.5)
  memory.acquire(LARGE)
  const { open, listener } = await runSubmission(t, {}, { ...trusting, memory })
  const [revoked, stopped] = [await open(), await open()]
  await atLargeData(revoked)
  await waitUntil(() => memory.countWaiting() === 1)
  listener.endSessions(() => true)
  t.match(await revoked.readReply(), /^421 4\.7\.0 /)
  t.match(await stopped.readReply(), /^421 4\.7\.0 /)
  t.equal(memory.countWaiting(), 0)
  const last = await open()
  await atLargeData(last)
  await waitUntil(() => memory.countWaiting() === 1)
  const end = listener.stop(5_000)
  t.match(await last.readReply(), /^421 4\.3\.2 /)
  t.equal(memory.countWaiting(), 0)
  last.end()
  await end
  t.equal(memory.usedBytes(), LARGE)
})

t.test('three wrong keys end a session', async (t) => {
  const { open } = await runSubmission(t)
  const client = await open({ tls: true })
  await client.sendCommand('EHLO c')
  for (let attempt = 1; attempt <= 3; attempt++) {
    t.equal(await client.sendCommand(authPlain('wrong')), '535 5.7.8 Authentication credentials invalid')
  }
  t.match(await client.readReply(), /^421 4\.7\.0 /)
  t.equal(await client.readReply(), 'closed')
})

t.test('ten wrong keys from an address ban it for a while, open sessions included', async (t) => {
  const { open, port, advance } = await runSubmission(t)
  const bystander = await open({ tls: true })
  await bystander.sendCommand('EHLO c')
  for (let session = 0; session < 4; session++) {
    const client = await open({ tls: true })
    await client.sendCommand('EHLO c')
    for (let attempt = 0; attempt < (session === 3 ? 1 : 3); attempt++) await client.sendCommand(authPlain('wrong'))
    if (session === 3) t.match(await client.readReply(), /^421 4\.7\.0 /, 'the tenth')
    client.end()
  }
  for (const tls of [false, true]) {
    const client = await dial(port(tls), { tls })
    t.match(await client.readReply(), /^421 4\.7\.0 /, 'at connect')
    t.equal(await client.readReply(), 'closed')
  }
  t.match(await bystander.sendCommand(authPlain('app-key')), /^421 4\.7\.0 /, 'no further guesses')
  const elsewhere = await dial(port(false), { localAddress: '127.0.0.2' })
  t.match(await elsewhere.readReply(), /^220 /, 'other addresses are not concerned')
  elsewhere.end()

  advance(5 * 60_000)
  const client = await open({ tls: true })
  await client.sendCommand('EHLO c')
  t.match(await client.sendCommand(authPlain('app-key')), /^235 /)
})

t.test('wrong keys do not ban a trusted network', async (t) => {
  const { open } = await runSubmission(
    t,
    { authFailures: { failures: 1, window: 1e6, ban: 1e6, maxClients: 10 } },
    trusting,
  )
  const client = await open({ tls: true })
  await client.sendCommand('EHLO c')
  await client.sendCommand(authPlain('wrong'))
  t.match(await client.readReply(), /^421 /)
  await advanceToData(await open())
})

t.test('one connection too many is refused, and accepted once another has left', async (t) => {
  for (const [settings, status] of [
    [{ max_connections: 2 }, '4.3.2'],
    [{ max_connections_per_address: 2 }, '4.7.0'],
  ] as const) {
    const { open, port, listener } = await runSubmission(t, settings)
    const first = await open()
    await open({ tls: true })
    const third = await dial(port(false))
    t.equal(await third.readReply(), `421 ${status} Too many connections, try again later`)
    t.equal(await third.readReply(), 'closed')
    await t.rejects(dial(port(true), { tls: true }), 'on the TLS port it is closed without a word')
    await first.sendCommand('QUIT')
    first.end()
    await waitUntil(() => listener.connections() === 1)
    t.match(await (await open()).sendCommand('NOOP'), /^250 /)
  }
})

t.test('the slot is given back, however a client leaves', async (t) => {
  const { open, port, listener } = await runSubmission(t)
  const upgraded = await open()
  await upgraded.sendCommand('STARTTLS')
  await upgraded.startTls()
  upgraded.end()
  const upgradedAndReset = await open()
  await upgradedAndReset.sendCommand('STARTTLS')
  await upgradedAndReset.startTls()
  upgradedAndReset.reset()
  const failed = await open()
  await failed.sendCommand('STARTTLS')
  await failed.send('this is no TLS hello\r\n')
  await failed.waitForClose()
  const leftAmid = await open()
  await leftAmid.sendCommand('STARTTLS')
  leftAmid.end()
  const noHandshake = await dial(port(true))
  await noHandshake.send('EHLO plain\r\n')
  await noHandshake.waitForClose()
  const resetBeforeGreeting = await dial(port(false))
  resetBeforeGreeting.reset()
  await waitUntil(() => listener.connections() === 0)
  t.match(await (await open()).sendCommand('NOOP'), /^250 /)
})

t.test('a revoked key ends its sessions, and only those', async (t) => {
  const { open, listener } = await runSubmission(t)
  const mine = await open({ tls: true })
  await mine.sendCommand('EHLO c')
  await mine.sendCommand(authPlain('app-key'))
  const theirs = await open({ tls: true })
  await theirs.sendCommand('EHLO c')
  await theirs.sendCommand(authPlain('other-key'))
  const anonymous = await open({ tls: true })

  listener.endSessions((principal) => principal.keyId === 'key_app')
  t.equal(await mine.readReply(), '421 4.7.0 Your access has ended')
  t.equal(await mine.readReply(), 'closed')
  t.match(await theirs.sendCommand('NOOP'), /^250 /)
  t.match(await anonymous.sendCommand('NOOP'), /^250 /)
})

t.test('a message that is coming in when its key is revoked is answered first', async (t) => {
  const { open, listener, taken } = await runSubmission(t, {}, trusting)
  const client = await open()
  await advanceToData(client)
  listener.endSessions(() => true)
  await client.send(`${letter}.\r\nMAIL FROM:<a@example.test>\r\n`)
  t.same(await client.readReplies(3), ['250 2.0.0 Ok: queued as email-1', '421 4.7.0 Your access has ended', 'closed'])
  t.equal(taken.length, 1)
})

t.test('a message that is not complete in time is not accepted', async (t) => {
  const { open, listener, taken } = await runSubmission(t, { finishWithin: 20 }, trusting)
  const client = await open()
  await advanceToData(client)
  await client.send(letter)
  await waitUntil(() => listener.bytesInFlight() > 0)
  listener.endSessions(() => true)
  t.same(await client.readReplies(2), ['421 4.7.0 Your access has ended', 'closed'])
  await waitUntil(() => listener.connections() === 0)
  t.equal(taken.length, 0)
  t.equal(listener.bytesInFlight(), 0)
})

t.test('stopping ends idle sessions, lets messages be finished, and accepts no client', async (t) => {
  let store: () => void = () => undefined
  const stored = new Promise<void>((resolve) => {
    store = resolve
  })
  const accept = (): Promise<{ emailId: string }> => stored.then(() => ({ emailId: 'late' }))
  const { open, listener, port } = await runSubmission(t, {}, { ...trusting, accept })
  const idle = await open()
  const sending = await open()
  await advanceToData(sending)
  const storing = await open()
  await advanceToData(storing)
  await storing.send(`${letter}.\r\n`)
  await waitUntil(() => listener.bytesInFlight() === letter.length)

  const stopped = listener.stop(60_000)
  t.same(await idle.readReplies(2), ['421 4.3.2 Shutting down, try again later', 'closed'])
  await t.rejects(dial(port(false)))
  await sending.send(`${letter}.\r\n`)
  await waitUntil(() => listener.bytesInFlight() === 2 * letter.length)
  store()
  for (const client of [storing, sending]) {
    t.same(await client.readReplies(3), [
      '250 2.0.0 Ok: queued as late',
      '421 4.3.2 Shutting down, try again later',
      'closed',
    ])
  }
  await stopped
})

t.test('stopping ends at its limit, whatever clients do', async (t) => {
  const { open, listener, taken } = await runSubmission(t, {}, trusting)
  const stalled = await open()
  await advanceToData(stalled)
  const mute = await open()
  await mute.sendCommand('STARTTLS')
  await listener.stop(20)
  await stalled.waitForClose()
  t.equal(taken.length, 0)
})

t.test('a new certificate serves new handshakes, open sessions go on', async (t) => {
  const { open, listener } = await runSubmission(t)
  const before = await open({ tls: true })
  listener.updateSecureContext(await createSelfSigned())
  t.match(await before.sendCommand('NOOP'), /^250 /)
  const after = await open({ tls: true })
  t.match(await after.sendCommand('NOOP'), /^250 /)
})

t.test('TLS below 1.2 is refused', async (t) => {
  const { port } = await runSubmission(t)
  const old = { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const
  const socket = connect({ ...old, port: port(true), host: '127.0.0.1', rejectUnauthorized: false })
  const [error] = await once(socket, 'error').catch((error: unknown) => [error])
  t.match(error, { code: 'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION' })
})

t.test('an endpoint in use is named in the error, and nothing stays open', async (t) => {
  const { port } = await runSubmission(t)
  const taken = { host: '127.0.0.1', port: port(false) }
  await t.rejects(runSubmission(t, { listen: [{ host: '127.0.0.1', port: 0 }, taken] }), {
    code: 'EADDRINUSE',
    port: taken.port,
  })
})

t.test('a session without a key ends after its time, whatever its client sends', async (t) => {
  const { open, port, listener } = await runSubmission(t, { auth_timeout: 400 })
  const noops = await open()
  const half = await open()
  await half.sendCommand('EHLO half.test')
  await half.sendCommand('STARTTLS')
  await half.send(Buffer.from([22, 3, 1, 2, 0, 1]))
  const silent = connectPlain(port(true))
  silent.on('error', () => undefined)
  const keyed = await open({ tls: true })
  await keyed.sendCommand('EHLO keyed.test')
  t.match(await keyed.sendCommand(authPlain('app-key')), /^235 /)
  for (const line of ['EHLO noop.test', 'RSET', 'NOOP']) t.match(await noops.sendCommand(line), /^250/)
  const ended = noops.readReply()
  let over = false
  void ended.then(() => {
    over = true
  })
  while (!over) await noops.send('NOOP\r\n').then(() => new Promise((resolve) => setTimeout(resolve, 20)))
  const replies = [await ended]
  while (replies.at(-1)?.startsWith('250')) replies.push(await noops.readReply())
  t.match(replies.at(-1), /^421 4\.4\.2 AUTH did not come in time/)
  await half.waitForClose()
  await waitUntil(() => silent.closed)
  await waitUntil(() => listener.connections() === 1)
  t.match(await keyed.sendCommand('MAIL FROM:<a@example.test>'), /^250 /, 'a client with a key has no login timeout')
})

t.test('a message must keep the minimum rate, and may take long if it does', async (t) => {
  const { open, listener, taken } = await runSubmission(
    t,
    { min_data_rate: 1_000, min_data_rate_patience: 1_000 },
    trusting,
  )
  const trickling = await open()
  const stopping = await open()
  const slow = await open()
  for (const client of [trickling, stopping, slow]) await advanceToData(client)
  await stopping.send(`${letter}${'fast\r\n'.repeat(100_000)}`)
  let ended = false
  const end = trickling.readReply().then((reply) => {
    ended = true
    return reply
  })
  await slow.send(letter)
  for (let times = 0; !ended || times < 15; times++) {
    await Promise.all([trickling.send('x'), slow.send('a line that takes its time\r\n'.repeat(20))])
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  t.match(await end, /^421 4\.4\.2 Your message comes too slowly/)
  t.match(await stopping.readReply(), /^421 4\.4\.2 /, 'a fast beginning pays for no slow end')
  t.match(await slow.sendCommand('.'), /^250 2\.0\.0 /)
  t.equal(taken.length, 1)
  await waitUntil(() => listener.connections() === 1)
  t.equal(listener.bytesInFlight(), 0)
})

t.test(
  'the session without a key that is oldest is closed for a client that finds no slot, then idle ones',
  async (t) => {
    const { open, advance, listener } = await runSubmission(t, { max_connections: 4 })
    const idle = await open({ tls: true })
    await idle.sendCommand('EHLO idle.test')
    t.match(await idle.sendCommand(authPlain('app-key')), /^235 /)
    advance(20_000)
    const first = await open()
    advance(1)
    const second = await open()
    advance(10_000)
    t.match(await first.sendCommand('EHLO first.test'), /^250/, 'words are not enough')
    const busy = await open({ tls: true })
    await busy.sendCommand('EHLO busy.test')
    await busy.sendCommand(authPlain('app-key'))
    await busy.sendCommand('MAIL FROM:<a@example.test>')
    await busy.sendCommand('RCPT TO:<b@remote.test>')
    await busy.sendCommand('DATA')
    for (const session of [first, second, idle]) {
      const client = await open({ tls: true })
      await client.sendCommand('EHLO new.test')
      t.match(await client.sendCommand(authPlain('app-key')), /^235 /)
      t.match(await session.readReply(), /^421 4\.4\.2 /)
    }
    t.match(await busy.sendCommand(`${letter}\r\n.`), /^250 /)
    t.equal(listener.connections(), 4)
  },
)

t.test('the Received field says SMTPUTF8, with TLS and AUTH and without', async (t) => {
  const { open, taken } = await runSubmission(t, {}, { trusted: () => printer })
  const rows = [
    ['HELO c', false, false, 'SMTP'],
    ['EHLO c', false, false, 'UTF8SMTP'],
    ['EHLO c', true, false, 'UTF8SMTPS'],
    ['EHLO c', true, true, 'UTF8SMTPSA'],
  ] as const
  for (const [hello, tls, auth, protocol] of rows) {
    const client = await open({ tls })
    await client.sendCommand(hello)
    if (auth) t.match(await client.sendCommand(authPlain('app-key')), /^235 /)
    await client.sendCommand('MAIL FROM:<a@example.test> SMTPUTF8')
    await client.sendCommand('RCPT TO:<b@remote.test>')
    await client.sendCommand('DATA')
    t.match(await client.sendCommand(`${letter}\r\n.`), /^250 /)
    t.equal(taken.at(-1)?.message.protocol, protocol)
  }
  const local = await runSubmission(t, { allow_plaintext_loopback: true })
  const client = await local.open()
  await client.sendCommand('EHLO c')
  await client.sendCommand(authPlain('app-key'))
  for (const [parameter, protocol] of [
    [' SMTPUTF8', 'UTF8SMTPA'],
    ['', 'ESMTPA'],
  ]) {
    await client.sendCommand(`MAIL FROM:<a@example.test>${parameter}`)
    await client.sendCommand('RCPT TO:<b@remote.test>')
    await client.sendCommand('DATA')
    t.match(await client.sendCommand(`${letter}\r\n.`), /^250 /)
    t.equal(local.taken.at(-1)?.message.protocol, protocol)
  }
})
