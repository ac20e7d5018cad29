/**
 * Exim, unpacked beside the machine's packages by scripts/test: its package cannot be installed where Postfix is.
 *
 * Everything goes to one port, over STARTTLS or not at all (to an MX port from 127.0.0.3), while `sendmail` waits for it. The user
 * of Debian's Exim exists in a mount namespace alone, so only root can start it.
 */
import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { ProgramResult } from '../../journeys/support/program.js'
import { temporaryFolder } from '../database/database.js'
import type { RelayTarget } from './postfix.js'
import { runProgram } from './run-program.js'

const program = join(process.cwd(), '.peers/exim/usr/sbin/exim4')
const user = 9025

interface Exim {
  readonly deliver: (from: string, to: string, message: Buffer | string) => Promise<ProgramResult>
  /** Its log so far. */
  readonly log: () => string
}

export function skipWithoutExim(): false | string {
  if (process.getuid?.() !== 0) return 'Exim can only be started by root'
  return existsSync(program) ? false : 'exim4-daemon-light is not unpacked (scripts/test does that)'
}

export function eximToMx(t: Test, port: number): Exim {
  return openExim(t, (home) => mxSettings(home, port))
}

/** A host that relays all its mail to a submission port, over TLS with AUTH PLAIN. Its bounces go there too. */
export function eximSatellite(t: Test, target: RelayTarget): Exim {
  return openExim(t, (home) => satelliteSettings(home, target))
}

function openExim(t: Test, settings: (home: string) => string): Exim {
  const home = temporaryFolder(t)
  chmodSync(home, 0o755)
  const at = (name: string): string => join(home, name)
  for (const name of ['spool', 'log']) {
    mkdirSync(at(name))
    chownSync(at(name), user, user)
  }
  writeFileSync(at('passwd'), `${readFileSync('/etc/passwd', 'utf8')}Debian-exim:x:${user}:${user}::/:/bin/false\n`)
  writeFileSync(at('group'), `${readFileSync('/etc/group', 'utf8')}Debian-exim:x:${user}:\n`)
  writeFileSync(at('exim.conf'), settings(home))
  return {
    deliver: (from, to, message) =>
      runProgram(
        ['unshare', '-m', 'sh', '-c', asItself, home, program, '-C', at('exim.conf'), '-odf', '-oi', '-f', from, to],
        message,
      ),
    log: () => readFileSync(at('log/mainlog'), 'utf8'),
  }
}

/** Libraries that the machine lacks are beside it. */
const asItself = `mount --bind "$0/passwd" /etc/passwd && mount --bind "$0/group" /etc/group
LD_LIBRARY_PATH=$(echo "\${1%/sbin/*}"/lib/*-linux-gnu) exec "$@"`

function commonSettings(home: string): string {
  return `primary_hostname = exim.test
exim_path = ${program}
spool_directory = ${home}/spool
log_file_path = ${home}/log/%slog
keep_environment =
local_interfaces = 127.0.0.3
`
}

function satelliteSettings(home: string, { port, key }: RelayTarget): string {
  return `${commonSettings(home)}begin routers
all:
  driver = manualroute
  route_list = * 127.0.0.1
  self = send
  transport = remote
begin transports
remote:
  driver = smtp
  port = ${port}
  allow_localhost
  hosts_require_tls = *
  hosts_require_auth = *
  tls_verify_hosts =
  tls_try_verify_hosts =
  message_linelength_limit = 10000
begin authenticators
plain:
  driver = plaintext
  public_name = PLAIN
  client_send = ^app^${key}
`
}

function mxSettings(home: string, port: number): string {
  return `${commonSettings(home)}begin routers
all:
  driver = manualroute
  route_list = * 127.0.0.1
  self = send
  transport = remote
begin transports
remote:
  driver = smtp
  port = ${port}
  interface = 127.0.0.3
  allow_localhost
  hosts_require_tls = *
`
}
