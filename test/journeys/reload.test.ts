/** An operator changes the configuration of a running daemon: what is in force at once, and what needs a restart. */
import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { databaseFile } from '../../src/base/storage/open.js'
import { SystemdNotices } from '../../src/operations/cli/command/systemd-notices.js'
import { upgradeAtStart } from '../../src/operations/upkeep/database-upgrade.js'
import { laterMigrations } from '../helpers/database/later-migrations.js'
import { unpackFixture } from '../helpers/database/schema-fixtures.js'
import { skipWithout } from '../helpers/programs/skip-without.js'
import { openSink } from '../helpers/smtp/scripted-sink.js'
import { waitUntil } from '../helpers/wait-until.js'
import {
  createInstallation,
  createReadyInstallation,
  type Installation,
  type LogLine,
  runForJson,
  runInProcess,
  serve,
} from './support/program.js'
import { openSession, submit } from './support/submit.js'

function rewrite({ file }: Installation, ...changes: readonly (readonly [from: string, to: string])[]): void {
  let text = readFileSync(file, 'utf8')
  for (const [from, to] of changes) {
    if (!text.includes(from)) throw new Error(`${from} is not in the configuration`)
    text = text.replace(from, to)
  }
  writeFileSync(file, text)
}

t.test('limits, routes and levels change under an open session', async (t) => {
  const [first, second] = [await openSink(), await openSink()]
  t.teardown(() => Promise.all([first.close(), second.close()]))
  const where = await createReadyInstallation(t, first.port, '127.0.0.0/8')
  const daemon = await serve(t, where)
  const session = await openSession(daemon.port)
  t.teardown(() => session.end())
  t.match(await submit(session, 'one@sink.test'), /^250/)
  await waitUntil('the first message', () => first.messages.length === 1)

  rewrite(
    where,
    [`127.0.0.1:${first.port}`, `127.0.0.1:${second.port}`],
    ['[inbound]', 'max_recipients = 2\nmax_size = "1MB"\n[inbound]\nmax_size = "2MB"'],
    [
      '[outbound]',
      '[ui]\nenabled = false\n[metrics]\nlisten = ["127.0.0.1:0"]\n[doctor]\ndaily = false\n[log]\nlevels = { delivery = "debug", smtp = "error" }\n[outbound]',
    ],
  )
  t.same(await runForJson(where, 'reload'), {
    ok: true,
    applied: [
      ...['submission.max_size', 'submission.max_recipients', 'inbound.max_size', 'outbound.routes', 'doctor.daily'],
      'log.levels',
    ],
    pending: ['metrics.listen', 'ui.enabled'],
    problems: [],
  })
  const linesBefore = daemon.log.length
  await session.send('MAIL FROM:<app@sender.test>\r\n')
  t.match(await session.readReply(), /^250/, 'the session goes on')
  await session.send('RCPT TO:<a@sink.test>\r\nRCPT TO:<b@sink.test>\r\nRCPT TO:<c@sink.test>\r\nRSET\r\n')
  t.match(
    await session.readReplies(4),
    [/^250/, /^250/, /^452 4\.5\.3/, /^250/],
    'the new limit holds for its next command',
  )
  t.match(await session.sendCommand('EHLO client.test'), /SIZE 1048576/)
  t.match(await submit(session, 'two@sink.test'), /^250/)
  await waitUntil('the second message', () => second.messages.length === 1)
  t.equal(first.messages.length, 1, 'the next attempt takes the new route')
  const mx = await openSession(daemon.mxPort)
  t.teardown(() => mx.end())
  t.match(await mx.sendCommand('EHLO other.test'), /SIZE 2097152/)
  await daemon.waitForLog(({ recipient }) => recipient === 'two@sink.test')
  t.notOk(
    daemon.log.slice(linesBefore).some(({ msg }) => String(msg).startsWith('a submission')),
    'lines of the room smtp are left out',
  )

  t.match(await runInProcess(where, 'reload'), {
    status: 0,
    stdout: 'reloaded: no change is in force yet\nthese need a restart:\n  metrics.listen\n  ui.enabled\n',
  })
})

t.test('what cannot be used changes nothing, and the command says why', async (t) => {
  const where = createInstallation(t, 1)
  const idle = await runInProcess(where, 'reload')
  t.match(idle, { status: 1, stderr: /no daemon uses the data folder/ })
  const daemon = await serve(t, where)
  rewrite(where, [
    '[outbound]',
    '[tls]\ncert_file = "absent.pem"\nkey_file = "absent.key"\n[limits]\ninvitations_per_day = 5\n[outbound]',
  ])
  const refused = await runForJson(where, 'reload')
  t.match(refused, { ok: false, applied: [], pending: [], problems: [{ key: 'tls', message: /absent\.pem/ }] })
  t.match(await runInProcess(where, 'reload'), {
    status: 1,
    stdout: /^not reloaded:\n {2}tls: .*absent\.pem.*\nthe daemon goes on with the settings that it has\n$/,
  })
  rewrite(where, ['invitations_per_day = 5', 'invitations_per_day = "five"'])
  t.match(await runInProcess(where, 'reload'), { status: 1, stderr: /limits\.invitations_per_day: found "five"/ })
  daemon.signal('SIGHUP')
  await daemon.waitForLog(({ msg }) => msg === 'not reloaded: the configuration has problems')
  rewrite(
    where,
    ['invitations_per_day = "five"', 'invitations_per_day = 5'],
    ['cert_file = "absent.pem"', ''],
    ['key_file = "absent.key"', ''],
  )
  t.match(await runForJson(where, 'reload'), { ok: true, applied: ['limits.invitations_per_day'] })
  daemon.signal('SIGTERM')
  t.equal(await daemon.ended, 0)
  t.match(
    await runInProcess(where, 'reload'),
    { status: 1, stderr: /no daemon/ },
    'the report of a daemon that ended is of no use',
  )
})

t.test('a disk that takes no report ends neither a start nor a reload', async (t) => {
  const where = createInstallation(t, 1)
  // In the place of the file that the report is written to.
  mkdirSync(join(where.dataDir, 'reload.json.new'), { recursive: true })
  const daemon = await serve(t, where)
  rewrite(where, ['[outbound]', '[limits]\ninvitations_per_day = 5\n[outbound]'])
  daemon.signal('SIGHUP')
  t.match(await daemon.waitForLog(({ msg }) => msg === 'reloaded'), { settings: ['limits.invitations_per_day'] })
  const isLost = ({ msg }: LogLine): boolean => msg === 'the report for "posthorn reload" cannot be written'
  await waitUntil('the line about each report', () => daemon.log.filter(isLost).length === 2)
  daemon.signal('SIGTERM')
  t.equal(await daemon.ended, 0)
})

t.test('a daemon that stops does not reload', async (t) => {
  const daemon = await serve(t, createInstallation(t, 1))
  daemon.signal('SIGTERM')
  await daemon.waitForLog(({ msg }) => msg === 'stopping')
  daemon.signal('SIGHUP')
  // The stop takes some milliseconds. A signal that comes when Node.js has taken its handlers away ends the process, which systemd
  // counts as a clean end.
  t.ok([0, 'SIGHUP'].includes((await daemon.ended) ?? ''))
  t.notOk(daemon.log.some(({ msg }) => String(msg).includes('reloaded')))
})

const receiver = `import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
print('bound', flush=True)
while True:
    print(s.recv(4096).decode().strip().replace('\\n', ' '), flush=True)`

interface Systemd {
  readonly path: string
  /** Each datagram, its lines joined by a space. */
  readonly said: readonly string[]
  readonly hear: (what: RegExp) => Promise<string>
}

/** A datagram socket that stands for systemd's. */
async function openSystemd(t: Test, { folder }: Installation): Promise<Systemd> {
  const path = join(folder, 'notify')
  const systemd = spawn('python3', ['-c', receiver, path], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => systemd.kill())
  const said: string[] = []
  createInterface(systemd.stdout).on('line', (line) => said.push(line))
  const hear: Systemd['hear'] = (what) => waitUntil(String(what), () => said.find((line) => what.test(line)))
  await hear(/^bound$/)
  return { path, said, hear }
}

t.test('systemd learns what the daemon does', { skip: skipWithout('python3') }, async (t) => {
  const where = createInstallation(t, 1)
  const { path, said, hear } = await openSystemd(t, where)
  const daemon = await serve(t, where, { under: ['env', `NOTIFY_SOCKET=${path}`, 'WATCHDOG_USEC=400000'] })
  await hear(/^READY=1 STATUS=submission on 127\.0\.0\.1:\d+/)
  await waitUntil('beats of the watchdog', () => said.filter((line) => line === 'WATCHDOG=1').length >= 3)
  const beforeReload = said.length
  rewrite(where, ['[outbound]', '[ui]\nenabled = false\n[outbound]'])
  t.match(await runForJson(where, 'reload'), { ok: true })
  await waitUntil('the end of the reload', () => said.slice(beforeReload).some((line) => line.startsWith('READY=1')))
  t.match(
    said.slice(beforeReload).filter((line) => line !== 'WATCHDOG=1'),
    [/^RELOADING=1 MONOTONIC_USEC=\d+$/, /^READY=1 STATUS=restart needed for ui\.enabled; submission on /],
  )
  daemon.signal('SIGTERM')
  await hear(/^STOPPING=1 STATUS=stopping$/)
  t.equal(await daemon.ended, 0)
})

t.test('systemd waits for the upgrade of a database', { skip: skipWithout('python3') }, async (t) => {
  const where = createInstallation(t, 1)
  unpackFixture('0001', databaseFile(where.dataDir))
  const { path, said, hear } = await openSystemd(t, where)
  const notices = new SystemdNotices({ NOTIFY_SOCKET: path }, { warn: (line: unknown) => t.fail(String(line)) })
  const upgrade = {
    keepCopy: false,
    onProgress: (status: string) => notices.notifyUpgrading(status),
    migrations: laterMigrations,
  }
  await upgradeAtStart(where.dataDir, pino({ level: 'silent' }), upgrade)
  notices.notifyStopping()
  await hear(/^STOPPING=1 /)
  const [, ...upgrading] = said.slice(0, -1)
  t.not(upgrading.length, 0)
  for (const line of upgrading)
    t.match(line, /^EXTEND_TIMEOUT_USEC=60000000 STATUS=upgrading the database: \w/, 'it needs more time')
  notices.close()
})
