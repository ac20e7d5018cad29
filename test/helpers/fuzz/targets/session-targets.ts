/** SMTP dialogues over sockets: with both listeners, and of our client with a hostile server. */

import { once } from 'node:events'
import { connect, createServer, type Server } from 'node:net'
import { openClientSession } from '../../../../src/outbound/delivery/smtp/smtp-client.js'
import { MAX_TRANSCRIPT } from '../../../../src/outbound/delivery/smtp/transcript.js'
import { runMx } from '../../../servers/smtp/mx-listener.js'
import { printer, runSubmission } from '../../../servers/smtp/submission-listener.js'
import { clientDeps, hostAt, never, outbound } from '../../smtp/sink-client.js'
import { check, checkEqual, type FuzzTarget } from '../target.js'
import { Teardowns } from '../teardowns.js'

interface Listener {
  readonly port: number
  readonly taken: readonly unknown[]
  readonly errors: readonly unknown[]
  readonly advance: (milliseconds: number) => void
  readonly bytesInFlight: () => number
  readonly rawOf: (index: number) => Buffer
}

/** The greeting is read first; then all bytes are sent and our side ends. */
function converse(port: number, input: Buffer): Promise<string> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    const socket = connect({ host: '127.0.0.1', port, noDelay: true })
    socket.once('data', () => socket.end(input))
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    socket.on('error', () => undefined)
    socket.on('close', () => resolve(Buffer.concat(chunks).toString('latin1')))
  })
}

const MAX_SESSIONS = 2_000

/** One listener, which is opened anew from time to time, since the helpers keep what they accept. */
class FuzzedListener {
  private listener: Listener | null = null
  private teardowns = new Teardowns()
  private sessions = 0

  constructor(private readonly start: (teardowns: Teardowns) => Promise<Listener>) {}

  async open(): Promise<void> {
    this.sessions = 0
    this.teardowns = new Teardowns()
    this.listener = await this.start(this.teardowns)
  }

  async close(): Promise<void> {
    await this.teardowns.run()
  }

  async run(input: Buffer): Promise<void> {
    if (++this.sessions > MAX_SESSIONS) {
      await this.close()
      await this.open()
    }
    const { listener } = this
    if (listener === null) throw new Error('not open')
    listener.advance(120_000)
    const before = listener.taken.length
    const replies = await converse(listener.port, input)
    check(
      /^(?:[2-5]\d\d(?:[ -][ -~]*)?\r\n)*$/.test(replies),
      `replies are lines of printable ASCII: ${JSON.stringify(replies.slice(-200))}`,
    )
    check(
      replies.split('\r\n').every((line) => line.length <= 510),
      'a reply line has at most 512 octets',
    )
    checkEqual(listener.errors, [], 'no error is logged')
    const accepted = listener.taken.length - before
    const ends = input.toString('latin1').split(/(?<=\r\n)\.\r\n/).length - 1
    check(accepted <= ends, `${accepted} messages were accepted, of ${ends} ends`)
    for (let at = before; at < listener.taken.length; at += 1) {
      const raw = listener.rawOf(at).toString('latin1')
      check(!/\r(?!\n)|(?<!\r)\n|\0/.test(raw), 'an accepted message has no bare line end')
    }
  }
}

const submission = new FuzzedListener(async (teardowns) => {
  const { listener, taken, errors, advance, port } = await runSubmission(
    teardowns,
    { allow_plaintext_loopback: true },
    { trusted: () => printer },
  )
  const rawOf = (index: number): Buffer => taken[index]?.message.raw ?? Buffer.alloc(0)
  return { port: port(false), taken, errors, advance, bytesInFlight: () => listener.bytesInFlight(), rawOf }
})

const mx = new FuzzedListener(async (teardowns) => {
  const { listener, taken, errors, advance, port } = await runMx(teardowns, {
    connections_per_minute: 1e6,
    messages_per_minute: 1e6,
    bytes_per_minute: 1e12,
  })
  const rawOf = (index: number): Buffer => taken[index]?.bytes.read() ?? Buffer.alloc(0)
  return { port, taken, errors, advance, bytesInFlight: () => listener.bytesInFlight(), rawOf }
})

const letter = 'From: a@example.test\r\nTo: b@home.test\r\nSubject: x\r\n\r\nhello\r\n..dot\r\n.\r\n'
const dialogue = (from: string, to: string): string =>
  `EHLO c.test\r\nMAIL FROM:<${from}> SIZE=100 BODY=8BITMIME\r\nRCPT TO:<${to}>\r\nDATA\r\n${letter}RSET\r\nNOOP\r\nQUIT\r\n`
const words = [
  'EHLO c\r\n',
  'HELO c\r\n',
  'MAIL FROM:<a@example.test>',
  'RCPT TO:<b@home.test>',
  'DATA\r\n',
  'RSET\r\n',
  'NOOP\r\n',
  'VRFY x\r\n',
  'QUIT\r\n',
  'AUTH PLAIN ',
  'AUTH LOGIN\r\n',
  'STARTTLS\r\n',
  'BDAT 5 LAST\r\n',
  'HELP\r\n',
  '\r\n.\r\n',
  '\n.\n',
  '\r.\r',
  '\n.\r\n',
  '\r\n.\n',
  '..',
  ' SIZE=',
  ' SMTPUTF8',
  '\r\n',
  '\r',
  '\n',
  'PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n',
  'AGFhAGFwcC1rZXk=',
  letter,
]

/** The server sends a piece of the input at the beginning and after each thing it receives, then it ends. */
let server: Server | null = null
let script: readonly Buffer[] = []
let received: Buffer[] = []
let ended = Promise.resolve<unknown>(null)
const SEPARATOR = '|'
const QUICK = 100
const quick = {
  connect: 5_000,
  banner: QUICK,
  ehlo: QUICK,
  starttls: QUICK,
  auth: QUICK,
  mail: QUICK,
  rcpt: QUICK,
  data: QUICK,
  block: QUICK,
  message: QUICK,
  quit: QUICK,
}
const deps = clientDeps(quick)
const text = 'Subject: x\r\n\r\n.dot\r\nhello\r\n'

async function openServer(): Promise<void> {
  server = createServer({ noDelay: true }, (socket) => {
    let place = 0
    const next = (): void => {
      const piece = script[place++]
      if (piece === undefined) socket.end()
      else if (piece.length > 0) socket.write(piece)
    }
    socket.on('data', (chunk: Buffer) => {
      received.push(chunk)
      next()
    })
    socket.on('error', () => undefined)
    ended = new Promise((resolve) => socket.once('close', resolve))
    next()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
}

async function closeServer(): Promise<void> {
  server?.close()
}

async function talkToServer(input: Buffer): Promise<void> {
  script = input
    .toString('latin1')
    .split(SEPARATOR)
    .map((piece) => Buffer.from(piece, 'latin1'))
  received = []
  const address = server?.address()
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0
  const result = await openClientSession(
    hostAt({ port }, { auth: { user: 'u', pass: 'p' } }),
    deps,
    never,
    input.length % 2 === 0 ? 'offered' : 'none',
  )
  const transcript = result.kind === 'open' ? await sendMessage(result.session) : result.transcript
  await ended
  check(Buffer.byteLength(transcript) <= MAX_TRANSCRIPT, 'a transcript has its limit')
  check(!/[^\P{Cc}\n]/u.test(transcript), 'a transcript is printable')
}

async function sendMessage(
  session: Extract<Awaited<ReturnType<typeof openClientSession>>, { kind: 'open' }>['session'],
): Promise<string> {
  const sent = await session.send(outbound(text), never)
  const wire = Buffer.concat(received).toString('latin1')
  if (session.tls === null) {
    check(!/\r(?!\n)|(?<!\r)\n/.test(wire), 'commands have no bare line end')
    if (sent.kind === 'accepted')
      check(
        wire.includes('\r\nhello\r\n.\r\n') && wire.includes('\r\n..dot\r\n'),
        'an accepted message was sent completely',
      )
  }
  if (sent.kind === 'accepted') check(sent.reply.code >= 200 && sent.reply.code < 300, 'accepted is 2xx')
  const { transcript } = session
  await session.quit()
  return transcript
}

export const sessionTargets: readonly FuzzTarget[] = [
  {
    name: 'smtp-submission',
    checks: 'replies are lines of ASCII; no error is logged; one message for each end; no bare line end',
    seeds: [
      dialogue('a@example.test', 'b@remote.test'),
      `EHLO c\r\nAUTH PLAIN AGFhAGFwcC1rZXk=\r\nMAIL FROM:<a@example.test> RET=HDRS ENVID=x SMTPUTF8\r\nRCPT TO:<b@remote.test> NOTIFY=NEVER ORCPT=rfc822;x\r\nDATA\r\n${letter}`,
      'EHLO c\r\nAUTH LOGIN\r\nYQ==\r\nYXBwLWtleQ==\r\nQUIT\r\n',
      'STARTTLS\r\n\x16\x03\x01',
    ],
    words,
    maxSize: 32_768,
    waits: true,
    maxTime: 5_000,
    open: () => submission.open(),
    close: () => submission.close(),
    run: (input) => submission.run(input),
  },
  {
    name: 'smtp-mx',
    checks: 'replies are lines of ASCII; no error is logged; one message for each end; no bare line end',
    seeds: [
      dialogue('a@sender.test', 'b@home.test'),
      dialogue('', 'b@mail.test'),
      `HELO c\r\nMAIL FROM:<a@b.test>\r\nRCPT TO:<nobody@home.test>\r\nRCPT TO:<x@relay.test>\r\nRCPT TO:<b@home.test>\r\nRCPT TO:<c@w.home.test>\r\nDATA\r\n${letter}MAIL FROM:<>\r\n`,
    ],
    words,
    maxSize: 32_768,
    waits: true,
    maxTime: 5_000,
    open: () => mx.open(),
    close: () => mx.close(),
    run: (input) => mx.run(input),
  },
  {
    name: 'smtp-client',
    checks: 'accepted only if sent completely; transcripts are printable and bounded; no bare line end',
    seeds: [
      '220 mx\r\n|250-mx\r\n250-SIZE 1000\r\n250-PIPELINING\r\n250 AUTH PLAIN\r\n|235 ok\r\n|250 ok\r\n250 ok\r\n354 go\r\n|250 2.0.0 taken\r\n|221 bye\r\n',
      '220 mx\r\n|250-mx\r\n250 AUTH LOGIN\r\n|334 VXNlcm5hbWU6\r\n|334 UGFzc3dvcmQ6\r\n|235 ok\r\n|250 ok\r\n|250 ok\r\n|354 go\r\n|250 ok\r\n|221 bye\r\n',
      '220 mx\r\n|502 no\r\n|250 mx\r\n|250 ok\r\n|550 5.1.1 no\r\n|250 reset\r\n',
      '220 mx\r\n|250-mx\r\n250 STARTTLS\r\n|220 go\r\n|\x16\x03\x03',
    ],
    words: [
      '220 ',
      '250-',
      '250 ',
      '354 ',
      '421 4.3.0 bye\r\n',
      '550 5.1.1 ',
      '334 ',
      '235 ',
      '|',
      '||',
      '\r\n',
      '\n',
      'PIPELINING\r\n',
      'STARTTLS\r\n',
      'AUTH PLAIN LOGIN\r\n',
      'SMTPUTF8',
      '8BITMIME',
      '\u0000',
      '\u001b',
    ],
    maxSize: 32_768,
    waits: true,
    maxTime: 8_000,
    open: openServer,
    close: closeServer,
    run: talkToServer,
  },
]
