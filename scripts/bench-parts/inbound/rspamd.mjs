// rspamd as a milter on a Unix socket, with Debian's configuration less what needs the network or redis.
//
// It scans with its rules, SPF, DKIM, DMARC and ARC. Without redis it has no Bayes, no greylisting
// and no reputation: what it omits costs nothing.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'

const PROGRAM = '/usr/bin/rspamd'
/** Three minutes; without hyperscan nothing is compiled, and it is ready at once. */
const MOST_LOOKS = 3600
/** Modules that query external servers. */
const networked = ['rbl', 'surbl', 'asn', 'fuzzy_check', 'phishing', 'dkim_signing', 'mx_check', 'rspamd_update']

export const rspamdMissing = () => (existsSync(PROGRAM) ? null : 'rspamd is not installed (--install-peers)')

export async function startRspamd(folder, dns) {
  const home = join(folder, 'rspamd')
  const config = join(home, 'etc')
  const socket = join(home, 'milter')
  // Started once for all rounds: its regular expressions take seconds to compile.
  const compiled = join(folder, '..', 'rspamd-expressions')
  mkdirSync(home)
  mkdirSync(compiled, { recursive: true })
  cpSync('/etc/rspamd', config, { recursive: true })
  for (const name of ['local.d', 'override.d']) {
    rmSync(join(config, name), { recursive: true, force: true })
    mkdirSync(join(config, name))
  }
  const put = (name, text) => writeFileSync(join(config, 'override.d', name), text)
  for (const name of networked) put(`${name}.conf`, 'enabled = false;\n')
  // The client is on loopback, which rspamd ignores by default.
  put(
    'options.inc',
    `dns { nameserver = ["${dns}:53:1"]; }
local_addrs = [];
filters = "chartable,dkim,regexp";
hs_cache_dir = "${compiled}/";
`,
  )
  for (const name of ['dkim', 'spf', 'dmarc', 'arc']) put(`${name}.conf`, 'check_local = true;\ncheck_authed = true;\n')
  put('logging.inc', 'type = "file";\nlevel = "error";\n')
  for (const name of ['normal', 'controller', 'fuzzy']) put(`worker-${name}.inc`, 'enabled = false;\n')
  put(
    'worker-proxy.inc',
    `bind_socket = "${socket} mode=0666";
count = ${cpus().length};
upstream "local" { default = yes; self_scan = yes; }
`,
  )
  // Every message shows what was found.
  put(
    'milter_headers.conf',
    'use = ["x-spamd-result", "authentication-results"];\nskip_local = false;\nextended_spam_headers = true;\n',
  )
  execFileSync('chown', ['-R', '_rspamd:_rspamd', home, compiled])
  const variables = { CONFDIR: config, LOCAL_CONFDIR: config, DBDIR: home, RUNDIR: home, LOGDIR: home }
  const child = spawn(
    PROGRAM,
    [
      ...['-f', '-u', '_rspamd', '-g', '_rspamd', '-c', join(config, 'rspamd.conf')],
      ...Object.entries(variables).map(([name, value]) => `--var=${name}=${value}`),
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  )
  let said = ''
  child.stderr.on('data', (chunk) => {
    said += chunk
  })
  const ready = () => existsSync(socket) && readdirSync(compiled).some((name) => name.endsWith('.hs'))
  for (let attempt = 0; attempt < MOST_LOOKS && !ready(); attempt += 1) {
    if (child.exitCode !== null) throw new Error(`rspamd did not start:\n${said}`)
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
