/**
 * Hosts that relay: Postfix, Exim, OpenSMTPD, msmtp and nullmailer hand over what programs of such a host write, from root at a
 * name that nobody can verify. The mail arrives, and so do the bounces of the hosts themselves.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { temporaryFolder } from '../helpers/database/database.js'
import { eximSatellite, skipWithoutExim } from '../helpers/programs/exim.js'
import { sendByNullmailer, skipWithoutNullmailer } from '../helpers/programs/nullmailer.js'
import { skipWithoutOpenSmtpd, startOpenSmtpd } from '../helpers/programs/opensmtpd.js'
import { type RelayTarget, startPostfixSatellite } from '../helpers/programs/postfix.js'
import { runProgram, skipWithoutSasl } from '../helpers/programs/run-program.js'
import { skipWithout } from '../helpers/programs/skip-without.js'
import { openSink } from '../helpers/smtp/scripted-sink.js'
import { createReadyInstallation, runForJson, serve } from './support/program.js'

const sink = await openSink()
t.teardown(() => sink.close())
const installed = await createReadyInstallation(t, sink.port, '192.0.2.1/32')
const made = await runForJson(installed, 'key', 'create', '--name', 'host', '--sender', 'host1@sender.test')
const daemon = await serve(t, installed)
const caFile = join(installed.dataDir, 'tls', 'cert.pem')
const target: RelayTarget = { port: daemon.port, key: String(made['key']), caFile }
const rootOnly = process.getuid?.() === 0 ? false : 'it can only be started by root'

const cron = (to: string): string => `From: root (Cron Daemon)\nTo: ${to}\nSubject: Cron\n\n${'word '.repeat(300)}\n`
/** Posthorn refuses this field, so the host makes a bounce. */
const refused = 'From: root@host.lan\nX-Service-Tag: alone\nSubject: refused\n\ntext\n'

async function waitForMail(to: string): Promise<string> {
  const found = () => sink.messages.find(({ rcptTo }) => rcptTo[0]?.startsWith(`<${to}>`))
  await sink.waitUntil(() => found() !== undefined)
  return found()?.raw.toString() ?? ''
}

t.test('Postfix', { skip: skipWithout('postfix') || skipWithoutSasl() || rootOnly }, async (t) => {
  const { config } = await startPostfixSatellite(t, target)
  const send = (from: string, to: string, message: string) =>
    runProgram(['sendmail', '-C', config, '-i', '-f', from, to], message)
  t.equal((await send('root@host.lan', 'postfix@sink.test', cron('postfix@sink.test'))).status, 0)
  const mail = await waitForMail('postfix@sink.test')
  t.match(mail, /^From: Cron Daemon <host1@sender\.test>\r\nReply-To: Cron Daemon <root@relay\.test>\r$/m)
  t.equal((await send('postfix-owner@sink.test', 'nobody@sink.test', refused)).status, 0)
  const bounce = await waitForMail('postfix-owner@sink.test')
  t.match(bounce, /^From: Mail Delivery System <host1@sender\.test>\r$/m)
  t.match(bounce, /X-Service-Tag: found "alone"/)
})

t.test('Exim', { skip: skipWithoutExim() }, async (t) => {
  const exim = eximSatellite(t, target)
  t.equal((await exim.deliver('root@host.lan', 'exim@sink.test', cron('exim@sink.test'))).status, 0, exim.log())
  t.match(await waitForMail('exim@sink.test'), /^From: (?:Cron Daemon )?<?host1@sender\.test>?\r$/m)
  await exim.deliver('exim-owner@sink.test', 'nobody@sink.test', refused)
  t.match(await waitForMail('exim-owner@sink.test'), /^From: Mail Delivery System <host1@sender\.test>\r$/m)
})

t.test('OpenSMTPD', { skip: skipWithoutOpenSmtpd() }, async (t) => {
  const { send, log } = await startOpenSmtpd(t, target)
  const to = 'opensmtpd@sink.test'
  t.match(await send('root@host.lan', to, cron(to)), { status: 0 })
  t.match(await waitForMail(to), /^From: Cron Daemon <host1@sender\.test>\r$/m, log.join('\n'))
  t.match(await send('opensmtpd-owner@sink.test', 'nobody@sink.test', refused), { status: 0 })
  const bounce = await waitForMail('opensmtpd-owner@sink.test')
  t.match(bounce, /^From: Mailer Daemon <host1@sender\.test>\r$/m)
  t.match(bounce, /X-Service-Tag: found "alone"/)
})

t.test('msmtp', { skip: skipWithout('msmtp') }, async (t) => {
  const file = join(temporaryFolder(t), 'msmtprc')
  const words = ['defaults', 'auth plain', 'tls on', `tls_trust_file ${caFile}`, 'account default', 'host localhost']
  words.push(`port ${target.port}`, 'user app', `password ${target.key}`, 'from root@host.lan')
  writeFileSync(file, `${words.join('\n')}\n`, { mode: 0o600 })
  const said = await runProgram(['msmtp', '-C', file, '-i', 'msmtp@sink.test'], cron('msmtp@sink.test'))
  t.match(said, { status: 0 }, said.stderr)
  t.match(await waitForMail('msmtp@sink.test'), /^From: Cron Daemon <host1@sender\.test>\r$/m)
})

t.test('nullmailer', { skip: skipWithoutNullmailer() }, async (t) => {
  const to = 'nullmailer@sink.test'
  const said = await sendByNullmailer(t, target, ['root@host.lan', to], cron(to))
  t.match(said, { status: 0 }, said.stdout + said.stderr)
  t.match(await waitForMail(to), /^From: Cron Daemon <host1@sender\.test>\r$/m)
})
