// Postfix as the other side, alone or with OpenDKIM as a milter on a Unix socket.
//
// An instance of its own in the bench folder; the machine's own Postfix is not touched.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { freePort, listening } from '../lib/processes.mjs'

export const postfix = { name: 'Postfix', start: (options) => start({ ...options, sign: false }) }
export const signingPostfix = { name: 'Postfix + OpenDKIM', start: (options) => start({ ...options, sign: true }) }

/** Why no comparison is possible; null: nothing is missing. */
export function peersMissing() {
  const programs = ['/usr/sbin/postfix', '/usr/sbin/opendkim', '/usr/bin/opendkim-genkey', '/usr/sbin/opendkim-genkey']
  if (!existsSync(programs[0]) || !existsSync(programs[1]))
    return 'postfix or opendkim is not installed (--install-peers)'
  return process.getuid?.() === 0 ? null : 'Postfix can only be started by root'
}

async function start({ folder, sink, deliver, sign }) {
  const home = mkdtempSync(join(folder, 'postfix-'))
  chmodSync(home, 0o755)
  chmodSync(folder, 0o755)
  const port = await freePort()
  const milter = sign ? await startOpendkim(home) : null
  const server = await startInstance({ home, port, main: mainCf({ home, sink, deliver, socket: milter?.socket }) })
  return {
    port,
    pids: () => [server.pid, ...(milter === null ? [] : [milter.pid])],
    stop: async () => {
      server.stop()
      await milter?.stop()
      rmSync(home, { recursive: true, force: true })
    },
  }
}

/** `under`: a program with its arguments that starts Postfix. */
export async function startInstance({ home, port, main, under = [] }) {
  const config = join(home, 'etc')
  mkdirSync(config)
  const user = postfixUser()
  for (const name of ['spool', 'lib']) mkdirSync(join(home, name))
  chownSync(join(home, 'lib'), user, user)
  writeFileSync(join(config, 'main.cf'), main)
  writeFileSync(join(config, 'master.cf'), masterCf(port))
  cpSync('/etc/postfix/postfix-files', join(config, 'postfix-files'))
  const [program, ...words] = [...under, 'postfix', '-c', config, 'start']
  execFileSync(program, words, { stdio: 'ignore' })
  await listening(port)
  const pid = Number(readFileSync(join(home, 'spool/pid/master.pid'), 'utf8'))
  return { pid, stop: () => execFileSync('postfix', ['-c', config, 'stop'], { stdio: 'ignore' }) }
}

export function postfixUser() {
  return Number(execFileSync('id', ['-u', 'postfix'], { encoding: 'utf8' }))
}

/** The beginning of main.cf: an instance of its own below `home`, on loopback alone. */
export function formatBase(home) {
  return `compatibility_level = 3.6
queue_directory = ${home}/spool
data_directory = ${home}/lib
maillog_file = /dev/stdout
maillog_file_prefixes = /dev
multi_instance_enable = yes
myhostname = mail.bench.test
mydestination =
mynetworks = 127.0.0.0/8
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
`
}

function mainCf({ home, sink, deliver, socket }) {
  return `${formatBase(home)}relayhost = [127.0.0.1]:${sink}
alias_maps =
smtpd_relay_restrictions = permit_mynetworks, reject
in_flow_delay = 0
default_process_limit = 150
default_destination_concurrency_limit = 20
smtp_destination_concurrency_limit = 20
initial_destination_concurrency = 20
smtp_connection_cache_on_demand = yes
smtpd_client_connection_count_limit = 0
smtp_tls_security_level = none
smtpd_milters = ${socket === undefined ? '' : `unix:${socket}`}
non_smtpd_milters =
milter_default_action = tempfail
syslog_name = bench
${deliver ? '' : 'defer_transports = smtp'}
`
}

function masterCf(port) {
  return `127.0.0.1:${port} inet n - n - - smtpd
pickup unix n - n 60 1 pickup
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
tlsmgr unix - - n 1000? 1 tlsmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
verify unix - - n - 1 verify
flush unix n - n 1000? 0 flush
proxymap unix - - n - - proxymap
smtp unix - - n - - smtp
relay unix - - n - - smtp
showq unix n - n - - showq
error unix - - n - - error
retry unix - - n - - error
discard unix - - n - - discard
local unix - n n - - local
virtual unix - n n - - virtual
anvil unix - - n - 1 anvil
scache unix - - n - 1 scache
postlog unix-dgram n - n - 1 postlogd
`
}

/** Runs as the postfix user, so that Postfix may open its socket. */
async function startOpendkim(home) {
  const folder = join(home, 'opendkim')
  mkdirSync(folder)
  execFileSync('openssl', ['genrsa', '-traditional', '-out', join(folder, 'key.pem'), '2048'], { stdio: 'ignore' })
  const socket = join(folder, 'socket')
  writeFileSync(
    join(folder, 'opendkim.conf'),
    `Domain bench.test
Selector bench
KeyFile ${folder}/key.pem
Canonicalization relaxed/relaxed
Mode s
Socket local:${socket}
UMask 000
Background no
Syslog no
InternalHosts 127.0.0.0/8
OversignHeaders From
RequireSafeKeys no
`,
  )
  execFileSync('chown', ['-R', 'postfix', folder])
  execFileSync('chmod', ['600', join(folder, 'key.pem')])
  const daemon = spawn('opendkim', ['-f', '-u', 'postfix', '-x', join(folder, 'opendkim.conf')], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  while (!existsSync(socket)) {
    if (daemon.exitCode !== null) throw new Error('opendkim did not start')
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return {
    socket,
    pid: daemon.pid,
    stop: async () => {
      daemon.kill()
      await once(daemon, 'exit')
    },
  }
}
