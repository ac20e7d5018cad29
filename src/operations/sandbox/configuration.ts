/**
 * The configuration of the sandbox, written once for the user to edit.
 *
 * Nothing leaves the machine: it listens on loopback, and every domain is routed to the sink. What the sandbox needs
 * is read back from the file.
 */
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import type { Config } from '../../base/config/complete.js'
import { loadConfig } from '../../base/config/load.js'
import type { ListenAddress } from '../../base/config/network-values.js'
import { formatProblems } from '../../base/config/problems.js'
import { CannotStart } from './cannot-start.js'
import { refuseBusyPorts } from './free-ports.js'
import { DEFAULT_BASE, DOMAIN, HOST, type Ports, portsAbove, type SandboxPaths } from './paths.js'

export interface SandboxConfig {
  readonly config: Config
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
  if (portBase !== null || !existsSync(paths.configuration)) {
    const ports = portsAbove(portBase ?? DEFAULT_BASE)
    // Ports in use are refused before they are written.
    await refuseBusyPorts(Object.values(ports).map((port) => ({ host: HOST, port })))
    await writeFile(paths.configuration, configurationText(ports), { mode: 0o600 })
  }
  const loaded = loadConfig({ file: paths.configuration, env: {} })
  if (loaded.kind === 'problems') throw new CannotStart(formatProblems(loaded.file, loaded.problems))
  return toSandboxConfig(loaded.config, paths.configuration)
}

function toSandboxConfig(config: Config, file: string): SandboxConfig {
  const [startTls] = config.submission.listen
  const [tls] = config.submission.listen_tls
  const api = config.api.listen.find((listen) => listen.kind === 'tls')
  const { host, port } = config.outbound.routes[DOMAIN] ?? {}
  const fix = 'put it back, or let --port-base write the file again'
  if (startTls === undefined || tls === undefined) {
    throw new CannotStart(`${file}: submission.listen and listen_tls each need an address here: ${fix}`)
  }
  if (api === undefined) throw new CannotStart(`${file}: api.listen needs an address with TLS here: ${fix}`)
  if (host !== HOST || port === undefined) {
    throw new CannotStart(`${file}: the route of ${DOMAIN} does not lead to a sink on ${HOST}: ${fix}`)
  }
  return { config, startTls, tls, api, sink: { host, port }, mx: config.inbound.listen[0] }
}

function configurationText({ startTls, tls, api, sink, mx }: Ports): string {
  return `# Posthorn's configuration for trying it out, made by scripts/quickstart.
# It is yours to edit; only "scripts/quickstart --port-base N" writes it anew.
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
