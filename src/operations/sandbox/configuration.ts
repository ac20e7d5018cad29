/**
 * The configuration of the sandbox, written once for the user to edit. `--port-base` changes only its ports.
 *
 * Nothing leaves the machine: it listens on loopback, and every domain is routed to the sink. What the sandbox needs
 * is read back from the file.
 */
import { existsSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import type { Config } from '../../base/config/complete.js'
import { loadConfig, type WrittenConfig } from '../../base/config/load.js'
import type { ListenAddress } from '../../base/config/network-values.js'
import { formatProblems } from '../../base/config/problems.js'
import { CannotStart } from './cannot-start.js'
import { refuseBusyPorts } from './free-ports.js'
import { DEFAULT_BASE, DOMAIN, HOST, type Ports, portsAbove, type SandboxPaths } from './paths.js'

export interface SandboxConfig {
  readonly config: Config
  readonly written: WrittenConfig
  readonly startTls: ListenAddress
  readonly tls: ListenAddress
  /** The REST API. */
  readonly api: ListenAddress
  readonly sink: ListenAddress
  /** Where mail is received. Undefined if the file has no such listener. */
  readonly mx: ListenAddress | undefined
}

/** If `portBase` is null, the ports are those of the file, or the default ones if there is no file yet. */
export async function configure(paths: SandboxPaths, portBase: number | null): Promise<SandboxConfig> {
  const { configuration: file } = paths
  if (existsSync(file)) {
    const existing = readConfiguration(file)
    if (portBase === null) return existing
    await writePorts(file, existing, portsAbove(portBase))
  } else {
    const ports = portsAbove(portBase ?? DEFAULT_BASE)
    // Ports in use are refused before they are written.
    await refuseBusyPorts(listAddresses(ports))
    await writeFile(file, configurationText(ports), { mode: 0o600 })
  }
  return readConfiguration(file)
}

function listAddresses(ports: Ports): readonly ListenAddress[] {
  return Object.values(ports).map((port) => ({ host: HOST, port }))
}

function readConfiguration(file: string): SandboxConfig {
  const loaded = loadConfig({ file, env: {} })
  if (loaded.kind === 'problems') throw new CannotStart(formatProblems(loaded.file, loaded.problems))
  return toSandboxConfig(loaded, file)
}

/** Replaces the ports in the file, and keeps what its user has changed. */
async function writePorts(file: string, { startTls, tls, api, sink, mx }: SandboxConfig, next: Ports): Promise<void> {
  const present = { startTls, tls, api, sink, ...(mx === undefined ? {} : { mx }) }
  const text = readFileSync(file, 'utf8')
  const pairs = portNames.flatMap((name) => {
    const { port } = present[name] ?? {}
    return port === undefined ? [] : [{ before: `${HOST}:${port}`, after: `${HOST}:${next[name]}` }]
  })
  const missing = pairs.find(({ before }) => !text.includes(before))
  if (missing !== undefined) {
    throw new CannotStart(
      `${file}: --port-base finds no "${missing.before}" to replace: change the ports there, or move the file away, and a new one is written`,
    )
  }
  if (pairs.every(({ before, after }) => before === after)) return
  await refuseBusyPorts(listAddresses(next))
  const replaced = new Map(pairs.map(({ before, after }) => [before, after]))
  await writeFile(
    file,
    text.replace(ADDRESS, (address) => replaced.get(address) ?? address),
  )
}

const portNames = ['startTls', 'tls', 'api', 'sink', 'mx'] as const satisfies readonly (keyof Ports)[]
const ADDRESS = /127\.0\.0\.1:\d{1,5}(?!\d)/g

function toSandboxConfig({ config, written }: Pick<SandboxConfig, 'config' | 'written'>, file: string): SandboxConfig {
  const [startTls] = config.submission.listen
  const [tls] = config.submission.listen_tls
  const api = config.api.listen.find((listen) => listen.kind === 'tls')
  const { host, port } = config.outbound.routes[DOMAIN] ?? {}
  const fix = 'put it back, or move the file away, and a new one is written'
  if (startTls === undefined || tls === undefined) {
    throw new CannotStart(`${file}: submission.listen and listen_tls each need an address here: ${fix}`)
  }
  if (api === undefined) throw new CannotStart(`${file}: api.listen needs an address with TLS here: ${fix}`)
  if (host !== HOST || port === undefined) {
    throw new CannotStart(`${file}: the route of ${DOMAIN} does not lead to a sink on ${HOST}: ${fix}`)
  }
  return { config, written, startTls, tls, api, sink: { host, port }, mx: config.inbound.listen[0] }
}

function configurationText({ startTls, tls, api, sink, mx }: Ports): string {
  return `# Posthorn's configuration for trying it out, made by scripts/quickstart.
# It is yours to edit; "scripts/quickstart --port-base N" changes only its ports.
# config/posthorn.toml in the source documents every setting.

[service]
hostname = "mail.${DOMAIN}"
# Relative paths count from the folder of this file.
data_dir = "."
public_url = "https://${HOST}:${api}"

# Only this machine can connect, to any of the four ports.
[api]
listen = ["${HOST}:${api}"]          # REST, over TLS

[submission]
listen = ["${HOST}:${startTls}"]          # STARTTLS
listen_tls = ["${HOST}:${tls}"]      # TLS from the start

[inbound]
listen = ["${HOST}:${mx}"]          # other servers bring mail here

[outbound]
tls_reports = false
[outbound.routes]
# The sink that scripts/quickstart runs stands in for the MX hosts of ${DOMAIN} ...
"${DOMAIN}" = "${HOST}:${sink}"
# ... and for those of all other domains, so that nothing leaves this machine.
"*" = "${HOST}:${sink}"

${othersText}`
}

const othersText = `[doctor]
# The daily checks would ask name servers, mail hosts and a web site, and mail what fails in a sandbox.
# "posthorn doctor" runs them by hand.
daily = false

[sms]
# No message is sent: its text, with the verification code, is a line of posthorn.log.
provider = "log"
allowed_countries = ["DE", "GB", "US"]

[webhooks]
# Receivers of webhooks may be on this machine.
allowed_private_networks = ["127.0.0.0/8", "::1/128"]
`
