/**
 * Sessions of broken and hostile clients, each with the replies that it must get.
 *
 * A step is what is sent, and the beginnings of the replies to it, in order. After each session the
 * listener must greet a new client, hold no message memory, and have no connection left.
 */
import t, { type Test } from 'tap'
import { type Dialogue, dial } from '../../helpers/smtp/smtp-dialogue.js'
import {
  authPlain,
  base64,
  letter,
  printer,
  type RunningSubmission,
  runSubmission,
  waitUntil,
} from './submission-listener.js'

type Step = readonly [send: string | Buffer, ...replies: readonly string[]]

interface Session {
  readonly name: string
  /** `strict`: needs TLS and a key. `tls`: needs a key. `trusting`: needs neither. `hurried`: neither, but soon. */
  readonly listener: 'strict' | 'trusting' | 'tls' | 'hurried'
  readonly steps: readonly Step[]
  /** How it ends; default: the client closes. */
  readonly end?: 'closed by server' | 'reset'
}

const hello: Step = ['EHLO c\r\n', '250']
const mail: Step = ['MAIL FROM:<a@example.test>\r\n', '250 2.1.0']
const rcpt: Step = ['RCPT TO:<b@remote.test>\r\n', '250 2.1.5']
const data: Step = ['DATA\r\n', '354']
const noop: Step = ['NOOP\r\n', '250 2.0.0']
const closed = ['closed'] as const

function session(listener: Session['listener'], name: string, ...steps: readonly Step[]): Session {
  return { name, listener, steps }
}

/** After EHLO, one line and its reply; the session goes on. */
function line(text: string, reply: string): Session {
  return session('trusting', JSON.stringify(text), hello, [`${text}\r\n`, reply], noop)
}

/** A RCPT that is refused; the transaction goes on. */
function badRcpt(rest: string, reply: string): Session {
  return session('trusting', `RCPT TO:${rest}`, hello, mail, [`RCPT TO:${rest}\r\n`, reply], rcpt)
}

/** The bytes of a message, its end included, and the reply to it; the session goes on. */
function message(name: string, bytes: string | Buffer, reply: string): Session {
  return session('trusting', name, hello, mail, rcpt, data, [bytes, reply], noop, mail)
}

const twoStatusCodes = /^\d{3}[ -]\d\.\d+\.\d+ .*\d\.\d+\.\d+ /

const many = (count: number, text: string): string => text.repeat(count)

const order: readonly Session[] = [
  session('trusting', 'MAIL before EHLO', ['MAIL FROM:<a@example.test>\r\n', '503 5.5.1'], hello, mail),
  session('trusting', 'RCPT before MAIL', hello, ['RCPT TO:<b@remote.test>\r\n', '503 5.5.1']),
  session('trusting', 'DATA before RCPT', hello, mail, ['DATA\r\n', '503 5.5.1'], rcpt, data),
  session('trusting', 'DATA before MAIL', hello, ['DATA\r\n', '503 5.5.1']),
  session('trusting', 'MAIL twice', hello, mail, ['MAIL FROM:<c@example.test>\r\n', '503 5.5.1'], rcpt),
  session(
    'trusting',
    'RSET forgets the transaction',
    hello,
    mail,
    ['RSET\r\n', '250 2.0.0'],
    ['DATA\r\n', '503 5.5.1'],
  ),
  session('trusting', 'EHLO forgets the transaction', hello, mail, hello, ['RCPT TO:<b@remote.test>\r\n', '503 5.5.1']),
  session('trusting', 'EHLO without a name', ['EHLO\r\n', '501'], ['EHLO a b\r\n', '501'], hello),
  session('trusting', 'EHLO with 400 characters', [`EHLO ${many(400, 'x')}\r\n`, '501'], hello),
  session('trusting', 'HELO is enough', ['HELO c\r\n', '250 mail.test'], mail, rcpt, data, [
    `${letter}.\r\n`,
    '250 2.0.0',
  ]),
]

const keys: readonly Session[] = [
  session('strict', 'AUTH before EHLO', [`${authPlain('app-key')}\r\n`, '503 5.5.1']),
  session('strict', 'AUTH before TLS', hello, [`${authPlain('app-key')}\r\n`, '538 5.7.11'], noop),
  session(
    'strict',
    'MAIL before TLS',
    hello,
    ['MAIL FROM:<a@example.test>\r\n', '530 5.7.0 Must issue a STARTTLS'],
    noop,
  ),
  session(
    'tls',
    'MAIL before AUTH',
    hello,
    ['MAIL FROM:<a@example.test>\r\n', '530 5.7.0 Authentication required'],
    noop,
  ),
  session('tls', 'RCPT before AUTH', hello, ['RCPT TO:<b@remote.test>\r\n', '503 5.5.1'], noop),
  session('tls', 'AUTH in no base64', hello, ['AUTH PLAIN !!!!\r\n', '501 5.5.2'], noop),
  session('tls', 'AUTH PLAIN with two parts', hello, [`AUTH PLAIN ${base64('a\0b')}\r\n`, '501 5.5.2'], noop),
  session(
    'tls',
    'AUTH PLAIN with CR LF in the name',
    hello,
    [`AUTH PLAIN ${base64('a\r\n250 hi\0a\0k')}\r\n`, '535 5.7.8'],
    noop,
  ),
  session('tls', 'AUTH cancelled', hello, ['AUTH PLAIN\r\n', '334 '], ['*\r\n', '501 5.7.0'], noop),
  session('tls', 'AUTH LOGIN cancelled', hello, ['AUTH LOGIN\r\n', '334'], ['*\r\n', '501 5.7.0'], noop),
  session(
    'tls',
    'AUTH LOGIN without a name',
    hello,
    ['AUTH LOGIN\r\n', '334'],
    ['\r\n', '334'],
    [`${base64('k')}\r\n`, '535 5.7.8'],
    noop,
  ),
  session(
    'tls',
    'AUTH with an unknown mechanism',
    hello,
    ['AUTH CRAM-MD5\r\n', '504 5.5.4'],
    ['AUTH\r\n', '504 5.5.4'],
    noop,
  ),
  session('tls', 'AUTH with the name of an inner step', hello, ['AUTH PLAIN_TOKEN x\r\n', '504 5.5.4'], noop),
  session(
    'tls',
    'AUTH twice',
    hello,
    [`${authPlain('app-key')}\r\n`, '235 2.7.0'],
    [`${authPlain('app-key')}\r\n`, '503 5.5.1'],
    mail,
  ),
  session('tls', 'AUTH with an empty key', hello, [`${authPlain('')}\r\n`, '535 5.7.8'], noop),
  session('trusting', 'AUTH amid a transaction', hello, mail, ['AUTH PLAIN\r\n', '538 5.7.11'], rcpt),
  {
    ...session('tls', 'three wrong keys', hello, [
      many(3, `${authPlain('x')}\r\n`),
      '535 5.7.8',
      '535 5.7.8',
      '535 5.7.8',
      '421 4.7.0',
    ]),
    end: 'closed by server',
  },
  {
    ...session('tls', 'endless AUTH that is no AUTH', hello, [
      many(30, 'AUTH PLAIN =\r\n'),
      ...Array(20).fill('501'),
      '421 4.7.0',
    ]),
    end: 'closed by server',
  },
  session(
    'tls',
    'a sender of another domain',
    hello,
    [`${authPlain('app-key')}\r\n`, '235'],
    ['MAIL FROM:<a@foreign.test>\r\n', '550 5.7.1'],
    mail,
  ),
]

const commands: readonly Session[] = [
  line('NOOP\0', '500 5.5.2'),
  line('\0\0\0', '500 5.5.2'),
  line('MAIL FROM:<a\0@example.test>', '501 5.5.2'),
  line('MAIL FROM:<a@example.test>\rRCPT TO:<b@remote.test>', '501 5.5.2'),
  line('', '500 5.5.2'),
  line('BDAT 5 LAST', '500 5.5.2'),
  line('XCLIENT ADDR=192.0.2.1', '500 5.5.2'),
  line('XFORWARD ADDR=192.0.2.1', '500 5.5.2'),
  line('PROXY TCP4 192.0.2.1 192.0.2.2 1 2', '500 5.5.2'),
  line('WIZ please', '500 5.5.2'),
  line('CONSTRUCTOR', '500 5.5.2'),
  line('VRFY root', '252 2.0.0'),
  line('VRFY', '501 5.5.4'),
  line('EXPN staff', '502 5.5.1'),
  line('HELP', '214 2.0.0'),
  line('RSET', '250 2.0.0'),
  line('STARTTLS now', '501 5.5.4'),
  session('tls', 'STARTTLS inside TLS', hello, ['STARTTLS\r\n', '503 5.5.1'], noop),
  session(
    'trusting',
    'eight-bit bytes in a verb',
    hello,
    [Buffer.from([0xff, 0xfe, 0x80, 0x0d, 0x0a]), '500 5.5.2'],
    noop,
  ),
  session(
    'trusting',
    'no UTF-8 in an address',
    hello,
    [Buffer.from('MAIL FROM:<\xff\xfe@example.test> SMTPUTF8\r\n', 'latin1'), '501 5.5.2'],
    noop,
  ),
  {
    ...session('trusting', 'a command of 20 KB', hello, [`NOOP ${many(20_000, 'x')}\r\n`, '421 4.7.0', ...closed]),
    end: 'closed by server',
  },
  {
    ...session('trusting', '20 KB without a line end', hello, [many(20_000, 'x'), '421 4.7.0', ...closed]),
    end: 'closed by server',
  },
  {
    ...session('trusting', 'ten unknown commands', hello, [
      many(12, 'FOO\r\n'),
      ...Array(9).fill('500 5.5.2'),
      '421 4.7.0',
      ...closed,
    ]),
    end: 'closed by server',
  },
  session('trusting', '400 RSET at once', hello, [many(400, 'RSET\r\n'), ...Array(400).fill('250 2.0.0')], noop),
  {
    ...session('trusting', '5000 RSET and no message', hello, [
      many(5000, 'RSET\r\n'),
      ...Array(599).fill('250 2.0.0'),
      '421 4.7.0',
      ...closed,
    ]),
    end: 'closed by server',
  },
  {
    ...session('trusting', 'HTTP', ['GET / HTTP/1.1\r\nHost: mail.test\r\n\r\n', '421 4.7.0', ...closed]),
    end: 'closed by server',
  },
  {
    ...session('trusting', 'a form posted by a browser', [
      'POST /x HTTP/1.1\r\n\r\nMAIL FROM:<a@example.test>\r\n',
      '421 4.7.0',
      ...closed,
    ]),
    end: 'closed by server',
  },
  session(
    'trusting',
    'a TLS hello on the plain port',
    [Buffer.from('16030100a5010000a1030300112233\x0d\x0a', 'latin1'), '500 5.5.2'],
    noop,
  ),
]

const senders: readonly Session[] = [
  line('MAIL FROM: <a@example.test>', '250 2.1.0'),
  line('mail from:<"a b"@example.test>', '250 2.1.0'),
  line('MAIL FROM:<"a>b"@example.test>', '250 2.1.0'),
  line('MAIL FROM:<@relay.test,@hop.test:a@example.test>', '250 2.1.0'),
  line('MAIL FROM:a@example.test', '501 5.5.2'),
  line('MAIL FROM:<a@example.test', '501 5.5.2'),
  line('MAIL TO:<a@example.test>', '501 5.5.2'),
  line('MAIL', '501 5.5.2'),
  line('MAIL FROM:<a@example.test>SIZE=1', '501 5.5.2'),
  line('MAIL FROM:<a@[192.0.2.1]>', '553 5.1.7'),
  line('MAIL FROM:<a>', '553 5.1.7'),
  line('MAIL FROM:<a..b@example.test>', '553 5.1.7'),
  line('MAIL FROM:<ä@example.test>', '553 5.6.7'),
  line('MAIL FROM:<a@exämple.test>', '553 5.6.7'),
  line('MAIL FROM:<a@example.test> SIZE=15728641', '552 5.3.4'),
  line('MAIL FROM:<a@example.test> SIZE=99999999999999999999', '552 5.3.4'),
  line('MAIL FROM:<a@example.test> SIZE=abc', '501 5.5.4'),
  line('MAIL FROM:<a@example.test> SIZE=-1', '501 5.5.4'),
  line('MAIL FROM:<a@example.test> SIZE', '501 5.5.4'),
  line('MAIL FROM:<a@example.test> SIZE=1 SIZE=2', '501 5.5.4'),
  line('MAIL FROM:<a@example.test> BODY=BINARYMIME', '501 5.5.4'),
  line('MAIL FROM:<a@example.test> SMTPUTF8=yes', '501 5.5.4'),
  line('MAIL FROM:<a@example.test> RET=XX', '501 5.5.4'),
  line(`MAIL FROM:<a@example.test> ENVID=${many(101, 'x')}`, '501 5.5.4'),
  line('MAIL FROM:<a@example.test> ENVID=a+0D+0ARCPT', '501 5.5.4'),
  line('MAIL FROM:<a@example.test> ENVID=a+zz', '501 5.5.4'),
  line('MAIL FROM:<a@example.test> REQUIRETLS', '555 5.5.4'),
  line('MAIL FROM:<a@example.test> FOO=bar', '555 5.5.4'),
  line('MAIL FROM:<a@example.test> =', '501 5.5.4'),
  line('MAIL FROM:<a@example.test> __proto__=1', '501 5.5.4'),
]

const recipients: readonly Session[] = [
  badRcpt('<>', '553 5.1.3'),
  badRcpt('', '501 5.5.2'),
  badRcpt('<b>', '553 5.1.3'),
  badRcpt('<@remote.test>', '553 5.1.3'),
  badRcpt('<b@>', '553 5.1.3'),
  badRcpt('<b@remote..test>', '553 5.1.3'),
  badRcpt('<b@-remote.test>', '553 5.1.3'),
  badRcpt('<b c@remote.test>', '553 5.1.3'),
  badRcpt('<b@remote.test,c@remote.test>', '553 5.1.3'),
  badRcpt('<b@[IPv6:2001:db8::1]>', '553 5.1.3'),
  badRcpt(`<${many(65, 'b')}@remote.test>`, '553 5.1.3'),
  badRcpt(`<b@${many(64, 'r')}.test>`, '553 5.1.3'),
  badRcpt('<b%remote.test@relay.test> X', '555 5.5.4'),
  badRcpt('<ü@remote.test>', '553 5.6.7'),
  badRcpt('<b@remote.test> NOTIFY=SOMETIMES', '501 5.5.4'),
  badRcpt('<b@remote.test> NOTIFY=NEVER,SUCCESS', '501 5.5.4'),
  badRcpt('<b@remote.test> NOTIFY=', '501 5.5.4'),
  badRcpt('<b@remote.test> ORCPT=b@remote.test', '501 5.5.4'),
  badRcpt('<b@remote.test> ORCPT=rfc822;', '501 5.5.4'),
  badRcpt('<b@remote.test> ORCPT=rfc822;a+0Db', '501 5.5.4'),
  badRcpt('<b@remote.test> RET=FULL', '555 5.5.4'),
  session(
    'trusting',
    '101 recipients',
    hello,
    mail,
    ...Array.from({ length: 100 }, (_, at): Step => [`RCPT TO:<b${at}@remote.test>\r\n`, '250 2.1.5']),
    ['RCPT TO:<b100@remote.test>\r\n', '452 4.5.3'],
    ['RCPT TO:<b99@remote.test>\r\n', '250 2.1.5'],
    data,
    [`${letter}.\r\n`, '250 2.0.0'],
  ),
]

const messages: readonly Session[] = [
  message('a bare LF', `${letter}bare\nline\r\n.\r\n`, '550 5.6.11'),
  message('a bare CR', `${letter}bare\rline\r\n.\r\n`, '550 5.6.11'),
  message('a NUL', `${letter}nul\0\r\n.\r\n`, '550 5.6.11'),
  message('LF . LF does not end a message', `${letter}x\n.\nMAIL FROM:<evil@example.test>\r\n.\r\n`, '550 5.6.11'),
  message('LF . CRLF does not end a message', `${letter}x\n.\r\nMAIL FROM:<evil@example.test>\r\n.\r\n`, '550 5.6.11'),
  message('CR . CRLF does not end a message', `${letter}x\r.\r\nMAIL FROM:<evil@example.test>\r\n.\r\n`, '550 5.6.11'),
  message('CR LF . CR does not end a message', `${letter}x\r\n.\rMAIL FROM:<evil@example.test>\r\n.\r\n`, '550 5.6.11'),
  message('CR LF . LF does not end a message', `${letter}x\r\n.\nMAIL FROM:<evil@example.test>\r\n.\r\n`, '550 5.6.11'),
  message('CR CR LF', `${letter}x\r\r\n.\r\n`, '550 5.6.11'),
  message('a line of 2000 octets', `${letter}${many(2000, 'x')}\r\n.\r\n`, '550 5.6.0'),
  message('more than the limit, without SIZE', `${letter}${many(250_000, `${many(70, 'x')}\r\n`)}.\r\n`, '552 5.3.4'),
  message('no bytes at all', '.\r\n', '250 2.0.0'),
  session(
    'trusting',
    'commands behind the end of a message',
    hello,
    mail,
    rcpt,
    data,
    [`${letter}.\r\nVRFY x\r\nFOO\r\n`, '250 2.0.0', '252', '500'],
    noop,
  ),
  { ...session('trusting', 'a reset amid a message', hello, mail, rcpt, data, [letter]), end: 'reset' },
  session('trusting', 'leaving amid a message', hello, mail, rcpt, data, [letter]),
  session('trusting', 'leaving amid a command', hello, ['MAIL FROM:<a@exa']),
]

const time: readonly Session[] = [
  { ...session('hurried', 'silence', ['', '421 4.4.2', ...closed]), end: 'closed by server' },
  {
    ...session('hurried', 'silence amid a message', hello, mail, rcpt, data, [letter, '421 4.4.2', ...closed]),
    end: 'closed by server',
  },
]

/** The settings of each listener. */
async function openListeners(t: Test): Promise<Record<Session['listener'], RunningSubmission>> {
  const trusted = { trusted: () => printer }
  // Many sessions with wrong keys come from one address, so bans are disabled here.
  const authFailures = { failures: 1000, window: 1000, ban: 1000, maxClients: 10 }
  const strict = await runSubmission(t, { authFailures })
  return {
    strict,
    tls: strict,
    trusting: await runSubmission(t, {}, trusted),
    hurried: await runSubmission(t, { idleTimeout: 50, session_deadline: 5000, finishWithin: 50 }, trusted),
  }
}

async function play(t: Test, client: Dialogue, { steps, end }: Session): Promise<void> {
  for (const [bytes, ...expected] of steps) {
    await client.send(bytes)
    const replies = await client.readReplies(expected.length)
    const wrong = replies.findIndex((reply, at) => !reply.startsWith(expected[at] ?? ''))
    if (wrong !== -1)
      t.fail(`${expected[wrong]} expected after ${JSON.stringify(bytes.toString().slice(0, 80))}`, { replies })
    const doubled = replies.find((reply) => twoStatusCodes.test(reply))
    if (doubled !== undefined) t.fail('two status codes in one reply', { doubled })
  }
  if (end === 'closed by server') await client.waitForClose()
  else if (end === 'reset') client.reset()
  else client.end()
}

t.test('hostile sessions get their documented replies, and the listener goes on', async (t) => {
  const listeners = await openListeners(t)
  for (const hostile of [...order, ...keys, ...commands, ...senders, ...recipients, ...messages, ...time]) {
    await t.test(`${hostile.listener}: ${hostile.name}`, async (t) => {
      const { port, listener, taken } = listeners[hostile.listener]
      const tls = hostile.listener === 'tls'
      const before = taken.length
      const client = await dial(port(tls), { tls })
      t.match(await client.readReply(), /^220 mail\.test ESMTP/)
      await play(t, client, hostile)
      const accepted = hostile.steps.flat().filter((part) => part === '250 2.0.0').length
      t.ok(taken.length <= before + accepted, 'nothing was smuggled in')
      client.end()

      const next = await dial(port(tls), { tls })
      t.match(await next.readReply(), /^220 /, 'the listener goes on')
      next.end()
      await waitUntil(() => listener.connections() === 0 && listener.bytesInFlight() === 0)
    })
  }
  for (const { errors } of Object.values(listeners)) t.same(errors, [], 'nothing was a bug')
})

t.test('commands sent behind STARTTLS in plaintext are not executed inside TLS', async (t) => {
  const { open } = await runSubmission(t, {}, { trusted: () => printer })
  const client = await open()
  await client.sendCommand('EHLO c')
  await client.send('STARTTLS\r\nEHLO injected\r\nMAIL FROM:<evil@example.test>\r\n')
  t.match(await client.readReply(), /^220 2\.0\.0 /)
  await client.startTls()
  t.equal(
    await client.sendCommand('RCPT TO:<b@remote.test>'),
    '503 5.5.1 Error: send HELO/EHLO first',
    'the first reply in TLS',
  )
})

t.test('a client that trickles cannot outlast the deadline of its session', async (t) => {
  const { open, listener, taken } = await runSubmission(
    t,
    { session_deadline: 60, finishWithin: 60 },
    { trusted: () => printer },
  )
  const idle = await open()
  const sending = await open()
  await sending.sendCommand('EHLO c')
  await sending.sendCommand('MAIL FROM:<a@example.test>')
  await sending.sendCommand('RCPT TO:<b@remote.test>')
  await sending.sendCommand('DATA')
  const trickle = setInterval(() => {
    void idle.send('N')
    void sending.send('x')
  }, 5)
  t.same(await idle.readReplies(2), ['421 4.4.2 This session has lasted long enough, connect again', 'closed'])
  t.match(await sending.readReply(), /^421 4\.4\.2 /)
  clearInterval(trickle)
  await waitUntil(() => listener.connections() === 0 && listener.bytesInFlight() === 0)
  t.equal(taken.length, 0)
})
