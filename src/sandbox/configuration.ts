/**
 * The configuration of the sandbox: written once, then the user's to edit.
 *
 * Nothing leaves the machine: it listens on loopback, and every domain is routed to the
 * sink. What the sandbox needs of an edited file is read back from it.
 */
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import type { Config } from '../config/complete.js'
import { loadConfig } from '../config/load.js'
import type { ListenAddress } from '../config/network-values.js'
import { formatProblems } from '../config/problems.js'
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
  /** Where mail comes in; undefined: the file opens no such door. */
  readonly mx: ListenAddress | undefined
}

/** `portBase` null: what the file says, or the default where there is none yet. */
export async function configure(places: SandboxPaths, portBase: number | null): Promise<SandboxConfig> {
  if (portBase !== null || !existsSync(places.configuration)) {
    const ports = portsAbove(portBase ?? DEFAULT_BASE)
    // A choice that does not work is not kept.
    await refuseBusyPorts(Object.values(ports).map((port) => ({ host: HOST, port })))
    await writeFile(places.configuration, configurationText(ports), { mode: 0o600 })
  }
  const loaded = loadConfig({ file: places.configuration, env: {} })
  if (loaded.kind === 'problems') throw new CannotStart(formatProblems(loaded.file, loaded.problems))
  return toSandboxConfig(loaded.config, places.configuration)
}

function toSandboxConfig(config: Config, file: string): SandboxConfig {
  const [startTls] = config.submission.listen
  const [tls] = config.submission.listen_tls
  const api = config.api.listen.find((listen) => listen.kind === 'tls')
  const { host, port } = config.outbound.routes[DOMAIN] ?? {}
  const mend = 'put it back, or let --port-base write the file anew'
  if (startTls === undefined || tls === undefined) {
    throw new CannotStart(`${file}: submission.listen and listen_tls each need an address here: ${mend}`)
  }
  if (api === undefined) throw new CannotStart(`${file}: api.listen needs an address with TLS here: ${mend}`)
  if (host !== HOST || port === undefined) {
    throw new CannotStart(`${file}: the route of ${DOMAIN} does not lead to a sink on ${HOST}: ${mend}`)
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

[outbound.routes]
# The sink that scripts/quickstart runs stands in for the MX hosts of ${DOMAIN} ...
"${DOMAIN}" = "${HOST}:${sink}"
# ... and for those of all other domains, so that nothing leaves this machine.
"*" = "${HOST}:${sink}"
`
}
