/** sendmail with a real daemon, and without one: what is sent, spooled and refused, with its exit status. */

import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, linkSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { MailSpool } from '../../../src/operations/sendmail/mail-spool.js'
import { type TestDaemon, testDaemon } from '../../helpers/daemon/test-daemon.js'
import { temporaryFolder } from '../../helpers/database/database.js'
import { freePort } from '../../helpers/free-port.js'
import { openSink } from '../../helpers/smtp/scripted-sink.js'
import { type ProgramResult, waitForExit } from '../../journeys/support/program.js'

const program = fileURLToPath(new URL('../../../src/operations/sendmail/main.js', import.meta.url))

interface Machine {
  readonly spool: string
  readonly sendmail: (argv: readonly string[], input?: string) => Promise<ProgramResult>
  readonly configure: (settings: string) => void
}

function openMachine(t: Test): Machine {
  const folder = temporaryFolder(t)
  const file = join(folder, 'sendmail.toml')
  const env = { PATH: process.env['PATH'], XDG_STATE_HOME: folder, POSTHORN_SENDMAIL_CONFIG: file }
  return {
    spool: join(folder, 'posthorn-sendmail'),
    configure: (settings) => writeFileSync(file, settings),
    sendmail: (argv, input = '') => {
      const child = spawn(process.execPath, [program, ...argv], { env })
      child.stdin.on('error', () => undefined)
      child.stdin.end(input)
      return waitForExit(child)
    },
  }
}

async function settingsFor(t: Test, app: TestDaemon): Promise<string> {
  const made = await app.rest('POST', '/v1/api-keys', { body: { name: 'host', sender: 'host1@a.test' } })
  const keyFile = join(temporaryFolder(t), 'key')
  writeFileSync(keyFile, made.json<{ key: string }>().key)
  const port = app.daemon.submission.find(({ tls }) => !tls)?.port ?? 0
  return `server = "127.0.0.1:${port}"\nkey_file = "${keyFile}"\n`
}

const letter = 'Subject: s\nTo: bob@b.test\n\nhello\n'

t.test('the server accepts the mail of cron, PHP, git and mailx', async (t) => {
  const sink = await openSink()
  t.teardown(() => sink.close())
  const app = await testDaemon(t, { routes: { 'b.test': sink } })
  const machine = openMachine(t)
  machine.configure(await settingsFor(t, app))
  const calls: readonly (readonly [argv: readonly string[], input: string])[] = [
    [['-FCronDaemon', '-i', '-B8BITMIME', '-oem', 'cron@b.test'], 'From: root (Cron Daemon)\nTo: root\n\nout\n'],
    [['-t', '-i'], 'To: php@b.test\nSubject: s\nBcc: blind@b.test\n\nhello\n'],
    [['-i', '-f', 'app@a.test', 'git@b.test'], 'From: app@a.test\nTo: git@b.test\n\n.\npatch\n'],
    [['-i', '--', 'mailx@b.test'], 'it works\n'],
  ]
  for (const [argv, input] of calls) t.same(await machine.sendmail(argv, input), { status: 0, stdout: '', stderr: '' })
  await sink.waitUntil(() => sink.messages.length === 5)
  const sent = (to: string): string =>
    sink.messages.find(({ rcptTo }) => rcptTo[0]?.startsWith(`<${to}>`))?.raw.toString() ?? ''
  t.match(sent('cron@b.test'), /^From: Cron ?Daemon <host1@a\.test>\r$/m)
  t.match(sent('php@b.test'), /^To: php@b\.test\r$/m)
  t.match(sent('blind@b.test'), /^(?![\s\S]*\nBcc:)[\s\S]*hello/)
  t.match(sent('git@b.test'), /^From: app@a\.test\r\n[\s\S]*\r\n\r\n\.\r\npatch\r\n$/m)
  t.match(sent('mailx@b.test'), /\r\n\r\nit works\r\n$/)
  t.same(app.errors, [])
})

t.test('while the server is away, messages wait in the spool for the next call', async (t) => {
  const machine = openMachine(t)
  machine.configure(`server = "127.0.0.1:${await freePort()}"\n`)
  t.same(await machine.sendmail(['one@b.test'], letter), { status: 0, stdout: '', stderr: '' })
  t.equal(readdirSync(machine.spool).length, 1)
  t.match(await machine.sendmail(['-bp']), { status: 0, stdout: / <\S+> one@b\.test\n$/ })
  t.match(await machine.sendmail(['-q']), { status: 75, stderr: /stays in the spool/ })
  const sink = await openSink()
  t.teardown(() => sink.close())
  const app = await testDaemon(t, { routes: { 'b.test': sink } })
  machine.configure(await settingsFor(t, app))
  t.equal((await machine.sendmail(['two@b.test'], letter)).status, 0)
  t.same(readdirSync(machine.spool), [])
  await sink.waitUntil(() => sink.messages.length === 2)
})

t.test('a message that was sent and stayed in the spool is not sent twice', async (t) => {
  const sink = await openSink()
  t.teardown(() => sink.close())
  const app = await testDaemon(t, { routes: { 'b.test': sink } })
  const machine = openMachine(t)
  machine.configure(`server = "127.0.0.1:${await freePort()}"\n`)
  await machine.sendmail(['one@b.test'], letter)
  const [name = ''] = readdirSync(machine.spool)
  const copy = readFileSync(join(machine.spool, name))
  machine.configure(await settingsFor(t, app))
  t.equal((await machine.sendmail(['-q'])).status, 0)
  writeFileSync(join(machine.spool, name), copy)
  t.equal((await machine.sendmail(['-q'])).status, 0)
  t.equal((await app.rows('select id from emails')).length, 1)
})

t.test('what cannot be sent or spooled has its exit status', async (t) => {
  const app = await testDaemon(t)
  const machine = openMachine(t)
  const settings = await settingsFor(t, app)
  machine.configure(settings)
  t.match(await machine.sendmail(['-bs']), { status: 64, stderr: /^sendmail: -bs is not supported/ })
  t.match(await machine.sendmail(['-t'], 'Subject: s\n\n'), { status: 64, stderr: /no recipients/ })
  t.match(await machine.sendmail(['a b'], letter), { status: 67 })
  t.match(await machine.sendmail(['x@b.test'], 'Subject: s\n\n\0\n'), { status: 65, stderr: /5\.6\.11/ })
  machine.configure(settings.replace(/key_file.*/, ''))
  t.match(await machine.sendmail(['x@b.test'], letter), { status: 77, stderr: /530/ })
  machine.configure('server = 1')
  t.match(await machine.sendmail(['x@b.test'], letter), { status: 78 })
  machine.configure(`server = "127.0.0.1:${await freePort()}"\n`)
  writeFileSync(machine.spool, 'no folder')
  t.match(await machine.sendmail(['x@b.test'], letter), { status: 75, stderr: /cannot be spooled/ })
})

t.test('more recipients than the server takes at once all get the message, and once', async (t) => {
  const sink = await openSink({ script: { rcpt: refuseFrom(100) } })
  t.teardown(() => sink.close())
  const machine = openMachine(t)
  machine.configure(`server = "127.0.0.1:${sink.port}"\n`)
  const recipients = Array.from({ length: 250 }, (_, number) => `to${number}@b.test`)
  t.same(await machine.sendmail(['-i', ...recipients], letter), { status: 0, stdout: '', stderr: '' })
  t.same(
    sink.messages.flatMap(({ rcptTo }) => rcptTo),
    recipients.map((recipient) => `<${recipient}>`),
  )
  t.same(
    sink.messages.map(({ rcptTo }) => rcptTo.length),
    [100, 100, 50],
  )
  const keys = sink.messages.map(({ raw }) => raw.toString().match(/^X-Service-Idempotency-Key: .+$/gm))
  t.equal(new Set(keys.map(String)).size, 3, 'each transaction has its own key')
  t.ok(keys.every((found) => found?.length === 1))
})

/** A server that takes a number of recipients in a transaction. */
function refuseFrom(limit: number): (question: { connection: number }) => string {
  const counts = new Map<number, number>()
  return ({ connection }) => {
    const count = (counts.get(connection) ?? 0) + 1
    counts.set(connection, count)
    return count > limit ? '452 4.5.3 too many recipients' : '250 ok'
  }
}

t.test(
  'a recipient for later waits in the spool, an unknown one is named, and the others get the message',
  async (t) => {
    const answers = new Map([
      ['later@b.test', '450 4.2.1 later'],
      ['none@b.test', '550 5.1.1 unknown'],
    ])
    const rcpt = ({ line }: { line: string }): string => answers.get(/<(.+?)>/.exec(line)?.[1] ?? '') ?? '250 ok'
    const sink = await openSink({ script: { rcpt } })
    t.teardown(() => sink.close())
    const machine = openMachine(t)
    machine.configure(`server = "127.0.0.1:${sink.port}"\n`)
    const first = await machine.sendmail(['one@b.test', 'later@b.test', 'none@b.test'], letter)
    t.match(first, { status: 67, stderr: /^sendmail: .*550 5\.1\.1 unknown\n$/ })
    t.match(await machine.sendmail(['-bp']), { stdout: /^\S+ <\S+> later@b\.test\n$/ })
    t.match(await machine.sendmail(['-q']), { status: 75, stderr: /stays in the spool: .*450/ })
    answers.delete('later@b.test')
    t.match(await machine.sendmail(['-q']), { status: 0 })
    t.same(readdirSync(machine.spool), [])
    t.same(
      sink.messages.map(({ rcptTo }) => rcptTo),
      [['<one@b.test>'], ['<later@b.test>']],
    )
  },
)

t.test('the spool reads neither links nor broken files, and keeps what was refused', async (t) => {
  const folder = temporaryFolder(t)
  const spool = new MailSpool(folder, true)
  spool.add({ sender: '', recipients: ['a@b.test'], raw: Buffer.from('x: y\r\n') }, 1)
  spool.add({ sender: 'c@d.test', recipients: ['a@b.test'], raw: Buffer.from('x: z\r\n') }, 2)
  const [first = '', second = ''] = readdirSync(folder)
  symlinkSync(join(folder, first), join(folder, '0.mail'))
  linkSync(join(folder, second), join(folder, 'z'))
  writeFileSync(join(folder, '1.mail'), 'no envelope\n')
  writeFileSync(join(folder, '2.mail'), '{"sender":"x","recipients":[1]}\n')
  writeFileSync(join(folder, '3.mail'), '{"sender":"x@d.test","recipients":["a\\u001b[2J@b.test"]}\n')
  writeFileSync(join(folder, '4.mail'), '{"sender":"x@d.test","recipients":[]}\n')
  writeFileSync(join(folder, 'a\u001b[2J.mail'), '{"sender":"x@d.test","recipients":["a@b.test"]}\n')
  spawnSync('mkfifo', [join(folder, '5.mail')])
  mkdirSync(join(folder, '6.mail'))
  const found = [...spool.messages()]
  t.same(found, [
    { id: first.slice(0, -5), message: { sender: '', recipients: ['a@b.test'], raw: Buffer.from('x: y\r\n') } },
  ])
  spool.setAside(found[0]?.id ?? '')
  t.same([...spool.messages()], [])
  chmodSync(folder, 0o700)
  t.ok(readdirSync(folder).some((name) => name.endsWith('.refused')))
})
