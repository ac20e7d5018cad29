/**
 * Messages of real mail clients are delivered byte for byte, and signed.
 *
 * One daemon, one sink, every client; each writes to a recipient of its own. At the end, other verifiers check all
 * signatures.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createTransport } from 'nodemailer'
import MailComposer from 'nodemailer/lib/mail-composer'
import t, { type Test } from 'tap'
import { temporaryFolder } from '../helpers/database/database.js'
import { startPostfix } from '../helpers/programs/postfix.js'
import { python, runProgram, skipWithoutModule, skipWithoutSasl } from '../helpers/programs/run-program.js'
import { skipWithout } from '../helpers/programs/skip-without.js'
import { openSink, type SinkMessage } from '../helpers/smtp/scripted-sink.js'
import { buildLetter, findDifference, stripOurFields } from './support/peer-messages.js'
import { createReadyInstallation, type ProgramResult, serve } from './support/program.js'

const sink = await openSink()
t.teardown(() => sink.close())
// Postfix comes from 127.0.0.2 and needs no key; all others come from 127.0.0.1 and do.
const installed = await createReadyInstallation(t, sink.port, '127.0.0.2/32')
const daemon = await serve(t, installed)
const { key } = installed
const caFile = join(installed.dataDir, 'tls', 'cert.pem')
const sender = 'app@sender.test'
const scratch = temporaryFolder(t)

function put(name: string, content: Buffer | string): string {
  const path = join(scratch, name)
  writeFileSync(path, content, { mode: 0o600 })
  return path
}

async function waitForArrival(recipient: string): Promise<SinkMessage> {
  const found = (): SinkMessage | undefined =>
    sink.messages.find(({ rcptTo }) => rcptTo[0]?.startsWith(`<${recipient}>`))
  await sink.waitUntil(() => found() !== undefined)
  return found() as SinkMessage
}

/** Waits for the message, and compares everything below our own two fields. */
async function expectArrival(t: Test, recipient: string, expected: Buffer, protocol = 'ESMTPSA'): Promise<void> {
  const { raw } = await waitForArrival(recipient)
  const received = stripOurFields(raw)
  t.equal(received.protocol, protocol, `${recipient} came with ${protocol}`)
  t.equal(findDifference(received.rest, expected), null, `${recipient} got the same bytes`)
}

const swaksSkip = skipWithout('swaks') || skipWithoutModule(['perl', '-MNet::SSLeay', '-e1'], 'libnet-ssleay-perl')

function swaks(to: string, data: string, ...more: readonly string[]): Promise<ProgramResult> {
  const trust = ['--tls-verify', '--tls-ca-path', caFile]
  const login = ['--auth-user', 'app', '--auth-password', key]
  const envelope = ['--from', sender, '--to', to, '--data', `@${data}`]
  return runProgram(['swaks', '--server', 'localhost', ...envelope, ...trust, ...login, ...more])
}

t.test('swaks', { skip: swaksSkip }, async (t) => {
  const starttls = ['--port', `${daemon.port}`, '--tls']
  const ways: Readonly<Record<string, readonly string[]>> = {
    'swaks-plain@sink.test': [...starttls, '--auth', 'PLAIN'],
    'swaks-login@sink.test': [...starttls, '--auth', 'LOGIN'],
    'swaks-implicit@sink.test': ['--port', `${daemon.tlsPort}`, '--tls-on-connect', '--auth', 'PLAIN'],
  }
  for (const [to, options] of Object.entries(ways)) {
    const message = buildLetter({ to })
    // swaks adds a line end before the final dot.
    const said = await swaks(to, put(to, message.subarray(0, -2)), ...options)
    t.equal(said.status, 0)
    t.match(said.stdout, /250 2\.0\.0 Ok: queued as /)
    await expectArrival(t, to, message)
  }
})

t.test('swaks is refused with a wrong password, and refuses an unknown certificate', { skip: swaksSkip }, async (t) => {
  const data = put('refused', buildLetter({ to: 'refused@sink.test' }))
  const options = ['--port', `${daemon.port}`, '--tls', '--auth', 'PLAIN'] as const
  const wrong = await swaks('refused@sink.test', data, ...options, '--auth-password', 'ph_wrong')
  t.equal(wrong.status, 28)
  t.match(wrong.stdout, /<~\* 535 5\.7\.8 /)
  const unknown = await swaks('refused@sink.test', data, ...options, '--tls-ca-path', '/dev/null')
  t.not(unknown.status, 0)
  t.notMatch(unknown.stdout, /AUTH PLAIN [^L]/, 'no password left the client')
})

t.test('Bcc is removed; missing Date and Message-ID are added', { skip: swaksSkip }, async (t) => {
  const data = put('bare', `From: ${sender}\r\nBcc: bare@sink.test,\r\n other@sink.test\r\nSubject: bare\r\n\r\n.text`)
  await swaks('bare@sink.test', data, '--port', `${daemon.port}`, '--tls', '--auth', 'PLAIN')
  const { rest } = stripOurFields((await waitForArrival('bare@sink.test')).raw)
  t.match(
    rest.toString(),
    /^From: app@sender\.test\r\nSubject: bare\r\nDate: [^\r\n]+ \+0000\r\nMessage-ID: <[\w-]+@localhost>\r\n\r\n\.text\r\n$/,
  )
})

interface Submission {
  readonly to: string
  readonly message?: Buffer
  readonly tls?: 'starttls' | 'implicit'
  readonly ca?: string | null
  readonly key?: string | null
  readonly from?: string
  readonly mail_options?: readonly string[]
  readonly rcpt_options?: readonly string[]
}

async function smtplib(submissions: readonly Submission[]): Promise<readonly unknown[]> {
  const defaults = { tls: 'starttls', ca: caFile, key, from: sender, mail_options: [], rcpt_options: [] }
  const plans = submissions.map(({ message, ...given }) => {
    const port = given.tls === 'implicit' ? daemon.tlsPort : daemon.port
    return { ...defaults, ...given, port, message: (message ?? buildLetter(given)).toString('base64') }
  })
  const script = join('test', 'journeys', 'support', 'smtplib-client.py')
  const { stdout, stderr } = await runProgram([python, script], JSON.stringify(plans))
  if (stdout === '') throw new Error(stderr)
  return JSON.parse(stdout) as readonly unknown[]
}

t.test("Python's smtplib", { skip: skipWithoutModule([python, '-c', ''], 'python3') }, async (t) => {
  const utf8 = buildLetter({ to: 'jürgen@sink.test', fields: 'X-Words: Grüße aus Köln\r\n', bytes: false })
  const said = await smtplib([
    { to: 'py-starttls@sink.test' },
    { to: 'py-implicit@sink.test', tls: 'implicit', mail_options: ['body=8bitmime'] },
    {
      to: 'py-dsn@sink.test',
      mail_options: ['RET=HDRS', 'ENVID=order+2B42'],
      rcpt_options: ['NOTIFY=SUCCESS,DELAY', 'ORCPT=rfc822;first+3Done@sink.test'],
    },
    { to: 'jürgen@sink.test', message: utf8, mail_options: ['SMTPUTF8'] },
    { to: 'nobody@sink.test', ca: null },
    { to: 'nobody@sink.test', key: null },
    { to: 'nobody@sink.test', from: 'app@stranger.test' },
  ])
  t.strictSame(said.slice(0, 4), ['sent', 'sent', 'sent', 'sent'])
  t.equal(said[4], 'SSLCertVerificationError CERTIFICATE_VERIFY_FAILED')
  t.match(said[5], /^SMTPSenderRefused 530 5\.7\.0 /)
  t.match(said[6], /^SMTPSenderRefused 550 5\.7\.1 .*stranger\.test/)
  for (const to of ['py-starttls@sink.test', 'py-implicit@sink.test', 'py-dsn@sink.test']) {
    await expectArrival(t, to, buildLetter({ to }))
  }
  await expectArrival(t, 'jürgen@sink.test', utf8, 'UTF8SMTPSA')

  const dsn = await waitForArrival('py-dsn@sink.test')
  t.match(dsn.mailFrom, /^<bounce\+\w+@posthorn\.sender\.test> .*RET=HDRS ENVID=order\+2B42/)
  t.match(dsn.rcptTo[0], /^<py-dsn@sink\.test> NOTIFY=SUCCESS,DELAY ORCPT=rfc822;first\+3Done@sink\.test$/)
  t.match((await waitForArrival('py-implicit@sink.test')).mailFrom, / BODY=8BITMIME/)
  t.match((await waitForArrival('jürgen@sink.test')).mailFrom, / SMTPUTF8/)
})

t.test('msmtp', { skip: skipWithout('msmtp') }, async (t) => {
  for (const method of ['plain', 'login']) {
    const to = `msmtp-${method}@sink.test`
    const message = buildLetter({ to })
    const account = [
      ...['account default', 'host localhost', `port ${daemon.port}`, `from ${sender}`],
      ...['tls on', 'tls_starttls on', `tls_trust_file ${caFile}`],
      ...[`auth ${method}`, 'user app', `passwordeval cat ${put('password', `${key}\n`)}`, 'logfile -'],
    ]
    const file = put(`msmtprc-${method}`, `${account.join('\n')}\n`)
    const said = await runProgram(['msmtp', '-C', file, '--', to], Buffer.from(withLineFeeds(message)))
    t.equal(said.status, 0)
    t.match(said.stdout, /tls=on auth=on .*smtpstatus=250 .*exitcode=EX_OK/)
    await expectArrival(t, to, message)
  }
})

const root = process.getuid?.() === 0 ? false : 'only root can start Postfix'

t.test('a Postfix instance relays to it', { skip: root || skipWithout('postfix') }, async (t) => {
  const postfix = await startPostfix(t, { port: daemon.port, key, caFile })
  const relayed = async (t: Test, to: string, protocol: string): Promise<void> => {
    const message = buildLetter({ to })
    const said = await runProgram(
      ['sendmail', '-C', postfix.config, '-i', '-f', sender, to],
      Buffer.from(withLineFeeds(message)),
    )
    t.equal(said.status, 0)
    const { rest, protocol: came } = stripOurFields((await waitForArrival(to)).raw)
    t.equal(came, protocol)
    const trace = /^Received: by relay\.test \(Postfix, from userid 0\)\r\n(?:\t[^\r\n]+\r\n)+/.exec(
      rest.toString('latin1'),
    )
    t.equal(findDifference(rest.subarray(trace?.[0].length ?? 0), message), null, `${to} got the same bytes`)
    t.ok(trace, 'below the Received of Postfix')
  }
  await t.test('from a trusted network, without AUTH', (t) => relayed(t, 'plain@sink.test', 'ESMTP'))
  await t.test('with verified TLS and AUTH PLAIN', { skip: skipWithoutSasl() }, (t) =>
    relayed(t, 'tls@sink.test', 'ESMTPSA'),
  )
})

t.test("nodemailer's pool, with attachments", async (t) => {
  const transport = createTransport({
    pool: true,
    maxConnections: 2,
    host: 'localhost',
    port: daemon.port,
    requireTLS: true,
    tls: { ca: readFileSync(caFile, 'utf8') },
    auth: { user: 'app', pass: key },
  })
  t.teardown(() => transport.close())
  const numbers = [1, 2, 3, 4, 5, 6] as const
  const mails = numbers.map((number) => ({
    from: { name: 'Grüße', address: sender },
    to: `pool-${number}@sink.test`,
    date: new Date(1_795_000_000_000),
    messageId: `<pool-${number}@sender.test>`,
    baseBoundary: 'between-the-parts',
    subject: 'Rechnung für März ☂',
    text: '.\r\n..\r\nplain text\r\n',
    html: `<p>${'ä '.repeat(2000)}</p>`,
    attachments: [
      { filename: 'Übersicht.bin', content: Buffer.from(Array.from({ length: 70_000 }, (_, at) => (at * 7919) % 256)) },
      { filename: 'note.txt', content: '.\r\nnote' },
    ],
  }))
  const sent = await Promise.all(mails.map((mail) => transport.sendMail(mail)))
  for (const { response } of sent) t.match(response, /^250 2\.0\.0 Ok: queued as /)
  for (const mail of mails) await expectArrival(t, mail.to, await new MailComposer(mail).compile().build())
})

/** As a program on this machine gives it to sendmail. */
function withLineFeeds(message: Buffer): Buffer {
  return Buffer.from(message.toString('latin1').replaceAll('\r\n', '\n'), 'latin1')
}

t.test('the daemon logged no error', async (t) => {
  t.strictSame(
    daemon.log.filter(({ level, msg }) => Number(level) >= 40 && msg !== 'a login failed'),
    [],
  )
})

t.test(
  'python3-dkim verifies all messages',
  { skip: skipWithoutModule([python, '-c', 'import dkim'], 'python3-dkim') },
  async (t) => {
    const questions = sink.messages.map(({ raw }) =>
      JSON.stringify({ raw: raw.toString('base64'), record: installed.dkimRecord }),
    )
    const { stdout } = await runProgram(
      [python, join('test', 'fixtures', 'dkim-verify.py')],
      `${questions.join('\n')}\n`,
    )
    t.ok(questions.length >= 6, `${questions.length} messages`)
    t.equal(stdout, 'true\n'.repeat(questions.length))
  },
)

t.test('OpenDKIM verifies all messages', { skip: skipWithout('opendkim') }, async (t) => {
  const files = sink.messages.map(({ raw }, at) => put(`${at}.eml`, raw))
  const keys = put('keys', `dkim1._domainkey.sender.test ${installed.dkimRecord}\n`)
  const conf = put('opendkim.conf', `Mode v\nSyslog no\nTestPublicKeys ${keys}\n`)
  const { stdout, stderr } = await runProgram(['opendkim', '-v', '-x', conf, '-t', files.join()])
  t.equal(stdout.match(/ succeeded$/gm)?.length, files.length, stderr)
})
