import { Socket } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { parseAddress } from '../../../../src/base/mail/address.js'
import { createDialer, DialError, type Dialer } from '../../../../src/base/platform/dialer.js'
import type { Host } from '../../../../src/outbound/delivery/hosts/destination.js'
import { noCapabilities, parseCapabilities } from '../../../../src/outbound/delivery/smtp/capabilities.js'
import { SmtpConnection } from '../../../../src/outbound/delivery/smtp/connection.js'
import { dotStuff } from '../../../../src/outbound/delivery/smtp/dot-stuffing.js'
import { buildMailCommand, buildRcptCommand, checkSendable } from '../../../../src/outbound/delivery/smtp/envelope.js'
import type { OutboundMessage } from '../../../../src/outbound/delivery/smtp/outbound-message.js'
import type { SmtpFailure } from '../../../../src/outbound/delivery/smtp/send-result.js'
import {
  type OpenResult,
  openClientSession,
  type SmtpClientDeps,
} from '../../../../src/outbound/delivery/smtp/smtp-client.js'
import type { SmtpClientSession } from '../../../../src/outbound/delivery/smtp/smtp-session.js'
import { defaultTimeouts } from '../../../../src/outbound/delivery/smtp/timeouts.js'
import { runTransaction } from '../../../../src/outbound/delivery/smtp/transaction.js'
import { Transcript } from '../../../../src/outbound/delivery/smtp/transcript.js'
import { createSelfSigned } from '../../../helpers/certificates.js'
import { openSink, type ScriptedSink, type SinkOptions } from '../../../helpers/smtp/scripted-sink.js'
import { clientDeps, hostAt, never, outbound } from '../../../helpers/smtp/sink-client.js'

const certificate = await createSelfSigned(['mx.test', '127.0.0.1'])
const expired = await createSelfSigned(['other.test'], { expired: true })
const everything = parseCapabilities([
  'mx.test',
  'PIPELINING',
  'SIZE 1000',
  '8BITMIME',
  'SMTPUTF8',
  'DSN',
  'AUTH PLAIN LOGIN',
])

async function sinkFor(t: Test, options: SinkOptions = {}): Promise<ScriptedSink> {
  const sink = await openSink(options)
  t.teardown(() => sink.close())
  return sink
}

async function requireSession(t: Test, host: Host, deps: SmtpClientDeps = clientDeps()): Promise<SmtpClientSession> {
  const result = await openClientSession(host, deps, never)
  if (result.kind === 'shut') throw new Error(JSON.stringify(result))
  t.teardown(() => result.session.destroy())
  return result.session
}

function failureOf(result: OpenResult): SmtpFailure {
  if (result.kind === 'open') throw new Error('opened')
  return result.failure
}

t.test('sends a message byte for byte, with what the server offers', async (t) => {
  const sink = await sinkFor(t, { certificate })
  const session = await requireSession(t, hostAt(sink))
  const raw = 'Subject: caf\u00e9\r\n\r\n.dot\r\n..two\r\n.\r\nend\r\n'
  const sent = await session.send(
    outbound(raw, { envid: 'a+b c', ret: 'headers', notify: ['failure', 'delay'], orcpt: 'rfc822;x=y@rcpt.test' }),
    never,
  )
  t.match(sent, { kind: 'accepted', reply: { code: 250, enhanced: '2.0.0', text: 'taken' }, dsnRelayed: true })
  t.match(sink.messages, [
    {
      mailFrom: `<bounce@sender.test> SIZE=${Buffer.byteLength(raw)} BODY=8BITMIME RET=HDRS ENVID=a+2Bb+20c`,
      rcptTo: ['<bob@rcpt.test> NOTIFY=FAILURE,DELAY ORCPT=rfc822;x+3Dy@rcpt.test'],
      tls: 'TLSv1.3',
    },
  ])
  t.equal(sink.messages[0]?.raw.toString(), raw)
  t.equal(session.tls, 'TLSv1.3')
})

t.test('pipelines MAIL, RCPT and DATA where that is offered, and only there', async (t) => {
  const sink = await sinkFor(t)
  const session = await requireSession(t, hostAt(sink))
  for (let round = 0; round < 3; round++) t.equal((await session.send(outbound('a\r\n'), never)).kind, 'accepted')
  t.equal(sink.pipelined, 6)
  t.equal(sink.connections, 1)
  const slow = await sinkFor(t, { extensions: [] })
  t.equal((await (await requireSession(t, hostAt(slow))).send(outbound('a\r\n'), never)).kind, 'accepted')
  t.equal(slow.pipelined, 0)
  t.equal(slow.messages[0]?.mailFrom, '<bounce@sender.test>')
})

t.test('greets with HELO a server that does not know EHLO', async (t) => {
  const sink = await sinkFor(t, { script: { ehlo: '502 what?' } })
  const session = await requireSession(t, hostAt(sink))
  t.equal((await session.send(outbound('a\r\n'), never)).kind, 'accepted')
  t.match(sink.commands, ['EHLO us.test', 'HELO us.test', 'MAIL FROM:<bounce@sender.test>'])
})

t.test('takes any certificate where TLS is opportunistic', async (t) => {
  const sink = await sinkFor(t, { certificate: expired })
  const session = await requireSession(t, hostAt(sink))
  t.equal(session.tls, 'TLSv1.3')
  t.equal(sink.commands.filter((line) => line.startsWith('EHLO')).length, 2, 'asks again under encryption')
})

t.test('bytes that come along with the go-ahead to STARTTLS end the session', async (t) => {
  for (const injected of ['250 injected', '2']) {
    const sink = await sinkFor(t, { certificate, script: { starttls: `220 go\r\n${injected}` } })
    const failure = failureOf(await openClientSession(hostAt(sink), clientDeps(), never))
    t.match(failure, { kind: 'failed', stage: 'starttls', failure: 'protocol' })
  }
})

t.test('an implicit TLS host must show a valid certificate of its name', async (t) => {
  const sink = await sinkFor(t, { certificate, implicit: true })
  const host = hostAt(sink, { tls: 'implicit' })
  const trusting = clientDeps({}, certificate.cert)
  t.equal((await requireSession(t, host, trusting)).tls, 'TLSv1.3')
  t.equal(
    (await requireSession(t, { ...host, mx: '127.0.0.1' }, trusting)).tls,
    'TLSv1.3',
    'an address can be the name',
  )
  const tls = { kind: 'failed', stage: 'connect', failure: 'tls' }
  t.match(failureOf(await openClientSession(host, clientDeps(), never)), tls, 'unknown authority')
  t.match(failureOf(await openClientSession({ ...host, mx: 'another.test' }, trusting, never)), tls, 'another name')
  const stale = await sinkFor(t, { certificate: expired, implicit: true })
  const other = hostAt(stale, { tls: 'implicit', mx: 'other.test' })
  t.match(failureOf(await openClientSession(other, clientDeps({}, expired.cert), never)), tls, 'expired')
})

/** Dials loopback whatever the address, so that a host can be somewhere else. */
function depsToLoopback(authorities?: string): SmtpClientDeps {
  const real = createDialer(authorities)
  const dialer: Dialer = { ...real, dial: (_, port, options) => real.dial('127.0.0.1', port, options) }
  return { ...clientDeps(), dialer }
}

t.test('logs in with PLAIN, else LOGIN, and keeps the secret out of the transcript', async (t) => {
  const auth = { user: 'me', pass: 'open sesame' }
  for (const mechanism of ['PLAIN', 'LOGIN']) {
    const sink = await sinkFor(t, { certificate, extensions: [`AUTH ${mechanism}`] })
    const session = await requireSession(
      t,
      hostAt(sink, { auth, address: '192.0.2.1' }),
      depsToLoopback(certificate.cert),
    )
    await session.send(outbound('a\r\n'), never)
    const secret = Buffer.from(mechanism === 'PLAIN' ? '\0me\0open sesame' : 'open sesame').toString('base64')
    t.ok(sink.commands.join(' ').includes(secret))
    t.notOk(session.transcript.includes(secret))
    t.match(session.transcript, /credentials/)
  }
})

t.test('credentials go over verified TLS or to this machine, nowhere else', async (t) => {
  const auth = { user: 'me', pass: 'secret' }
  const bare = await sinkFor(t, { extensions: ['AUTH PLAIN'] })
  t.match(failureOf(await openClientSession(hostAt(bare, { auth, address: '192.0.2.1' }), depsToLoopback(), never)), {
    failure: 'tls',
  })
  const unknown = await sinkFor(t, { certificate, extensions: ['AUTH PLAIN'] })
  t.match(
    failureOf(await openClientSession(hostAt(unknown, { auth, address: '192.0.2.1' }), depsToLoopback(), never)),
    {
      failure: 'tls',
    },
  )
  t.notMatch([...bare.commands, ...unknown.commands].join('\n'), /AUTH/)
  await requireSession(t, hostAt(bare, { auth }))
  t.match(bare.commands.join('\n'), /AUTH PLAIN/)
})

t.test('a login that is refused or not offered fails the session', async (t) => {
  const auth = { user: 'me', pass: 'wrong' }
  const strict = await sinkFor(t, { extensions: ['AUTH=PLAIN'], script: { auth: '535 5.7.8 no' } })
  t.match(failureOf(await openClientSession(hostAt(strict, { auth }), clientDeps(), never)), {
    kind: 'refused',
    stage: 'auth',
    reply: { code: 535 },
  })
  const without = await sinkFor(t)
  t.match(failureOf(await openClientSession(hostAt(without, { auth }), clientDeps(), never)), {
    stage: 'auth',
    failure: 'protocol',
  })
})

t.test('a refused recipient leaves the session usable, with RSET or a lone dot', async (t) => {
  const refuseFirst = (question: { taken: number; line: string }): string =>
    question.line.includes('<bad@') ? '550 5.1.1 no such user' : '250 ok'
  const bad = outbound('a\r\n', { recipient: parseAddress('bad@rcpt.test') })
  for (const data of [undefined, '354 go on anyway']) {
    for (const extensions of [['PIPELINING'], []]) {
      const script = data === undefined ? { rcpt: refuseFirst } : { rcpt: refuseFirst, data }
      const sink = await sinkFor(t, { extensions, script })
      const session = await requireSession(t, hostAt(sink))
      t.match(await session.send(bad, never), {
        kind: 'refused',
        stage: 'rcpt',
        reply: { code: 550, enhanced: '5.1.1' },
      })
      t.equal((await session.send(outbound('fine\r\n'), never)).kind, 'accepted')
      t.same(
        sink.messages.map(({ raw }) => raw.toString()),
        ['fine\r\n'],
      )
      t.equal(sink.connections, 1)
    }
  }
})

t.test('a refusal stands although the server hangs up after it', async (t) => {
  const sink = await sinkFor(t, { script: { mail: '550 5.7.1 not you', rcpt: 'drop' } })
  const session = await requireSession(t, hostAt(sink))
  t.match(await session.send(outbound('a\r\n'), never), { kind: 'refused', stage: 'mail', reply: { code: 550 } })
  t.equal(session.isUsable, false)
})

t.test('421 ends the session, whatever it answers', async (t) => {
  const sink = await sinkFor(t, { script: { rcpt: '421 4.3.2 closing' } })
  const session = await requireSession(t, hostAt(sink))
  t.match(await session.send(outbound('a\r\n'), never), { kind: 'refused', stage: 'rcpt', reply: { code: 421 } })
  t.equal(session.isUsable, false)
})

t.test('a reply from before the close can be read after it', async (t) => {
  const socket = new Socket()
  const connection = new SmtpConnection(socket, new Transcript())
  socket.emit('data', Buffer.from('421 4.3.2 closing\r\n'))
  socket.emit('end')
  t.match(await connection.nextReply(1000), { kind: 'reply', serverReply: { reply: { code: 421 } } })
  t.match(await connection.nextReply(1000), { kind: 'failed', why: { failure: 'closed' } })
})

t.test('an unsolicited reply ends the session, before it can pass for a delivery', async (t) => {
  const early = await sinkFor(t, { script: { data: '354 go\r\n250 2.0.0 taken, honestly' } })
  t.match(await (await requireSession(t, hostAt(early))).send(outbound('a\r\n'), never), {
    kind: 'failed',
    failure: 'protocol',
  })
  const twice = await sinkFor(t, { script: { message: '250 taken\r\n250 taken' } })
  const session = await requireSession(t, hostAt(twice))
  t.equal((await session.send(outbound('a\r\n'), never)).kind, 'accepted')
  t.equal(session.isUsable, false)
  t.match(await session.send(outbound('b\r\n'), never), { kind: 'failed', stage: 'mail' })
  t.equal(twice.messages.length, 1)
})

t.test('a refusal in the middle of a large message is read', async (t) => {
  const sink = await sinkFor(t, { extensions: [] })
  const session = await requireSession(t, hostAt(sink))
  const sending = session.send(outbound([Buffer.alloc(64 * 1024 * 1024, 'x')]), never)
  await sink.waitUntil(() => sink.commands.includes('DATA'))
  sink.broadcast('552 5.3.4 enough')
  t.match(await sending, { kind: 'refused', stage: 'message', reply: { code: 552 } })
  t.equal(session.isUsable, false)
})

/** The peer takes no byte: what is written stays here. */
class ClosedWindow extends Socket {
  override _write(): void {}
  override _writev(): void {}
}

t.test('a yes from a server that has not taken all of the message is no delivery', async (t) => {
  const socket = new ClosedWindow()
  const connection = new SmtpConnection(socket, new Transcript())
  const replies = ['250 sender', '250 recipient', '354 go', '250 2.0.0 taken, honestly']
  const sending = runTransaction(
    connection,
    outbound([Buffer.alloc(200_000, 'x')]),
    noCapabilities,
    defaultTimeouts,
    false,
  )
  for (const reply of replies) {
    await turn()
    socket.emit('data', Buffer.from(`${reply}\r\n`))
  }
  t.match((await sending).sent, { kind: 'failed', stage: 'data', failure: 'protocol' })
  t.ok(socket.destroyed)
})

t.test('garbage, huge and endless greetings are protocol failures', async (t) => {
  for (const banner of ['hello', 'x'.repeat(100_000), `${'220-spam\r\n'.repeat(300)}220 end`, '354 go']) {
    const sink = await sinkFor(t, { script: { banner } })
    const failure = failureOf(await openClientSession(hostAt(sink), clientDeps(), never))
    t.match(failure, { kind: 'failed', stage: 'banner', failure: 'protocol' })
  }
  const long = await sinkFor(t, { script: { banner: `${'220-welcome to this server\r\n'.repeat(150)}220 go` } })
  t.ok(await requireSession(t, hostAt(long)))
})

t.test('an abort ends opening and sending at once, with its reason', async (t) => {
  const reason = new Error('stopping')
  const mute = await sinkFor(t, { script: { banner: 'hang' } })
  const opening = new AbortController()
  const one = openClientSession(hostAt(mute), clientDeps(), opening.signal)
  await mute.waitUntil(() => mute.open === 1)
  opening.abort(reason)
  await t.rejects(one, reason)
  const slow = await sinkFor(t, { script: { message: 'hang' } })
  const session = await requireSession(t, hostAt(slow))
  const sending = new AbortController()
  const two = session.send(outbound('a\r\n'), sending.signal)
  await slow.waitUntil(() => slow.commands.includes('DATA'))
  sending.abort(reason)
  await t.rejects(two, reason)
  t.equal(session.isUsable, false)
  await slow.waitUntil(() => slow.open === 0)
})

t.test('the dialer reports a refused connection, and takes no names', async (t) => {
  const sink = await openSink()
  const { port } = sink
  await sink.close()
  const dialer = createDialer()
  await t.rejects(
    dialer.dial('127.0.0.1', port, { timeout: 1000, signal: never }),
    new DialError('refused', 'connection refused'),
  )
  await t.rejects(dialer.dial('mx.test', port, { timeout: 1000, signal: never }), TypeError)
})

t.test('a lack of descriptors is no failure of the host', async (t) => {
  const sink = await sinkFor(t)
  const full = Object.assign(new Error('connect EMFILE 127.0.0.1:25'), { code: 'EMFILE' })
  const dialer: Dialer = { ...createDialer(), dial: () => Promise.reject(full) }
  await t.rejects(openClientSession(hostAt(sink), { ...clientDeps(), dialer }, never), full)
})

t.test('the transcript holds the opening and the last transaction, not the message', async (t) => {
  const sink = await sinkFor(t)
  const session = await requireSession(t, hostAt(sink))
  await session.send(outbound('the first body\r\n'), never)
  await session.send(outbound('the second body\r\n'), never)
  t.match(session.transcript, /connected to mx\.test \[127\.0\.0\.1\]:\d+\n< 220 sink\.test ESMTP\n> EHLO us\.test\n/)
  t.match(session.transcript, /> DATA\n.*< 354 go ahead\n> \(17 bytes\)\n< 250 2\.0\.0 taken\n$/s)
  t.equal(session.transcript.match(/> DATA/g)?.length, 1)
  t.notMatch(session.transcript, /body/)
})

t.test('reads extensions in any case, and the odd ones', async (t) => {
  t.match(parseCapabilities(['mx', 'pipelining', 'size', 'AUTH=login', 'auth Plain cram-md5']), {
    pipelining: true,
    size: null,
    hasSize: true,
    auth: ['LOGIN', 'PLAIN', 'CRAM-MD5'],
    dsn: false,
  })
  t.equal(parseCapabilities(['SIZE 10']).size, null, 'the first line is the greeting')
  t.equal(parseCapabilities(['mx', 'SIZE 0']).size, null)
  t.equal(parseCapabilities(['mx', 'SIZE 1000']).size, 1000)
})

t.test('parameters are given only where they are offered', async (t) => {
  const full: Partial<OutboundMessage> = {
    smtputf8: true,
    envid: 'e',
    ret: 'full',
    notify: ['never'],
    orcpt: 'rfc822;b@rcpt.test',
  }
  t.equal(buildMailCommand(outbound('é', full), noCapabilities), 'MAIL FROM:<bounce@sender.test>')
  t.equal(buildRcptCommand(outbound('é', full), noCapabilities), 'RCPT TO:<bob@rcpt.test>')
  t.equal(
    buildMailCommand(outbound('é', full), everything),
    'MAIL FROM:<bounce@sender.test> SIZE=2 BODY=8BITMIME SMTPUTF8 RET=FULL ENVID=e',
  )
  t.equal(
    buildRcptCommand(outbound('é', full), everything),
    'RCPT TO:<bob@rcpt.test> NOTIFY=NEVER ORCPT=rfc822;b@rcpt.test',
  )
  t.equal(buildMailCommand(outbound('e', { returnPath: '' }), everything), 'MAIL FROM:<> SIZE=1')
})

t.test('no envelope can smuggle a command', async (t) => {
  const nasty = 'a\r\nRCPT TO:<evil@x.test>'
  t.throws(() => buildMailCommand(outbound('', { returnPath: `${nasty}@sender.test` }), everything), TypeError)
  t.notMatch(buildMailCommand(outbound('', { envid: nasty }), everything), /[\r\n]/)
  t.notMatch(buildRcptCommand(outbound('', { orcpt: `rfc822;${nasty}` }), everything), /[\r\n]/)
  t.notMatch(buildRcptCommand(outbound('', { orcpt: nasty }), everything), /[\r\n]/)
  t.notMatch(buildRcptCommand(outbound('', { orcpt: `utf-8;${nasty}` }), everything), /[\r\n]/)
})

t.test('an internationalized original recipient is passed on, in ASCII, to servers that know DSN', async (t) => {
  const message = outbound('', { orcpt: 'utf-8;jörg+x@straße.test' })
  const command = 'RCPT TO:<bob@rcpt.test> ORCPT=utf-8;j\\x{F6}rg\\x{2B}x@stra\\x{DF}e.test'
  t.equal(buildRcptCommand(message, everything), command)
  t.equal(buildRcptCommand(message, { ...everything, smtputf8: false }), command, 'this form needs no SMTPUTF8')
  t.equal(buildRcptCommand(message, { ...everything, dsn: false }), 'RCPT TO:<bob@rcpt.test>')
})

t.test('what the server cannot take is not sent at all', async (t) => {
  t.match(checkSendable(outbound([Buffer.alloc(1001)]), everything), { code: 552, enhanced: '5.3.4' })
  t.equal(checkSendable(outbound([Buffer.alloc(1000)]), everything), null)
  t.match(checkSendable(outbound('', { smtputf8: true }), noCapabilities), { enhanced: '5.6.7' })
  const sink = await sinkFor(t, { extensions: ['SIZE 3'] })
  const session = await requireSession(t, hostAt(sink))
  t.match(await session.send(outbound('four'), never), { kind: 'unsendable' })
  t.notMatch(sink.commands.join(), /MAIL/)
  t.equal(session.isUsable, true)
})

/** A message of lines, many of which begin with dots, with the CRLF at its end or without. */
const dotted = fc
  .array(fc.constantFrom('.', '..', '.a', 'a', 'a.', '', '.\r\n.'), { maxLength: 30 })
  .chain((lines) => fc.constantFrom(lines.join('\r\n'), `${lines.join('\r\n')}\r\n`))

function cutInto(raw: Buffer, cuts: readonly number[]): readonly Buffer[] {
  const ends = [...cuts.map((cut) => cut % (raw.length + 1)), raw.length].sort((a, b) => a - b)
  return ends.map((end, index) => raw.subarray(index === 0 ? 0 : ends[index - 1], end))
}

t.test('dots are stuffed the same wherever the pieces are cut', async () => {
  fc.assert(
    fc.property(dotted, fc.array(fc.nat(), { maxLength: 12 }), (text, cuts) => {
      const connection = Buffer.concat([...dotStuff(cutInto(Buffer.from(text), cuts))]).toString()
      const ended = text === '' || text.endsWith('\r\n') ? text : `${text}\r\n`
      return connection === `${ended.replace(/(^|\r\n)\./g, '$1..')}.\r\n`
    }),
  )
})

t.test('any message arrives byte for byte, however it is cut', async (t) => {
  const sink = await sinkFor(t)
  const session = await requireSession(t, hostAt(sink))
  await fc.assert(
    fc.asyncProperty(dotted, fc.array(fc.nat(), { maxLength: 12 }), async (text, cuts) => {
      const sent = await session.send(outbound(cutInto(Buffer.from(text), cuts)), never)
      const taken = sink.messages.at(-1)?.raw.toString()
      return sent.kind === 'accepted' && taken === (text === '' || text.endsWith('\r\n') ? text : `${text}\r\n`)
    }),
    { numRuns: 150 },
  )
})

t.test('a large message goes in blocks, dots at their borders too', async (t) => {
  const sink = await sinkFor(t, { extensions: ['PIPELINING'] })
  const session = await requireSession(t, hostAt(sink))
  const raw = Buffer.from('.23456\r\n'.repeat(400_000))
  t.equal((await session.send(outbound([raw.subarray(0, 1_000_001), raw.subarray(1_000_001)]), never)).kind, 'accepted')
  t.ok(sink.messages[0]?.raw.equals(raw))
})
