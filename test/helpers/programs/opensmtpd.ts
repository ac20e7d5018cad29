/**
 * OpenSMTPD, unpacked beside the machine's packages by scripts/test: its package cannot be installed where Postfix is.
 *
 * Its users, its queue and its socket exist in a mount namespace alone, so only root can start it.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Test } from 'tap'
import type { ProgramResult } from '../../journeys/support/program.js'
import { temporaryFolder } from '../database/database.js'
import { waitUntil } from '../wait-until.js'
import type { RelayTarget } from './postfix.js'
import { runProgram } from './run-program.js'

const root = join(process.cwd(), '.peers/opensmtpd')
const program = join(root, 'usr/sbin/smtpd')
const users = { opensmtpd: 9026, opensmtpq: 9027 }

interface OpenSmtpd {
  /** Hands a message to its queue. */
  readonly send: (from: string, to: string, message: string) => Promise<ProgramResult>
  readonly log: readonly string[]
}

export function skipWithoutOpenSmtpd(): false | string {
  if (process.getuid?.() !== 0) return 'OpenSMTPD can only be started by root'
  return existsSync(program) ? false : 'opensmtpd is not unpacked (scripts/test does that)'
}

/** Starts a host that relays all its mail to a submission port, over verified TLS with AUTH PLAIN. */
export async function startOpenSmtpd(t: Test, target: RelayTarget): Promise<OpenSmtpd> {
  const home = temporaryFolder(t)
  chmodSync(home, 0o755)
  const write = (name: string, text: string): void => writeFileSync(join(home, name), text, { mode: 0o644 })
  const ids = Object.entries(users)
  write('passwd', readFileSync('/etc/passwd', 'utf8') + ids.map(([name, id]) => `${name}:x:${id}:${id}::/:\n`).join(''))
  write('group', readFileSync('/etc/group', 'utf8') + ids.map(([name, id]) => `${name}:x:${id}:\n`).join(''))
  write('smtpd.conf', settings(target))
  // The shell becomes the daemon, so that its id leads into the namespace.
  const child = spawn('unshare', ['-m', 'sh', '-c', start, home, root, target.caFile], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  t.teardown(() => stop(child))
  const log: string[] = []
  createInterface(child.stderr).on('line', (line) => log.push(line))
  const runInside = (words: readonly string[], input = ''): Promise<ProgramResult> => {
    const enter = ['nsenter', '-m', '-t', `${child.pid}`, '-G', `${users.opensmtpq}`]
    return runProgram([...enter, 'sh', '-c', control, '', root, ...words], input)
  }
  await waitUntil('OpenSMTPD listens', async () => {
    if (child.exitCode !== null) throw new Error(`OpenSMTPD ended: ${log.join('\n')}`)
    return (await runInside(['smtpctl', 'show', 'status'])).status === 0
  })
  return { send: (from, to, message) => runInside(['sendmail', '-f', from, to], message), log }
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  await ended
}

/** Libraries that the machine lacks are beside the program. */
const withLibraries = 'export LD_LIBRARY_PATH=$(echo "$1"/usr/lib/*-linux-gnu)'

const start = `umask 022
mount --bind "$0/passwd" /etc/passwd && mount --bind "$0/group" /etc/group || exit
for folder in /var/spool /var/lib /run /etc/ssl/certs; do mount -t tmpfs none "$folder" || exit; done
mkdir -m 711 -p /var/lib/opensmtpd/empty /var/spool/smtpd && cp "$2" /etc/ssl/certs/ca-certificates.crt || exit
${withLibraries}
exec "$1/usr/sbin/smtpd" -d -f "$0/smtpd.conf"`

/** The name by which it is called says what it does. */
const control = `${withLibraries}
PATH=$1/usr/sbin:$PATH
shift && exec "$@"`

function settings({ port, key }: RelayTarget): string {
  return `table keys { posthorn = "app:${key}" }
action "out" relay host smtp+tls://posthorn@localhost:${port} auth <keys>
match from local for any action "out"
`
}
