// The folder, configuration and accounts of the daemon under test.
import { fillAudience } from '../lib/broadcasts.mjs'
import { manyFromOneAddress, programOf, runCommand, setUpDaemon } from '../lib/daemon.mjs'

export const CONTACTS = 60
const PASSWORD = 'correct horse battery staple'
/** Seconds; the last one repeats. */
export const RETRY_WAITS = [5, 10, 15, 20]

/** `storage`: the URL of an empty database of PostgreSQL, or empty for SQLite. */
export async function prepare({ folder, data, dnsPort, sinkPort, storage }) {
  const settings = (ports) => sectionsOf({ data, ports, dnsPort, sinkPort })
  const made = await setUpDaemon({ folder, domain: 'soak.test', receives: true, settings, storage })
  const email = 'owner@soak.test'
  runCommand(made.file, ['user', 'set-password', email], { input: `${PASSWORD}\n` })
  const audienceId = await fillAudience(made, CONTACTS, (n) => `c${n}@d${(n % 6) + 1}.sink.test`)
  const words = [programOf(), 'serve', '--config', made.file]
  return { ...made, audienceId, words, email, password: PASSWORD }
}

function sectionsOf({ data, ports, dnsPort, sinkPort }) {
  const at = (port) => [`127.0.0.1:${port}`]
  const loopback = { allowed_private_networks: ['127.0.0.0/8'] }
  const seconds = (list) => list.map((count) => `${count}s`)
  return {
    service: { public_url: `https://127.0.0.1:${ports.api}`, public_addresses: ['192.0.2.1'], data_dir: data },
    submission: { listen_tls: at(ports.tls) },
    inbound: manyFromOneAddress,
    dns: { servers: at(dnsPort), zone_listen: at(ports.zone), nameservers: ['ns.soak.test'] },
    metrics: { listen: at(ports.metrics) },
    limits: { domain_emails_per_day: 100_000_000 },
    outbound: { port: sinkPort, ...loopback, retry_schedule: seconds(RETRY_WAITS) },
    webhooks: { ...loopback, retry_schedule: seconds([2, 5, 10, 20, 30, 60]) },
    doctor: { daily: false },
    log: { level: 'info' },
  }
}
