/**
 * Finds names of one label, such as `mailbox`, on a server that other machines reach.
 *
 * SMTP requires a host's full name (RFC 5321 section 2.3.5), and DNS has no records of a name that only one network
 * knows. Such a name is no contradiction, because that would stop the start: a server that has run with one goes on
 * after an upgrade.
 */
import { type DomainName, domainOf } from '../mail/address.js'
import { formatListenerAddress, isLocal, listListeners } from './listeners.js'
import type { Problem } from './problems.js'
import type { Settings } from './schema.js'

const HOST_NAME =
  'a full name such as "mail.example.com", which has A or AAAA records with the addresses of this machine and is in their PTR records'
const DNS_NAME = 'a name in a domain of yours, such as "mail.example.com"'

interface Named {
  readonly key: string
  readonly name: DomainName
  /** Where the name comes from, if it is not in the file. */
  readonly origin: string
  readonly effect: string
  readonly allowed: string
}

/**
 * `hostname` is the one in force, `machineName` that of the operating system. It finds one problem for each name, and
 * none if all listeners are local.
 */
export function findShortNames(settings: Settings, hostname: DomainName, machineName: string): readonly Problem[] {
  const open = listListeners(settings).find(({ address }) => !isLocal(address))
  if (open === undefined) return []
  const reached = `${open.key}, ${formatListenerAddress(open.address)}, is not on loopback`
  return [...hostNamesOf(settings, hostname, machineName), ...dnsNamesOf(settings)]
    .filter(({ name }) => !name.includes('.'))
    .map(({ key, name, origin, effect, allowed }) => ({
      key,
      message: `found ${JSON.stringify(name)}${origin}, a name of one label, ${effect}, while ${reached}; allowed: ${allowed}, or listeners on loopback alone`,
    }))
}

/** The names that the server says at EHLO. */
function hostNamesOf({ service, outbound }: Settings, hostname: DomainName, machineName: string): readonly Named[] {
  const rules = { effect: 'which most mail servers refuse at EHLO', allowed: HOST_NAME }
  const origin = service.hostname === undefined ? describeMachineName(hostname, machineName) : ''
  return [
    { key: 'service.hostname', name: hostname, origin, ...rules },
    ...outbound.sources.flatMap(({ hello }, at) =>
      hello === undefined ? [] : [{ key: `outbound.sources[${at}].hello`, name: hello, origin: '', ...rules }],
    ),
  ]
}

function describeMachineName(hostname: DomainName, machineName: string): string {
  return machineName.toLowerCase() === hostname
    ? ' (the name of this machine, because the file does not set the key)'
    : ` (because the file does not set the key, and the name of this machine, ${JSON.stringify(machineName)}, is not a host name)`
}

/**
 * The names in the records of domains and in the mail of the service, where the file sets them. The defaults follow the
 * host name.
 */
function dnsNamesOf({ service, dns }: Settings): readonly Named[] {
  const { zone, inbound_mx_host, mail_from } = service
  const names = [
    ['service.zone', zone],
    ['service.inbound_mx_host', inbound_mx_host],
    ['service.mail_from', mail_from === undefined ? undefined : domainOf(mail_from)],
    ...dns.nameservers.map((name, at) => [`dns.nameservers[${at}]`, name] as const),
  ] as const
  const rules = { origin: '', effect: 'which other machines do not find in DNS', allowed: DNS_NAME }
  return names.flatMap(([key, name]) => (name === undefined ? [] : [{ key, name, ...rules }]))
}
