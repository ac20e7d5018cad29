/** An operator and a running daemon: reloads, a host name of one label, and a disk that fills up, as the log shows them. */
import { execFileSync } from 'node:child_process'
import { readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { connect } from 'node:tls'
import t, { type Test } from 'tap'
import { Agent, request } from 'undici'
import { createSelfSigned } from '../helpers/certificates.js'
import { temporaryFolder } from '../helpers/database/database.js'
import { dial } from '../helpers/smtp/smtp-dialogue.js'
import { configure, createInstallation, type LogLine, runInProcess, serve } from './support/program.js'

const error = 50

/** The common name of the certificate that is served at a port with TLS from the start. */
function servedName(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false }, () => {
      resolve(String(socket.getPeerCertificate().subject.CN))
      socket.destroy()
    })
    socket.once('error', reject)
  })
}

t.test('SIGHUP reloads the certificate and the log level; sessions continue', async (t) => {
  const where = createInstallation(t, 1)
  const [certFile, keyFile] = [join(where.folder, 'cert.pem'), join(where.folder, 'key.pem')]
  const install = async (name: string): Promise<void> => {
    const { cert, key } = await createSelfSigned([name])
    for (const [file, text] of [
      [certFile, cert],
      [keyFile, key],
    ] as const) {
      writeFileSync(`${file}.new`, text)
      renameSync(`${file}.new`, file)
    }
  }
  const write = (level: string, more = ''): void =>
    configure(where, 1, `[tls]\ncert_file = "cert.pem"\nkey_file = "key.pem"\n[log]\nlevel = "${level}"\n${more}`)
  await install('first.test')
  write('info')
  const daemon = await serve(t, where)
  const session = await dial(daemon.port)
  t.teardown(() => session.end())
  await session.readReply()
  t.match(await session.sendCommand('EHLO app.test'), /STARTTLS/)
  t.equal(await servedName(daemon.tlsPort), 'first.test')

  await install('second.test')
  write('debug', '[ui]\nenabled = false\n')
  daemon.signal('SIGHUP')
  const reloaded = await daemon.waitForLog(({ msg }) => msg === 'reloaded')
  t.match(reloaded, { level: 30, certificate: certFile, certificate_until: /^2099-01-01T/ })
  const later = await daemon.waitForLog(({ msg }) => String(msg).endsWith('take effect at the next start'))
  t.same(later['settings'], ['ui.enabled'])
  for (const port of [daemon.tlsPort, daemon.apiPort]) t.equal(await servedName(port), 'second.test')
  t.match(await session.sendCommand('NOOP'), /^250/, 'the session of before goes on')
  t.match(await session.sendCommand('STARTTLS'), /^220/)
  await session.startTls()
  t.match(await session.sendCommand('EHLO app.test'), /AUTH/)
  const agent = new Agent({ connect: { rejectUnauthorized: false } })
  t.teardown(() => agent.destroy())
  await (await request(`https://127.0.0.1:${daemon.apiPort}/readyz`, { dispatcher: agent })).body.dump()
  t.ok(await daemon.waitForLog(({ level }) => level === 20), 'lines for debugging are written from now on')

  writeFileSync(keyFile, 'no key')
  daemon.signal('SIGHUP')
  t.match(await daemon.waitForLog(({ msg }) => String(msg).startsWith('not reloaded: the certificate')), {
    level: error,
  })
  t.equal(await servedName(daemon.tlsPort), 'second.test', 'the certificate of before is served on')
  writeFileSync(where.file, 'nonsense')
  daemon.signal('SIGHUP')
  const refused = await daemon.waitForLog(({ msg }) => String(msg).startsWith('not reloaded: the configuration'))
  t.match(refused, { level: error, problems: /posthorn\.toml: line 1/ })
  t.equal(await servedName(daemon.tlsPort), 'second.test')
  daemon.signal('SIGTERM')
  t.equal(await daemon.ended, 0)
})

t.test('a daemon whose host name has one label starts, and warns if others reach it', async (t) => {
  const where = createInstallation(t, 1, '[metrics]\nlisten = ["0.0.0.0:0"]')
  const daemon = await serve(t, where)
  const named = (line: LogLine): boolean => String(line['msg']).startsWith('a name of this server has one label')
  t.match(daemon.log.filter(named), [
    {
      level: 40,
      setting: 'service.hostname',
      reason: /^found "localhost".*metrics\.listen\[0\].*; allowed: a full name/,
    },
  ])
  t.match(await runInProcess(where, 'check'), { status: 1, stdout: /service\.hostname: found "localhost"/ })
  daemon.signal('SIGTERM')
  t.equal(await daemon.ended, 0)

  configure(where, 1)
  const local = await serve(t, where)
  t.same(local.log.filter(named), [], 'on loopback any name will do')
  local.signal('SIGTERM')
  await local.ended
})

t.test('check warns of a change of the host name that would change the zone to which customers point', async (t) => {
  const named = (name: string, zone = ''): string => `[service]\nhostname = "${name}"\ndata_dir = "data"\n${zone}`
  const where = createInstallation(t, 1)
  const written = readFileSync(where.file, 'utf8').replace(/^\[service\]\n(?:(?!\[).*\n)*/m, '')
  const write = (service: string): void => writeFileSync(where.file, `${service}\n${written}`)
  write(named('mail.old.test'))
  t.match(await runInProcess(where, 'check'), { status: 0, stderr: '' }, 'there was no daemon yet')
  const daemon = await serve(t, where)
  daemon.signal('SIGTERM')
  await daemon.ended
  t.match(await runInProcess(where, 'check'), { status: 0, stderr: '' })
  write(named('mail.new.test'))
  t.match(await runInProcess(where, 'check'), {
    status: 0,
    stderr: /warning: service\.zone: changes from "mail\.old\.test" to "mail\.new\.test".*set zone = "mail\.old\.test"/,
  })
  write(named('mail.new.test', 'zone = "mail.old.test"\n'))
  t.match(await runInProcess(where, 'check'), { status: 0, stderr: '' })
})

/** A file system of its own, a little over the gigabyte that must be free. Null: it is not available here. */
function smallDisk(t: Test): string | null {
  const path = temporaryFolder(t)
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1060m,mode=0700', 'tmpfs', path], { stdio: 'pipe' })
  } catch {
    return null
  }
  t.teardown(() => execFileSync('umount', ['--lazy', path]))
  return path
}

const disk = smallDisk(t)
const unmountable = disk === null && 'needs the right to mount a tmpfs'

t.test('a disk that fills up is reported: in the log, by /readyz and by check', { skip: unmountable }, async (t) => {
  const where = { ...createInstallation(t, 1), dataDir: join(String(disk), 'data') }
  configure(where, 1)
  const daemon = await serve(t, where)
  const agent = new Agent({ connect: { rejectUnauthorized: false } })
  t.teardown(() => agent.destroy())
  const ready = async (): Promise<LogLine> => {
    const { statusCode: status, body } = await request(`https://127.0.0.1:${daemon.apiPort}/readyz`, {
      dispatcher: agent,
    })
    return { status, body: await body.json() }
  }
  t.match(await ready(), { status: 200 })
  const ballast = join(String(disk), 'ballast')
  execFileSync('fallocate', ['--length', '64MiB', ballast])
  const full = await daemon.waitForLog(({ msg }) => String(msg).startsWith('the disk is nearly full'))
  t.match(full, { level: error, data_dir: where.dataDir, free: Number, total: Number })
  t.match(await ready(), { status: 503, body: { error: { message: /^the disk is nearly full/ } } })
  const session = await dial(daemon.mxPort)
  t.teardown(() => session.end())
  await session.readReply()
  await session.sendCommand('EHLO mx.test')
  t.match(await session.sendCommand('MAIL FROM:<a@b.test>'), /^45[12] 4\.3\.1/)
  const problem = { key: 'service.data_dir', message: /nearly full.*bytes are free/ }
  t.match(JSON.parse((await runInProcess(where, 'check', '--json')).stdout), { ok: false, problems: [problem] })
  t.equal(daemon.log.filter(({ level }) => level === error).length, 1, 'one line, though it is looked at every second')

  truncateSync(ballast, 0)
  rmSync(ballast)
  t.match(await daemon.waitForLog(({ msg }) => String(msg).startsWith('the disk has room again')), { level: error })
  t.match(await ready(), { status: 200 })
  t.match(await runInProcess(where, 'check'), { status: 0 })
})
