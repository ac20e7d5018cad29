/**
 * Lists what an operator does after the installation: DNS, firewall, certificate, the first start, the first workspace.
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
  /** The command that the operator types: `posthorn`, or its path if it is not in PATH. */
  readonly program: string
}

export function formatNextSteps(installed: Installed): readonly string[] {
  const { file, hostname, program, names } = installed
  const steps = [
    hostname === null ? formatNaming(installed) : [`Look through ${file}.`],
    formatDns(installed),
    formatFirewall(installed),
    formatCertificate(installed),
    ...(installed.portsInUse.length === 0 ? [] : [formatPortsInUse(installed)]),
    [
      'Check the configuration and start the service, now and at each boot:',
      `  ${program} check`,
      '  systemctl enable --now posthorn posthorn-backup.timer',
    ],
    [
      'Make the first workspace, which prints its key once, and add the domain that mail comes from:',
      `  ${program} setup --workspace Main --email you@${names.domain ?? 'example.com'}`,
      `  ${program} domain add ${names.domain ?? 'example.com'}`,
    ],
  ]
  const numbered = steps.flatMap(([first = '', ...rest], at) => [
    `${at + 1}. ${first}`,
    ...rest.map((line) => `   ${line}`),
  ])
  return ['Left to do:', ...numbered, 'docs/install.md describes each step.']
}

function formatNaming({ file, config, program }: Installed): readonly string[] {
  const { hostname } = config.service
  return [
    `Set hostname under [service] in ${file} to the name that this machine's address resolves back to.`,
    ...(hostname.includes('.')
      ? []
      : [
          `  "${program} check", "setup" and "domain add" refuse "${hostname}": other servers accept no name of one label`,
        ]),
  ]
}

function formatDns({ hostname, names, config }: Installed): readonly string[] {
  const name = hostname ?? 'mail.example.net'
  const zone = hostname === null ? name : config.service.zone
  const addresses = names.addresses.length > 0 ? names.addresses : [{ address: '192.0.2.1', reverse: [] }]
  const example = names.addresses.length > 0 ? '' : ', with the public address of this machine'
  return [
    `DNS${example}:`,
    ...addresses.map((one) => `  ${formatForward(name, one, names)}`),
    ...addresses.map((one) => `  ${formatReverse(name, one)}`),
    `  the service zone ${zone}: delegate it, or publish what \`posthorn zone\` prints (docs/zone.md)`,
    ...formatExchanges(names, name),
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

function formatExchanges({ domain, exchanges, unanswered }: MachineNames, name: string): readonly string[] {
  const silent = unanswered
    ? ['  DNS did not answer every question: what is marked as there was seen, the rest may be there too']
    : []
  const elsewhere = exchanges.filter((exchange) => exchange !== name)
  if (elsewhere.length === 0) return silent
  return [
    ...silent,
    `  mail for ${domain} arrives at ${elsewhere.slice(0, 3).join(', ')}: it stays there until you change its MX record, and sending needs no change`,
  ]
}

function formatFirewall({ config }: Installed): readonly string[] {
  const inbound = portsOf(config.inbound.listen)
  const submission = portsOf([...config.submission.listen, ...config.submission.listen_tls])
  const api = portsOf(tlsListenersOf(config))
  return [
    'Firewall:',
    `  out: port ${config.outbound.port} (many hosting providers open it on request only), 53`,
    `  in, from the Internet: port ${[...inbound, ...api].join(', ')}`,
    `  in, from your applications: port ${[...submission, ...api].join(', ')}`,
  ]
}

function formatCertificate({ file }: Installed): readonly string[] {
  return [
    "Certificate: from Let's Encrypt, or of your own (docs/certificates.md); else the first start makes a self-signed one.",
    `  enabled = true and email under [tls.acme] in ${file}`,
    '  firewall: in, from the Internet: port 80',
  ]
}

function formatPortsInUse({ portsInUse, file, config }: Installed): readonly string[] {
  const mail = portsInUse.some((port) => portsOf(config.inbound.listen).includes(port))
  return [
    `Another program listens on port ${portsInUse.join(', ')}${mail ? ', probably another mail server' : ''}: stop it, or choose other ports in ${file}.`,
    ...portsInUse.map((port) => `  ss -ltnp 'sport = :${port}'`),
  ]
}

export function tlsListenersOf({ api }: Config): readonly { readonly port: number }[] {
  return api.listen.flatMap((one) => (one.kind === 'tls' ? [one] : []))
}

export function portsOf(listeners: readonly { readonly port: number }[]): readonly number[] {
  return [...new Set(listeners.map(({ port }) => port))]
}
