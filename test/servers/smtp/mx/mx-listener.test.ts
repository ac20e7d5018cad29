/** The MX listener over real sockets: what it offers, accepts and refuses, and how it withstands hostile clients. */
import { once } from 'node:events'
import { connect, Socket } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import t from 'tap'
import { Refusal } from '../../../../src/base/mail/refusal.js'
import { MemoryBudget } from '../../../../src/base/platform/memory/budget.js'
import { StorageFault } from '../../../../src/base/storage/db/write.js'
import { tarpitDelay } from '../../../../src/servers/smtp/mx/mx-refusals.js'
import { networks } from '../../../helpers/config-values.js'
import { type Dialogue, dial } from '../../../helpers/smtp/smtp-dialogue.js'
import { advanceToRcpt, deliver, letter, runMx } from '../mx-listener.js'
import { createSelfSigned, waitUntil } from '../submission-listener.js'

const closed = 'closed'

t.test('an external client is offered what MX hosts offer, and no AUTH, with TLS or without', async (t) => {
  const { open } = await runMx(t)
  const client = await open()
  const plain = await client.sendCommand('EHLO out.sender.test')
  const offered = plain.split('\n').map((line) => line.slice(4))
  t.same(offered, [
    'mail.test',
    'PIPELINING',
    '8BITMIME',
    'SMTPUTF8',
    'ENHANCEDSTATUSCODES',
    'STARTTLS',
    'SIZE 36700160',
  ])
  t.match(await client.sendCommand('AUTH PLAIN AGEAYg=='), /^500 5\.5\.2 /)
  t.match(await client.sendCommand('STARTTLS'), /^220 /)
  await client.startTls()
  t.notMatch(await client.sendCommand('EHLO out.sender.test'), /AUTH|STARTTLS|DSN/)
  t.match(await client.sendCommand('MAIL FROM:<ann@sender.test> REQUIRETLS'), /^250 /)
  await client.sendCommand('RSET')
  t.match(await client.sendCommand('QUIT'), /^221 2\.0\.0 /)
})

t.test('a message is accepted with its envelope and the facts of its client', async (t) => {
  const { open, taken } = await runMx(t)
  const client = await open()
  await advanceToRcpt(client)
  t.equal(await client.sendCommand('RCPT TO:<Bob+tag@HOME.test>'), '250 2.1.5 Ok')
  t.equal(await client.sendCommand('RCPT TO:<Bob+tag@home.test>'), '250 2.1.5 Ok', 'the same again')
  t.equal(await client.sendCommand('RCPT TO:<postmaster>'), '250 2.1.5 Ok')
  t.match(await client.sendCommand('DATA'), /^354 /)
  t.equal(await client.sendCommand(`${letter}\r\n..dot\r\n.`), '250 2.0.0 Ok: queued as mail-1')
  const [message] = taken
  t.match(message, {
    envelopeFrom: 'ann@sender.test',
    recipients: ['Bob+tag@home.test', 'postmaster@mail.test'],
    client: { address: '127.0.0.1', helo: 'out.sender.test', earlyTalker: false, listings: [] },
    tls: null,
    protocol: 'ESMTP',
    smtputf8: false,
  })
  t.equal(message?.recipients.length, 2)
  t.ok((message?.client.port ?? 0) > 0)
  t.equal(message?.bytes.read().toString(), `${letter}\r\n.dot\r\n`)
})

t.test('over STARTTLS the facts of TLS are passed on; a bounce has no sender', async (t) => {
  const { open, taken } = await runMx(t)
  const client = await open()
  await client.sendCommand('EHLO out.sender.test')
  await client.sendCommand('STARTTLS')
  await client.startTls()
  await client.sendCommand('EHLO out.sender.test')
  t.equal(await client.sendCommand('MAIL FROM:<> SMTPUTF8 BODY=8BITMIME SIZE=100'), '250 2.1.0 Ok')
  t.equal(await client.sendCommand('RCPT TO:<böb@home.test>'), '250 2.1.5 Ok')
  await client.sendCommand('DATA')
  t.match(await client.sendCommand(`${letter}\r\n.`), /^250 2\.0\.0 /)
  t.match(taken, [
    {
      envelopeFrom: '',
      recipients: ['böb@home.test'],
      protocol: 'UTF8SMTPS',
      smtputf8: true,
      tls: { protocol: 'TLSv1.3', cipher: /^TLS_/ },
    },
  ])
})

const pipelined = 'MAIL FROM:<ann@sender.test>\r\nRCPT TO:<bob@home.test>\r\nDATA\r\n'

t.test('the replies to pipelined commands go out in one write', async (t) => {
  const { open, taken } = await runMx(t)
  const client = await open()
  await client.sendCommand('EHLO out.sender.test')
  const write = Socket.prototype._writev as NonNullable<Socket['_writev']>
  const pieces: string[][] = []
  Socket.prototype._writev = function (chunks, done) {
    pieces.push(chunks.map(({ chunk }) => String(chunk).slice(0, 3)))
    write.call(this, chunks, done)
  }
  t.teardown(() => {
    Socket.prototype._writev = write
  })
  await client.send(pipelined)
  await client.readReplies(3)
  t.same(pieces, [['250', '250', '354']])
  await client.send(`${letter}\r\n.\r\nNOOP\r\nMAIL FROM:<ann@sender.test>\r\n`)
  t.match(await client.readReplies(3), [/queued as mail-1$/, /^250 /, /^250 2\.1\.0 /])
  t.equal(taken.length, 1)
})

t.test('a pipelined command that has to wait does not hold back the replies to those before it', async (t) => {
  let answer: (listings: never[]) => void = () => undefined
  const findListings = () =>
    new Promise<never[]>((resolve) => {
      answer = resolve
    })
  const { open } = await runMx(t, { refuse_listed_from: 1 }, { findListings })
  const client = await open()
  await client.sendCommand('EHLO out.sender.test')
  await client.send(pipelined)
  t.match(await client.readReply(), /^250 2\.1\.0 /)
  answer([])
  t.match(await client.readReplies(2), [/^250 2\.1\.5 /, /^354 /])
})

t.test('HELO is enough', async (t) => {
  const { open, taken } = await runMx(t)
  const client = await open()
  await client.sendCommand('HELO out.sender.test')
  await client.sendCommand('MAIL FROM:<ann@sender.test>')
  await client.sendCommand('RCPT TO:<bob@home.test>')
  await client.sendCommand('DATA')
  t.match(await client.sendCommand(`${letter}\r\n.`), /^250 /)
  t.match(taken, [{ protocol: 'SMTP', tls: null }])
})

t.test('recipients that are not ours are refused, each with its code, and the others are accepted', async (t) => {
  const { open, taken, listener } = await runMx(t)
  const client = await open()
  await advanceToRcpt(client)
  t.equal(await client.sendCommand('RCPT TO:<nobody@home.test>'), '550 5.1.1 No such recipient here')
  t.equal(await client.sendCommand('RCPT TO:<a@elsewhere.test>'), '550 5.7.1 Mail for that domain is not accepted here')
  t.equal(await client.sendCommand('RCPT TO:<blocked@home.test>'), '550 5.2.1 This recipient accepts no mail')
  t.match(await client.sendCommand('DATA'), /^503 5\.5\.1 /)
  t.match(await client.sendCommand('RCPT TO:<bob@home.test> NOTIFY=NEVER'), /^555 5\.5\.4 /)
  t.match(await client.sendCommand('RCPT TO:<bob%elsewhere.test@relay.test>'), /^550 5\.7\.1 /)
  t.match(await client.sendCommand('RCPT TO:<bob@home.test>'), /^250 /)
  await client.sendCommand('DATA')
  t.match(await client.sendCommand(`${letter}\r\n.`), /^250 /)
  t.same(taken[0]?.recipients, ['bob@home.test'])
  t.equal(listener.refusals().get('relay-denied'), 2)
})

t.test('a message goes to a few workspaces, and the client sends it again for the others', async (t) => {
  const { open, taken } = await runMx(t, { maxWorkspaces: 2 })
  const client = await open()
  await advanceToRcpt(client)
  for (const domain of ['home.test', 'two.home.test', 'home.test']) {
    t.match(await client.sendCommand(`RCPT TO:<${domain}@${domain}>`), /^250 /)
  }
  t.match(await client.sendCommand('RCPT TO:<a@three.home.test>'), /^452 4\.5\.3 /)
  t.match(await client.sendCommand('RCPT TO:<b@two.home.test>'), /^250 /)
  await client.sendCommand('DATA')
  t.match(await client.sendCommand(`${letter}\r\n.`), /^250 /)
  t.equal(taken[0]?.recipients.length, 3, 'each once')
})

t.test('recipients over the limit of a message are left to another message', async (t) => {
  const { open } = await runMx(t, { max_recipients: 2 })
  const client = await open()
  await advanceToRcpt(client)
  await client.sendCommand('RCPT TO:<a@home.test>')
  await client.sendCommand('RCPT TO:<b@home.test>')
  t.match(await client.sendCommand('RCPT TO:<c@home.test>'), /^452 4\.5\.3 /)
  t.match(await client.sendCommand('RCPT TO:<a@home.test>'), /^250 /)
})

t.test('commands out of order or with parameters that are not offered are refused', async (t) => {
  const { open } = await runMx(t)
  const client = await open()
  t.match(await client.sendCommand('MAIL FROM:<a@b.test>'), /^503 5\.5\.1 /)
  await client.sendCommand('EHLO c')
  t.match(await client.sendCommand('RCPT TO:<bob@home.test>'), /^503 5\.5\.1 /)
  t.match(await client.sendCommand('MAIL FROM:<a@b.test> RET=HDRS'), /^555 5\.5\.4 /)
  t.match(await client.sendCommand('MAIL FROM:<a@b.test> SIZE=36700161'), /^552 5\.3\.4 /)
  t.match(await client.sendCommand('MAIL FROM:<ä@b.test>'), /^553 5\.6\.7 /)
  t.match(await client.sendCommand('MAIL FROM:<a@b.test>'), /^250 /)
  t.match(await client.sendCommand('MAIL FROM:<a@b.test>'), /^503 5\.5\.1 /)
})

t.test('messages that servers read differently, that loop or are too large are refused', async (t) => {
  const { open, taken, listener } = await runMx(t, { max_size: 100_000, maxLineLength: 2000 })
  const client = await open()
  for (const bad of ['a\nb', 'a\rb', 'a\0b', 'a\n.\nMAIL FROM:<x@y.test>', 'a\r\n.\nb']) {
    t.match(await deliver(client, `${letter}\r\n${bad}`), /^550 5\.6\.11 /, JSON.stringify(bad))
  }
  const hops = (count: number) => `Received: by mx.test; x\r\n`.repeat(count) + letter
  t.match(await deliver(client, hops(51)), /^554 5\.4\.6 /)
  t.match(await deliver(client, hops(50)), /^250 /)
  t.match(await deliver(client, `${letter}\r\n${'x'.repeat(2001)}`), /^550 5\.6\.0 /)
  t.match(await deliver(client, `${letter}\r\n${'0123456789\r\n'.repeat(10_000)}`), /^552 5\.3\.4 /)
  t.equal(taken.length, 1)
  t.equal(listener.bytesInFlight(), 0)
})

t.test('a line of a message has 65,536 octets at most, unless it is configured otherwise', async (t) => {
  const { open, taken } = await runMx(t)
  const client = await open()
  const line = 'x'.repeat(65_536)
  t.match(await deliver(client, `${letter}\r\n${line}x\r\nshort`), /^550 5\.6\.0 .* 65537 octets, at most 65536 /)
  t.match(await deliver(client, `${letter}\r\n${line}\r\nshort`), /^250 /)
  t.equal(taken.length, 1)
})

t.test('250 comes after the message is stored, and others are served meanwhile', async (t) => {
  const stored: (() => void)[] = []
  const accept = () => new Promise<{ id: string }>((resolve) => stored.push(() => resolve({ id: 'kept' })))
  const { open } = await runMx(t, {}, { accept })
  let answered = false
  const reply = deliver(await open(), letter).finally(() => {
    answered = true
  })
  await waitUntil(() => stored.length === 1)
  t.match(await (await open()).sendCommand('NOOP'), /^250 /)
  t.equal(answered, false)
  stored[0]?.()
  t.equal(await reply, '250 2.0.0 Ok: queued as kept')
})

t.test('a fault of ours is temporary and discloses nothing; a refusal has its own text', async (t) => {
  let fault: Error = new TypeError('secret detail')
  const { open, errors } = await runMx(t, {}, { accept: async () => Promise.reject(fault) })
  const client = await open()
  t.equal(await deliver(client, letter), '451 4.3.0 local error, try again later')
  fault = new StorageFault('SQLITE_IOERR', 'disk I/O error')
  t.match(await deliver(client, letter), /^451 4\.3\.1 insufficient system storage/)
  t.equal(errors.length, 2)
  fault = new Refusal('forbidden', 'the policy of sender.test forbids it')
  t.equal(await deliver(client, letter), '550 5.7.1 the policy of sender.test forbids it')
  t.equal(errors.length, 2)
})

t.test('a fault while a recipient is looked up is temporary', async (t) => {
  const checkRecipient = () => {
    throw new TypeError('secret detail')
  }
  const { open, errors } = await runMx(t, {}, { checkRecipient })
  const client = await open()
  await advanceToRcpt(client)
  t.equal(await client.sendCommand('RCPT TO:<bob@home.test>'), '451 4.3.0 local error, try again later')
  t.equal(errors.length, 1)
})

t.test('while the disk is nearly full messages are deferred before they are sent', async (t) => {
  let room = false
  const { open } = await runMx(t, {}, { hasDiskSpace: () => room })
  const client = await open()
  await client.sendCommand('EHLO c')
  t.match(await client.sendCommand('MAIL FROM:<a@b.test>'), /^451 4\.3\.1 /)
  room = true
  t.match(await client.sendCommand('MAIL FROM:<a@b.test>'), /^250 /)
  await client.sendCommand('RCPT TO:<bob@home.test>')
  room = false
  t.match(await client.sendCommand('DATA'), /^451 4\.3\.1 /)
})

t.test('a session ends without memory for its message, and the memory is free again', async (t) => {
  const { open, listener } = await runMx(t, { maxBytesInFlight: 1000 })
  const declared = await open()
  await declared.sendCommand('EHLO c')
  t.match(await declared.sendCommand('MAIL FROM:<a@b.test> SIZE=2000'), /^421 4\.3\.2 /)
  t.equal(await declared.readReply(), closed)
  t.match(await deliver(await open(), `${letter}\r\n${'0123456789\r\n'.repeat(200)}`), /^421 4\.3\.2 /)
  t.match(await deliver(await open(), letter), /^250 /)
  t.equal(listener.refusals().get('memory'), 2)
  t.equal(listener.bytesInFlight(), 0)
})

t.test(
  'a limited number of large messages from one address wait for memory at DATA; then the session ends',
  async (t) => {
    const size = 300_000
    const memory = new MemoryBudget(size)
    memory.acquire(1)
    const { open, listener } = await runMx(t, { memoryWait: 1_500, maxWaitingPerAddress: 2 }, { memory })
    const at = async (from: string): Promise<Dialogue> => {
      const client = await open(from)
      await client.sendCommand('EHLO c')
      t.match(await client.sendCommand(`MAIL FROM:<a@b.test> SIZE=${size}`), /^250 /)
      await client.sendCommand('RCPT TO:<bob@home.test>')
      await client.send('DATA\r\n')
      return client
    }
    const [first, second] = [await at('127.0.0.1'), await at('127.0.0.1')]
    await waitUntil(() => memory.countWaiting() === 2)
    const third = await at('127.0.0.1')
    t.match(await third.readReply(), /^421 4\.3\.2 /, 'the third of its address')
    const other = await at('127.0.0.2')
    memory.release(1)
    t.match(await first.readReply(), /^354 /)
    t.match(await second.readReply(), /^421 4\.3\.2 /, 'its time is over')
    t.equal(await second.readReply(), closed)
    t.match(await other.readReply(), /^421 /)
    t.match(await first.sendCommand(`${letter}\r\n.`), /^250 /)
    t.equal(listener.refusals().get('memory'), 3)
    t.same([listener.bytesInFlight(), memory.usedBytes(), memory.countWaiting()], [0, 0, 0])
  },
)

t.test('connections over the limits get 421, in total and from one address', async (t) => {
  const { open, port, listener } = await runMx(t, { max_connections: 3, max_connections_per_address: 2 })
  const [first] = [await open('127.0.0.1'), await open('127.0.0.1'), await open('127.0.0.2')]
  t.match(await (await dial(port, { localAddress: '127.0.0.3' })).readReply(), /^421 4\.3\.2 /)
  t.match(await (await dial(port, { localAddress: '127.0.0.1' })).readReply(), /^421 4\.7\.0 /)
  first?.end()
  await waitUntil(() => listener.connections() === 2)
  t.match(await (await dial(port, { localAddress: '127.0.0.3' })).readReply(), /^220 /)
  t.equal(listener.refusals().get('connections'), 1)
  t.equal(listener.refusals().get('connections-of-address'), 1)
})

t.test('the session that was idle longest is closed for a client that finds no slot', async (t) => {
  const { open, port, listener, advance } = await runMx(t, { max_connections: 3 })
  const half = await open()
  await half.sendCommand('EHLO half.test')
  await half.sendCommand('STARTTLS')
  advance(1_000)
  const idle = await open()
  const busy = await open()
  await advanceToRcpt(busy)
  await busy.sendCommand('RCPT TO:<bob@home.test>')
  await busy.sendCommand('DATA')
  await busy.send('Subject: slow')
  advance(9_500)
  await open()
  await half.waitForClose()
  t.match(await (await dial(port)).readReply(), /^421 4\.3\.2 /, 'no other session has been idle for long enough')
  advance(500)
  await open()
  t.match(await idle.readReply(), /^421 4\.4\.2 /)
  await idle.waitForClose()
  t.match(await busy.sendCommand('\r\n\r\nhello\r\n.'), /^250 /)
  t.equal(listener.refusals().get('idle'), 2)
  t.equal(listener.connections(), 3)
})

t.test('new connections and messages from one address have a rate limit that recovers with time', async (t) => {
  const { open, port, listener, advance } = await runMx(t, { connections_per_minute: 2, messages_per_minute: 1 })
  const client = await open()
  await client.sendCommand('EHLO c')
  t.match(await client.sendCommand('MAIL FROM:<a@b.test>'), /^250 /)
  await client.sendCommand('RSET')
  t.match(await client.sendCommand('MAIL FROM:<a@b.test>'), /^451 4\.7\.1 /)
  await open()
  const third = await dial(port)
  t.match(await third.readReply(), /^421 4\.7\.0 /)
  t.match(await (await dial(port, { localAddress: '127.0.0.9' })).readReply(), /^220 /, 'others are not held up')
  advance(61_000)
  t.match(await (await dial(port)).readReply(), /^220 /)
  t.match(await client.sendCommand('MAIL FROM:<a@b.test>'), /^250 /)
  t.equal(listener.refusals().get('connection-rate'), 1)
  t.equal(listener.refusals().get('message-rate'), 1)
})

/** A greeting that is sent when the test says so. */
function heldGreeting() {
  const greetings: (() => void)[] = []
  return {
    greetings,
    after(_milliseconds: number, act: () => void) {
      greetings.push(act)
      return () => undefined
    },
  }
}

/** Resolves when what was sent over loopback has been read. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve))
}

t.test('a client that speaks before the greeting is noted, and its command is answered afterwards', async (t) => {
  const { after: schedule, greetings } = heldGreeting()
  const { port, taken } = await runMx(t, {}, { schedule })
  for (const early of ['EHLO out.sender.test\r\nNOOP\r\n', 'EHLO out.sen']) {
    const client = await dial(port)
    await client.send(early)
    await waitUntil(() => greetings.length === 1)
    await turns()
    greetings.pop()?.()
    t.match(await client.readReply(), /^220 /)
    if (early.endsWith('\n')) t.match(await client.readReplies(2), [/^250-mail\.test/, /^250 2\.0\.0 /])
    else t.match(await client.sendCommand('der.test'), /^250-mail\.test/)
    t.match(await deliver(client, letter), /^250 /)
    t.equal(taken.at(-1)?.client.earlyTalker, true, JSON.stringify(early))
    client.end()
  }
  t.equal(taken.length, 2)
})

t.test(
  'where early talkers are refused, a line ends the session at once and half a line at the greeting',
  async (t) => {
    const { after: schedule, greetings } = heldGreeting()
    const { port, listener } = await runMx(t, { early_talkers: 'refuse' }, { schedule })
    const whole = await dial(port)
    await whole.send('EHLO out.sender.test\r\nMAIL FROM:<a@b.test>\r\n')
    t.same(await whole.readReplies(2), ['554 5.5.1 You spoke before you were greeted', closed])
    await waitUntil(() => greetings.length === 1)
    greetings.pop()?.()
    const half = await dial(port)
    await half.send('EHLO out')
    await waitUntil(() => greetings.length === 1)
    await turns()
    greetings.pop()?.()
    t.same(await half.readReplies(2), ['554 5.5.1 You spoke before you were greeted', closed])
    t.equal(listener.refusals().get('early-talker'), 2)
    const patient = await dial(port)
    await waitUntil(() => greetings.length === 1)
    greetings.pop()?.()
    t.match(await patient.readReply(), /^220 /)
    patient.end()
    await waitUntil(() => listener.connections() === 0)
  },
)

t.test('the delay of a refused recipient grows to its limit, and the first one is not delayed', async (t) => {
  const delays = [1, 2, 3, 4, 5, 6, 60].map((refused) => tarpitDelay(refused, 1000, 5))
  t.same(delays, [0, 200, 400, 600, 800, 1000, 1000])
})

t.test('a client that guesses recipients is slowed down, and then its session ends', async (t) => {
  const { open, waits, listener } = await runMx(t, { tarpit: 1000, max_refused_recipients: 4 })
  const client = await open()
  await advanceToRcpt(client)
  const before = waits.length
  await client.send('RCPT TO:<unknown@home.test>\r\nRCPT TO:<bob@home.test>\r\n'.repeat(6))
  const replies = await client.readReplies(10)
  t.same(
    replies.map((reply) => reply.split(' ')[0]),
    ['550', '250', '550', '250', '550', '250', '550', '250', '421', closed],
  )
  t.same(waits.slice(before), [250, 500, 750])
  t.equal(listener.refusals().get('harvest'), 1)
})

t.test('a client that leaves while it waits for a refusal leaves no connection or timer', async (t) => {
  const { open, port, listener } = await runMx(
    t,
    { max_refused_recipients: 10 },
    {
      schedule(milliseconds, act) {
        const timer = setTimeout(act, milliseconds === 100 ? 0 : 3_600_000)
        return () => clearTimeout(timer)
      },
    },
  )
  const client = await open()
  await advanceToRcpt(client)
  await client.sendCommand('RCPT TO:<unknown1@home.test>')
  await client.send('RCPT TO:<unknown2@home.test>\r\n')
  t.match(await (await dial(port)).readReply(), /^220 /, 'others are served')
  client.reset()
  await waitUntil(() => listener.connections() === 1)
  t.equal(listener.bytesInFlight(), 0)
})

t.test('a client whose listings weigh enough reaches the postmaster only', async (t) => {
  const findListings = async () => [
    { zone: 'bl.test', weight: 3, answer: '127.0.0.2' },
    { zone: 'other.test', weight: 2, answer: '127.0.0.9' },
  ]
  const { open, listener } = await runMx(t, { refuse_listed_from: 5 }, { findListings })
  const client = await open()
  await advanceToRcpt(client)
  t.match(await client.sendCommand('RCPT TO:<bob@home.test>'), /^550 5\.7\.1 /)
  t.match(await client.sendCommand('RCPT TO:<Postmaster>'), /^250 /)
  t.equal(listener.refusals().get('listed'), 1)
  const scored = await runMx(t, {}, { findListings })
  t.match(await deliver(await scored.open(), letter), /^250 /)
  t.match(scored.taken[0]?.client.listings, [{ weight: 3 }, { zone: 'other.test' }])
})

t.test(
  'the PROXY line of a configured proxy says whose connection it is, and the limits count that address',
  async (t) => {
    const { port, taken, listener } = await runMx(t, {
      proxies: networks('127.0.0.5'),
      max_connections_per_address: 1,
      connections_per_minute: 2,
    })
    const from = { localAddress: '127.0.0.5' }
    const client = await dial(port, from)
    await client.send('PROXY TCP4 8.8.4.1 192.0.2.2 4711 25\r\n')
    t.match(await client.readReply(), /^220 /)
    t.match(await deliver(client, letter), /^250 /)
    t.match(taken, [{ client: { address: '8.8.4.1', port: 4711, earlyTalker: false } }])

    const same = await dial(port, from)
    await same.send('PROXY TCP4 8.8.4.1 192.0.2.2 4712 25\r\n')
    t.match(await same.readReply(), /^421 4\.7\.0 Too many connections/)
    t.equal(await same.readReply(), closed)
    const again = await dial(port, from)
    await again.send('PROXY TCP4 8.8.4.1 192.0.2.2 4713 25\r\n')
    t.match(await again.readReply(), /^421 4\.7\.0 Too many new connections/)

    const other = await dial(port, from)
    await other.send('PROXY TCP6 2a00:1450:4001::99 2001:db8::1 4714 25\r\n')
    t.match(await other.readReply(), /^220 /)
    const unknown = await dial(port, from)
    await unknown.send('PROXY UNKNOWN\r\n')
    t.match(await unknown.readReply(), /^220 /)
    t.equal(listener.connections(), 3)
    for (const one of [client, other, unknown]) one.end()
    await waitUntil(() => listener.connections() === 0)
  },
)

t.test('a proxy whose first line is broken is closed', async (t) => {
  const { port, listener } = await runMx(t, { proxies: networks('127.0.0.0/8') })
  for (const line of ['EHLO c\r\n', 'PROXY TCP4 nonsense 192.0.2.2 1 2\r\n', `PROXY ${'x'.repeat(2000)}`]) {
    const client = await dial(port)
    await client.send(line)
    await client.waitForClose()
  }
  await waitUntil(() => listener.connections() === 0)
})

t.test('a PROXY line from another client is an unknown command', async (t) => {
  const { open, taken } = await runMx(t, { proxies: networks('127.0.0.5') })
  const client = await open()
  t.match(await client.sendCommand('PROXY TCP4 8.8.4.1 192.0.2.2 4711 25'), /^500 5\.5\.2 /)
  t.match(await deliver(client, letter), /^250 /)
  t.match(taken, [{ client: { address: '127.0.0.1' } }])
})

t.test('hostile sessions end with their documented replies, and other clients are served meanwhile', async (t) => {
  const { open, port, listener, taken, errors } = await runMx(t, { maxFaults: 5 })
  const serves = async (): Promise<void> => {
    const honest = await open()
    t.match(await deliver(honest, letter), /^250 /, 'an honest client is served')
    honest.end()
  }

  await t.test('pipelined garbage', async (t) => {
    const client = await open()
    await client.send('\0\xff\x80 garbage\r\n'.repeat(10_000))
    const replies = await client.readReplies(7)
    t.match(replies.at(-1), /closed/)
    t.match(replies.at(-2), /^421 4\.7\.0 /)
    await serves()
  })

  await t.test('a command without an end', async (t) => {
    const client = await open()
    await client.send('x'.repeat(1_000_000))
    t.match(await client.readReply(), /^421 4\.7\.0 /)
    await serves()
  })

  await t.test('a line of 10 MB', async (t) => {
    const client = await open()
    t.match(await deliver(client, Buffer.alloc(10_485_760, 'x')), /^550 5\.6\.0 /)
    t.match(await deliver(client, letter), /^250 /)
    client.end()
    await serves()
  })

  await t.test('commands smuggled behind STARTTLS', async (t) => {
    const client = await open()
    await client.sendCommand('EHLO c')
    await client.send('STARTTLS\r\nMAIL FROM:<evil@evil.test>\r\n')
    t.match(await client.readReply(), /^220 /)
    await client.startTls()
    t.match(await client.sendCommand('RCPT TO:<bob@home.test>'), /^503 /)
    client.end()
    await serves()
  })

  await t.test('HTTP', async (t) => {
    const client = await dial(port)
    await client.send('POST / HTTP/1.1\r\nHost: mail.test\r\n\r\nMAIL FROM:<a@b.test>\r\n')
    t.match(await client.readReplies(2), [/^220 /, /^421 4\.7\.0 /])
    await serves()
  })

  await waitUntil(() => listener.connections() === 0 && listener.bytesInFlight() === 0)
  t.equal(listener.refusals().get('faults'), 1)
  t.ok(taken.every(({ envelopeFrom }) => envelopeFrom === 'ann@sender.test'))
  t.same(errors, [], 'nothing was a bug')
})

t.test('sessions that would never end are ended, and other clients are served meanwhile', async (t) => {
  const hurry = { idleTimeout: 500, session_deadline: 1500, finishWithin: 100 }
  const { open, listener, taken } = await runMx(t, hurry)
  const serves = async (): Promise<void> => {
    const honest = await open()
    t.match(await deliver(honest, letter), /^250 /, 'an honest client is served')
    honest.end()
  }

  await t.test('a TLS handshake that stops halfway', async (t) => {
    const client = await open()
    await client.sendCommand('EHLO c')
    t.match(await client.sendCommand('STARTTLS'), /^220 /)
    await client.send(Buffer.from('16030100a5', 'hex'))
    await serves()
    await client.waitForClose()
  })

  await t.test('a client that trickles bytes for ever', async (t) => {
    const idle = await open()
    const sending = await open()
    await advanceToRcpt(sending)
    await sending.sendCommand('RCPT TO:<bob@home.test>')
    await sending.sendCommand('DATA')
    const trickle = setInterval(() => {
      void idle.send('N')
      void sending.send('x')
    }, 10)
    t.match(await idle.readReply(), /^421 4\.4\.2 /)
    t.match(await sending.readReply(), /^421 4\.4\.2 /)
    clearInterval(trickle)
    await serves()
  })

  await waitUntil(() => listener.connections() === 0 && listener.bytesInFlight() === 0)
  t.ok((listener.refusals().get('deadline') ?? 0) >= 2)
  t.equal(taken.length, 2)
})

t.test('200 idle connections do not keep others out', async (t) => {
  const { open, listener, port } = await runMx(t)
  const idle = await Promise.all(Array.from({ length: 200 }, () => dial(port)))
  t.match(await deliver(await open(), letter), /^250 /)
  t.ok(listener.connections() > 200)
  for (const client of idle) client.reset()
  await waitUntil(() => listener.connections() <= 1)
})

t.test('stopping lets a message that is coming in be finished, and ends idle sessions', async (t) => {
  const { open, listener, taken } = await runMx(t)
  const idle = await open()
  const sending = await open()
  await advanceToRcpt(sending)
  await sending.sendCommand('RCPT TO:<bob@home.test>')
  await sending.sendCommand('DATA')
  const stopped = listener.stop(5000)
  t.match(await idle.readReply(), /^421 4\.3\.2 /)
  t.match(await sending.sendCommand(`${letter}\r\n.`), /^250 /)
  t.match(await sending.readReply(), /^421 4\.3\.2 /)
  await stopped
  t.equal(taken.length, 1)
})

t.test('a new certificate counts from the next handshake on', async (t) => {
  const { open, listener } = await runMx(t)
  listener.updateSecureContext(await createSelfSigned())
  const client = await open()
  await client.sendCommand('EHLO c')
  await client.sendCommand('STARTTLS')
  await client.startTls()
  t.match(await client.sendCommand('EHLO c'), /^250-/)
})

t.test('a connection that breaks within TLS is logged once, with its client', async (t) => {
  const broken: unknown[] = []
  const info = (about: object, line?: string): number => broken.push({ ...about, line })
  const { port, listener } = await runMx(
    t,
    {},
    { log: { debug: () => undefined, info, warn: () => undefined, error: () => undefined } },
  )
  const socket = connect(port, '127.0.0.1').on('error', () => undefined)
  await once(socket, 'data')
  socket.write('STARTTLS\r\n')
  await once(socket, 'data')
  const secure = connectTls({ socket, rejectUnauthorized: false }).on('error', () => undefined)
  await once(secure, 'secureConnect')
  for (const line of ['EHLO out.sender.test', 'MAIL FROM:<ann@sender.test>']) {
    secure.write(`${line}\r\n`)
    await once(secure, 'data')
  }
  socket.resetAndDestroy()
  await waitUntil(() => broken.length > 0)
  await listener.stop(1_000)
  t.match(broken, [
    { client: '127.0.0.1', session: /^\w{16}$/, reason: 'read ECONNRESET', line: 'an MX client failed' },
  ])
  t.equal(broken.length, 1)
})

t.test('all memory and all slots are given back, however messages and sessions end', async (t) => {
  const whole = new MemoryBudget(1_000_000)
  let count = 0
  const { listener, port } = await runMx(
    t,
    { max_size: 100_000, maxBytesInFlight: 400_000, maxLineLength: 998 },
    {
      memory: new MemoryBudget(500_000, whole, 2),
      accept: async () => {
        count += 1
        await turn()
        if (count % 4 === 1) throw new StorageFault('SQLITE_FULL', 'full')
        if (count % 4 === 2) throw new Refusal('mailbox-full', 'no room')
        if (count % 4 === 3) throw new Error('a bug')
        return { id: String(count) }
      },
    },
  )
  const body = 'x'.repeat(70).concat('\r\n').repeat(700)
  const ends: readonly ((client: Dialogue) => unknown)[] = [
    (client) => client.sendCommand(`${letter}\r\n${body}\r\n.`),
    (client) => client.sendCommand(`${letter}\r\n${body}${body}${body}\r\n.`), // too large
    (client) => client.sendCommand(`${letter}\r\na\nb\r\n.`), // malformed
    (client) => client.send(`${letter}\r\n${body}`), // without its end
    (client) => client.send(`${letter}\r\n${body}\r\n.\r\n`), // the client does not wait for the reply
    () => undefined,
  ]
  await Promise.all(
    Array.from({ length: 90 }, async (_, n) => {
      const client = await dial(port)
      await client.readReply()
      await advanceToRcpt(client)
      await client.sendCommand('RCPT TO:<bob@home.test>')
      if ((await client.sendCommand('DATA')).startsWith('354')) await ends[n % ends.length]?.(client)
      client.end()
    }),
  )
  await waitUntil(() => listener.connections() === 0)
  await waitUntil(() => listener.bytesInFlight() === 0)
  t.equal(whole.usedBytes(), 0)
  t.ok(count > 4)
})
