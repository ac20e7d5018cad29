// The folder, configuration and accounts of the daemon under test.
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fillAudience } from '../bench-parts/broadcast/api.mjs'
import { freePort } from '../bench-parts/processes.mjs'

const program = resolve('dist/src/main.js')
export const CONTACTS = 60
const EMAIL = 'owner@soak.test'
const PASSWORD = 'correct horse battery staple'
/** Seconds; the last one repeats. */
export const RETRY_WAITS = [5, 10, 15, 20]

export async function prepare({ folder, data, dnsPort, sinkPort }) {
  const names = ['plain', 'tls', 'mx', 'api', 'metrics', 'zone']
  const ports = {}
  for (const name of names) ports[name] = await freePort()
  const file = join(folder, 'posthorn.toml')
  const command = (words, input) => run(file, words, input)
  const write = (trusted) => writeFileSync(file, configuration({ data, ports, dnsPort, sinkPort, trusted }))
  write('')
  const { workspace_id: workspaceId, api_key: key } = command(['setup', '--workspace', 'Soak', '--email', EMAIL])
  command(['domain', 'add', 'soak.test', '--inbound', '--force'])
  command(['user', 'set-password', EMAIL], `${PASSWORD}\n`)
  const database = join(data, 'posthorn.db')
  const audienceId = fillAudience({ database, workspaceId }, CONTACTS, (n) => `c${n}@d${(n % 6) + 1}.sink.test`)
  write(`[[submission.trusted]]\nnetwork = "127.0.0.0/8"\nworkspace = "${workspaceId}"\n`)
  const words = [program, 'serve', '--config', file]
  return { ports, key, workspaceId, audienceId, database, command, words, email: EMAIL, password: PASSWORD }
}

function run(file, words, input) {
  try {
    const options = { encoding: 'utf8', input, maxBuffer: 1 << 28, stdio: ['pipe', 'pipe', 'pipe'] }
    return JSON.parse(execFileSync(process.execPath, [program, ...words, '--json', '--config', file], options))
  } catch (error) {
    if (error.status === 1 && error.stdout !== '') return JSON.parse(error.stdout)
    throw error
  }
}

function configuration({ data, ports, dnsPort, sinkPort, trusted }) {
  return `[service]
hostname = "mail.soak.test"
public_url = "https://127.0.0.1:${ports.api}"
public_addresses = ["192.0.2.1"]
data_dir = ${JSON.stringify(data)}
[api]
listen = ["127.0.0.1:${ports.api}"]
[submission]
listen = ["127.0.0.1:${ports.plain}"]
listen_tls = ["127.0.0.1:${ports.tls}"]
[inbound]
listen = ["127.0.0.1:${ports.mx}"]
connections_per_minute = 100000
messages_per_minute = 100000
bytes_per_minute = "1000GB"
[dns]
servers = ["127.0.0.1:${dnsPort}"]
zone_listen = ["127.0.0.1:${ports.zone}"]
nameservers = ["ns.soak.test"]
[metrics]
listen = ["127.0.0.1:${ports.metrics}"]
[limits]
domain_emails_per_day = 100000000
[outbound]
port = ${sinkPort}
allowed_private_networks = ["127.0.0.0/8"]
retry_schedule = [${RETRY_WAITS.map((seconds) => `"${seconds}s"`).join(', ')}]
[webhooks]
allowed_private_networks = ["127.0.0.0/8"]
retry_schedule = ["2s", "5s", "10s", "20s", "30s", "60s"]
[doctor]
daily = false
${trusted}`
}
