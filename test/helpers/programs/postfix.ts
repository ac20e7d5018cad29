/**
 * A Postfix instance below a folder that relays to Posthorn; the machine's is not touched.
 *
 * To the submission port: mail for `…@sink.test` goes over plain SMTP from 127.0.0.2, without AUTH; mail for
 * tls@sink.test over verified TLS with AUTH PLAIN. To the MX port all goes from 127.0.0.2 over STARTTLS with a
 * verified certificate, or not at all. Only root can start it.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Test } from 'tap'
import { temporaryFolder } from '../database/database.js'
import { runProgram } from './run-program.js'

export interface RelayTarget {
  readonly port: number
  readonly key: string
  readonly caFile: string
}

interface Postfix {
  /** For `sendmail -C`. */
  readonly config: string
  readonly log: readonly string[]
}

interface MxTarget {
  readonly port: number
  readonly caFile: string
}

/** To a submission port. */
export function startPostfix(t: Test, target: RelayTarget): Promise<Postfix> {
  return start(t, target.port, submissionSettings(target))
}

/** A host that relays all its mail to a submission port, over verified TLS with AUTH PLAIN. */
export function startPostfixSatellite(t: Test, target: RelayTarget): Promise<Postfix> {
  return start(t, target.port, satelliteSettings(target))
}

export function startPostfixToMx(t: Test, target: MxTarget): Promise<Postfix> {
  return start(t, target.port, mxSettings(target))
}

async function start(t: Test, port: number, settings: string): Promise<Postfix> {
  const home = temporaryFolder(t)
  chmodSync(home, 0o755)
  const config = join(home, 'etc')
  await runProgram(['sh', '-c', makeFolders, home])
  writeFileSync(join(config, 'main.cf'), mainCf(home, port, settings))
  writeFileSync(join(config, 'master.cf'), masterCf)
  // Postfix waits with a file that was just changed until it seems complete.
  utimesSync(join(config, 'main.cf'), 0, 0)
  // Its log needs a pipe; Node.js gives a child a socket.
  const script = 'postfix -c "$0" start-fg 2>&1 | cat'
  const child = spawn('sh', ['-c', script, config], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => stop(child, join(home, 'spool/pid/master.pid')))
  const log: string[] = []
  await waitUntilStarted(child, log)
  return { config, log }
}

/**
 * What `postfix start` would make itself, in half a second. The last file keeps it from doing so. Maildrop and public
 * are where sendmail, which is setgid, writes.
 */
const makeFolders = `umask 022 && cd "$0" && mkdir etc lib spool && chown postfix lib && cd spool && mkdir pid
queues='active bounce corrupt defer deferred flush hold incoming private saved trace'
mkdir $queues maildrop public && chmod 700 $queues && chmod 730 maildrop && chmod 710 public
chown postfix $queues && chown postfix:postdrop maildrop public && touch quick-start`

async function waitUntilStarted(child: ChildProcess, log: string[]): Promise<void> {
  if (child.stdout === null) throw new Error('no standard output')
  const reader = createInterface(child.stdout)
  const ended = once(child, 'close').then(() => null)
  reader.on('line', (line) => log.push(line))
  while (!log.some((line) => line.includes('daemon started'))) {
    if ((await Promise.race([once(reader, 'line'), ended])) === null)
      throw new Error(`Postfix ended: ${log.join('\n')}`)
  }
}

/** The master ends its children; the shell ends when all of them have closed the pipe. */
async function stop(child: ChildProcess, pidFile: string): Promise<void> {
  if (child.exitCode !== null) return
  const ended = once(child, 'exit')
  process.kill(Number(readFileSync(pidFile, 'utf8')), 'SIGTERM')
  await ended
}

function mainCf(home: string, port: number, settings: string): string {
  return `compatibility_level = 3.6
queue_directory = ${home}/spool
data_directory = ${home}/lib
multi_instance_enable = yes
maillog_file = /dev/stdout
myhostname = relay.test
mydestination =
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
alias_maps =
relayhost = [127.0.0.1]:${port}
smtp_bind_address = 127.0.0.2
smtp_host_lookup = native
${settings}`
}

function submissionSettings({ port, key, caFile }: RelayTarget): string {
  return `smtp_tls_security_level = none
smtp_tls_CAfile = ${caFile}
smtp_sasl_password_maps = inline:{ { [localhost]:${port} = app:${key} } }
transport_maps = inline:{ { tls@sink.test = secure:[localhost]:${port} } }
`
}

function satelliteSettings({ port, key, caFile }: RelayTarget): string {
  return `smtp_tls_security_level = none
smtp_tls_CAfile = ${caFile}
smtp_sasl_password_maps = inline:{ { [localhost]:${port} = app:${key} } }
default_transport = secure:[localhost]:${port}
relayhost =
`
}

function mxSettings({ port, caFile }: MxTarget): string {
  return `smtp_tls_security_level = verify
smtp_tls_loglevel = 1
smtp_tls_CAfile = ${caFile}
transport_maps = inline:{ { * = smtp:[localhost]:${port} } }
`
}

/** No service listens on a port: messages come in by `sendmail`. */
const masterCf = `pickup unix n - n 60 1 pickup
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
tlsmgr unix - - n 1000? 1 tlsmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
smtp unix - - n - - smtp
secure unix - - n - - smtp
  -o smtp_tls_security_level=verify
  -o smtp_sasl_auth_enable=yes
  -o smtp_sasl_security_options=noanonymous
  -o smtp_sasl_mechanism_filter=plain
proxymap unix - - n - - proxymap
showq unix n - n - - showq
error unix - - n - - error
retry unix - - n - - error
scache unix - - n - 1 scache
postlog unix-dgram n - n - 1 postlogd
`
