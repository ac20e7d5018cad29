/**
 * Lists what an operator does after the installation, in five steps: host name, firewall, certificate, the first start,
 * the first workspace.
 */
import type { Config } from '../../base/config/complete.js'
import { hasReverseName } from './choose-hostname.js'
import type { MachineNames, PublicAddress } from './machine-names.js'

interface Installed {
  /** The configuration file. */
  readonly file: string
  readonly config: Config
  readonly names: MachineNames
  /** Null if none was found, and the operator must set one. */
  readonly hostname: string | null
  /** Ports of the configuration that another program holds. */
  readonly portsInUse: readonly number[]
  /** The folder of the pages. */
  readonly docs: string
  /** The command that the operator types: `posthorn`, or its path if it is not in PATH. */
  readonly program: string
}

export function formatNextSteps(installed: Installed): readonly string[] {
  const { docs, program } = installed
  const steps = [
    formatNames(installed),
    formatFirewall(installed),
    formatCertificate(installed),
    [
      'Check the configuration and start the service, now and at each boot:',
      `  ${program} check`,
      '  systemctl enable --now posthorn posthorn-backup.timer',
    ],
    formatSetup(installed),
  ]
  const numbered = steps.flatMap(([first = '', ...rest], at) => [
    `${at + 1}. ${first}`,
    ...rest.map((line) => `   ${line}`),
  ])
  return ['Left to do:', ...numbered, `${docs}/install.md describes each step.`]
}

function formatNames(installed: Installed): readonly string[] {
  const { file, hostname, names } = installed
  const name = hostname ?? 'mail.example.net'
  const addresses = names.addresses.length > 0 ? names.addresses : [{ address: '192.0.2.1', reverse: [] }]
  const example = names.addresses.length > 0 ? '' : ', with the public address of this machine'
  return [
    hostname === null ? formatNaming(installed) : `Host name and PTR, as [service] of ${file} has them${example}:`,
    ...(hostname === null ? formatShortName(installed) : []),
    ...addresses.map((one) => `  ${formatForward(name, one, names)}`),
    ...addresses.map((one) => `  ${formatReverse(name, one)}`),
    ...(names.unanswered
      ? ['  DNS did not answer every question: what is marked as there was seen, the rest may be there too']
      : []),
  ]
}

function formatNaming({ file }: Installed): string {
  return `Set hostname under [service] in ${file} to the name that this machine's address resolves back to:`
}

function formatShortName({ config, program }: Installed): readonly string[] {
  const { hostname } = config.service
  if (hostname.includes('.')) return []
  return [
    `  "${program} check", "setup" and "domain add" refuse "${hostname}": other servers accept no name of one label`,
  ]
}

function formatSetup({ names: { domain, exchanges }, hostname, program }: Installed): readonly string[] {
  const name = domain ?? 'example.com'
  const elsewhere = exchanges.filter((exchange) => exchange !== hostname)
  return [
    'Make the first workspace and its domain: prints the key once and all DNS records in one list, waits until DNS has them, and sends the first message:',
    `  ${program} setup --workspace Main --email YOUR_ADDRESS --domain ${name} --wait`,
    '  YOUR_ADDRESS: a mailbox that you read now; it gets the first message and owns the dashboard',
    ...(elsewhere.length === 0
      ? []
      : [
          `  mail for ${name} arrives at ${elsewhere.slice(0, 3).join(', ')}: it stays there until you change its MX record, and sending needs no change`,
        ]),
  ]
}

function formatForward(name: string, { address, reverse }: PublicAddress, names: MachineNames): string {
  const type = address.includes(':') ? 'AAAA' : 'A'
  const isKnown =
    (name === names.hostname && names.hostnameAddresses.includes(address)) ||
    reverse.some((one) => one.name === name && one.confirmed)
  return `${name}. ${type} ${address}${isKnown ? ' (is there)' : ''}`
}

function formatReverse(name: string, address: PublicAddress): string {
  const record = `PTR of ${address.address}: ${name}`
  if (hasReverseName(address, name)) return `${record} (is there)`
  const now = address.reverse.map((one) => one.name).join(', ')
  return `${record}, set at the hosting provider${now === '' ? '' : ` (now: ${now})`}`
}

function formatFirewall(installed: Installed): readonly string[] {
  const { config } = installed
  const inbound = portsOf(config.inbound.listen)
  const submission = portsOf([...config.submission.listen, ...config.submission.listen_tls])
  const api = portsOf(tlsListenersOf(config))
  return [
    'Firewall:',
    `  out: port ${config.outbound.port} (many hosting providers open it on request only), 53`,
    `  in, from the Internet: port ${[...inbound, ...api].join(', ')}`,
    `  in, from your applications: port ${[...submission, ...api].join(', ')}`,
    ...formatPortsInUse(installed),
  ]
}

function formatCertificate({ file, docs }: Installed): readonly string[] {
  return [
    `Certificate from Let's Encrypt, or of your own (${docs}/certificates.md); else the first start makes a self-signed one:`,
    `  in ${file}, remove "# " before [tls.acme], enabled and email, and set your address`,
    '  firewall: in, from the Internet: port 80',
  ]
}

function formatPortsInUse({ portsInUse, file, config }: Installed): readonly string[] {
  if (portsInUse.length === 0) return []
  const mail = portsInUse.some((port) => portsOf(config.inbound.listen).includes(port))
  return [
    `  another program listens on port ${portsInUse.join(', ')}${mail ? ', probably another mail server' : ''}: stop it, or choose other ports in ${file}`,
    ...portsInUse.map((port) => `    ss -ltnp 'sport = :${port}'`),
  ]
}

export function tlsListenersOf({ api }: Config): readonly { readonly port: number }[] {
  return api.listen.flatMap((one) => (one.kind === 'tls' ? [one] : []))
}

export function portsOf(listeners: readonly { readonly port: number }[]): readonly number[] {
  return [...new Set(listeners.map(({ port }) => port))]
}
