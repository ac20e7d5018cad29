// The mail servers that are compared: Posthorn, Postfix with its default settings, and Postfix with transports made by
// hand for these providers.
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { formatBase, startInstance } from '../bench-parts/postfix.mjs'
import { posthorn } from '../bench-parts/posthorn.mjs'
import { freePort } from '../bench-parts/processes.mjs'
import { providers } from './providers.mjs'

export const sides = {
  posthorn: { title: 'Posthorn', start: startPosthorn },
  default: { title: 'Postfix, default settings', start: (asked) => startPostfix(asked, false) },
  transports: { title: 'Postfix, transports by hand', start: (asked) => startPostfix(asked, true) },
}

function startPosthorn({ folder, port, dns }) {
  const settings = `port = ${port}
allowed_private_networks = ["127.0.0.0/8"]
[dns]
servers = ["127.0.0.1:${dns}"]
[doctor]
daily = false
`
  return posthorn.start({ folder, sink: port, deliver: true, settings })
}

/** Nexthops are addresses, because Postfix would ask the DNS servers of the machine. */
async function startPostfix({ folder, port }, byHand) {
  const home = mkdtempSync(join(folder, 'postfix-'))
  chmodSync(folder, 0o755)
  chmodSync(home, 0o755)
  const smtpPort = await freePort()
  const map = providers.map(
    ({ name, domain, address }) => `${domain} ${byHand ? `to-${name}` : 'smtp'}:[${address}]:${port}`,
  )
  const file = join(home, 'transport')
  writeFileSync(file, `${map.join('\n')}\n`)
  const main = mainCf({ home, file }) + (byHand ? providers.map(transportLimits).join('') : '')
  const master = byHand ? providers.map(({ name }) => `to-${name} unix - - n - - smtp\n`).join('') : ''
  const server = await startInstance({ home, port: smtpPort, main, master })
  return {
    port: smtpPort,
    pids: () => [server.pid],
    stop: async () => {
      server.stop()
      rmSync(home, { recursive: true, force: true })
    },
  }
}

function mainCf({ home, file }) {
  return `${formatBase(home)}smtp_bind_address = 127.0.0.1
smtpd_relay_restrictions = permit_mynetworks, reject
smtpd_client_connection_count_limit = 0
alias_maps =
transport_maps = texthash:${file}
syslog_name = sim
`
}

/** What a postmaster writes who knows the limits: sessions, and messages of a session. Postfix has none for a rate below a second. */
function transportLimits({ name, sessions, messagesPerSession }) {
  return `to-${name}_destination_concurrency_limit = ${sessions}
to-${name}_initial_destination_concurrency = ${sessions}
to-${name}_destination_concurrency_failed_cohort_limit = 100
${messagesPerSession === undefined ? '' : `to-${name}_connection_reuse_count_limit = ${messagesPerSession}\n`}`
}
