// Postfix as an MX: milters check each message, virtual(8) writes it into a Maildir.
//
// `postfixWithMilters` has OpenDKIM, OpenDMARC (with its own SPF) and rspamd, one after the other;
// `postfixWithRspamd` has rspamd alone, which checks SPF, DKIM, DMARC and ARC itself. A message is
// on disk before the 250, and written and synced again where it is delivered.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { peersMissing, postfixUser, startInstance } from '../postfix.mjs'
import { freePort } from '../processes.mjs'
import { dnsMissing } from './dns.mjs'
import { RECIPIENT } from './messages.mjs'
import { rspamdMissing, startRspamd } from './rspamd.mjs'

const OPENDMARC = '/usr/sbin/opendmarc'
const NAME = 'mail.home.test'

export const postfixWithMilters = {
  name: 'Postfix + milters',
  start: (options) => start({ ...options, milters: [startOpendkim, startOpendmarc, startRspamd] }),
}
export const postfixWithRspamd = {
  name: 'Postfix + rspamd',
  start: (options) => start({ ...options, milters: [startRspamd] }),
}

/** Why no comparison is possible; null: nothing is missing for Postfix with rspamd alone. */
export function rspamdPeerMissing() {
  return peersMissing() ?? rspamdMissing() ?? dnsMissing()
}

/** What is missing for all three milters besides. */
export function opendmarcMissing() {
  return existsSync(OPENDMARC) ? null : 'opendmarc is not installed (--install-peers)'
}

async function start({ folder, dns, milters }) {
  chmodSync(folder, 0o755)
  const home = mkdtempSync(join(folder, 'postfix-'))
  chmodSync(home, 0o755)
  const port = await freePort()
  const asking = resolvingAt(home, dns)
  const running = []
  for (const startOne of milters) running.push(await startOne(home, dns, asking))
  const mail = join(home, 'mail')
  mkdirSync(mail)
  const user = postfixUser()
  chownSync(mail, user, user)
  const main = mainCf({ home, mail, user, sockets: running.map(({ socket }) => socket) })
  const server = await startInstance({ home, port, main, under: asking })
  const box = join(mail, 'box/new')
  return {
    port,
    pids: () => [server.pid, ...running.map(({ pid }) => pid)],
    filed: () => (existsSync(box) ? readdirSync(box).length : 0),
    verify: () => verify(box, running.length),
    stop: async () => {
      server.stop()
      for (const milter of running) await milter.stop()
      rmSync(home, { recursive: true, force: true })
    },
  }
}

/** A program started with this prefix uses `dns`: it sees a resolv.conf of its own. */
function resolvingAt(home, dns) {
  const file = join(home, 'resolv.conf')
  writeFileSync(file, `nameserver ${dns}\n`)
  return ['unshare', '-m', 'sh', '-c', `mount --bind ${file} /etc/resolv.conf && exec "$0" "$@"`]
}

/** Makes sure that the other side does all of its work. */
function verify(box, milters) {
  const [first] = readdirSync(box)
  const text = readFileSync(join(box, first), 'latin1')
  const expected = milters > 1 ? ['dkim=pass', 'dmarc=pass'] : ['R_SPF_ALLOW', 'R_DKIM_ALLOW', 'DMARC_POLICY_ALLOW']
  const missing = [...expected, 'X-Spamd-Result'].filter((word) => !text.includes(word))
  if (missing.length > 0) throw new Error(`Postfix delivered without ${missing.join(', ')}:\n${text.slice(0, 3000)}`)
}

function mainCf({ home, mail, user, sockets }) {
  const [, domain] = RECIPIENT.split('@')
  return `compatibility_level = 3.6
queue_directory = ${home}/spool
data_directory = ${home}/lib
maillog_file = /dev/stdout
maillog_file_prefixes = /dev
multi_instance_enable = yes
myhostname = ${NAME}
mydestination =
mynetworks =
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
alias_maps =
smtpd_relay_restrictions = reject_unauth_destination
in_flow_delay = 0
default_process_limit = 150
smtpd_client_connection_count_limit = 0
smtpd_milters = ${sockets.map((socket) => `unix:${socket}`).join(', ')}
non_smtpd_milters =
milter_default_action = tempfail
virtual_mailbox_domains = ${domain}
virtual_mailbox_base = ${mail}
virtual_mailbox_maps = inline:{ { ${RECIPIENT} = box/ } }
virtual_uid_maps = static:${user}
virtual_gid_maps = static:${user}
virtual_minimum_uid = 1
syslog_name = bench
`
}

function startOpendkim(home, dns) {
  const settings = (socket) => `Mode v
Socket local:${socket}
UMask 000
Background no
Syslog no
Nameservers ${dns}
AuthservID ${NAME}
InternalHosts 192.0.2.255
`
  return startMilter(home, 'opendkim', ['-f', '-u', 'postfix', '-x'], settings)
}

function startOpendmarc(home, _dns, asking) {
  const ignoredHosts = join(home, 'ignored-hosts')
  writeFileSync(ignoredHosts, '192.0.2.255\n')
  const settings = (socket) => `Socket local:${socket}
UMask 000
Background false
Syslog false
UserID postfix
AuthservID ${NAME}
TrustedAuthservIDs ${NAME}
IgnoreHosts ${ignoredHosts}
SPFSelfValidate true
SPFIgnoreResults true
RejectFailures true
PublicSuffixList /usr/share/publicsuffix/public_suffix_list.dat
`
  return startMilter(home, 'opendmarc', ['-f', '-c'], settings, asking)
}

async function startMilter(home, name, words, settings, under = []) {
  const folder = join(home, name)
  mkdirSync(folder)
  const socket = join(folder, 'socket')
  const file = join(folder, 'settings')
  writeFileSync(file, settings(socket))
  execFileSync('chown', ['-R', 'postfix', folder])
  const [program, ...rest] = [...under, name, ...words, file]
  const child = spawn(program, rest, { stdio: ['ignore', 'ignore', 'inherit'] })
  while (!existsSync(socket)) {
    if (child.exitCode !== null) throw new Error(`${name} did not start`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return {
    socket,
    pid: child.pid,
    stop: async () => {
      child.kill()
      await once(child, 'exit')
    },
  }
}
