// Postfix as an MX: rspamd as a milter checks SPF, DKIM, DMARC and ARC of each message and scores it, virtual(8) writes it into a
// Maildir. A message is on disk before the 250, and written and synced again where it is delivered.
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
import { freePort } from '../../lib/processes.mjs'
import { formatBase, peersMissing, postfixUser, startInstance } from '../postfix.mjs'
import { dnsMissing } from './dns.mjs'
import { RECIPIENT } from './messages.mjs'
import { rspamdMissing, startRspamd } from './rspamd.mjs'

const NAME = 'mail.home.test'

export const postfixWithRspamd = { name: 'Postfix + rspamd', start }

/** Why no comparison is possible; null: nothing is missing. */
export function rspamdPeerMissing() {
  return peersMissing() ?? rspamdMissing() ?? dnsMissing()
}

async function start({ folder, dns }) {
  chmodSync(folder, 0o755)
  const home = mkdtempSync(join(folder, 'postfix-'))
  chmodSync(home, 0o755)
  const port = await freePort()
  const rspamd = await startRspamd(home, dns)
  const mail = join(home, 'mail')
  mkdirSync(mail)
  const user = postfixUser()
  chownSync(mail, user, user)
  const main = mainCf({ home, mail, user, socket: rspamd.socket })
  const server = await startInstance({ home, port, main, under: resolvingAt(home, dns) })
  const box = join(mail, 'box/new')
  return {
    port,
    pids: () => [server.pid, rspamd.pid],
    filed: () => (existsSync(box) ? readdirSync(box).length : 0),
    verify: () => verify(box),
    stop: async () => {
      server.stop()
      await rspamd.stop()
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
function verify(box) {
  const [first] = readdirSync(box)
  const text = readFileSync(join(box, first), 'latin1')
  const expected = ['R_SPF_ALLOW', 'R_DKIM_ALLOW', 'DMARC_POLICY_ALLOW', 'X-Spamd-Result']
  const missing = expected.filter((word) => !text.includes(word))
  if (missing.length > 0) throw new Error(`Postfix delivered without ${missing.join(', ')}:\n${text.slice(0, 3000)}`)
}

function mainCf({ home, mail, user, socket }) {
  const [, domain] = RECIPIENT.split('@')
  return `${formatBase(home)}mynetworks =
myhostname = ${NAME}
alias_maps =
smtpd_relay_restrictions = reject_unauth_destination
in_flow_delay = 0
default_process_limit = 150
smtpd_client_connection_count_limit = 0
smtpd_milters = unix:${socket}
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
