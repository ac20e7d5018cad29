/**
 * Chooses which of a machine's names the service takes, and looks for the DNS records that belong to it.
 *
 * Receivers compare the reverse name of the address with the name that the server gives. Therefore a reverse name that
 * leads back to its address comes first, unless it is one that a hosting provider made out of the address.
 */
import { parseIpAddress } from '../../base/platform/ip-address.js'
import type { MachineNames, PublicAddress } from './machine-names.js'

interface ChosenHostname {
  readonly name: string
  /** The reason for this choice, for the operator. */
  readonly reason: string
}

/** Null if the operator must set one. */
export function chooseHostname(names: MachineNames): ChosenHostname | null {
  const confirmed = names.addresses.flatMap(({ address, reverse }) =>
    reverse.filter((one) => one.confirmed).map(({ name }) => ({ name, address })),
  )
  const find = (accepts: (one: { readonly name: string; readonly address: string }) => boolean, reason: string) => {
    const found = confirmed.find(accepts)
    return found === undefined ? null : { name: found.name, reason: `${reason} ${found.address}` }
  }
  const own = find(({ name }) => name === names.hostname, 'the name of this host and the reverse name of')
  const exchange = find(
    ({ name }) => names.exchanges.includes(name),
    `the MX of ${names.domain}, and the reverse name of`,
  )
  const reverse = find(({ name, address }) => !isMadeOfAddress(name, address), 'the reverse name of')
  return own ?? exchange ?? reverse ?? nameOfHost(names)
}

function nameOfHost({ hostname }: MachineNames): ChosenHostname | null {
  return hostname === null ? null : { name: hostname, reason: 'the name of this host' }
}

/** Matches `static.25.113.0.203.clients.example.net`: three of four octets, or the digits of an IPv6 address. */
function isMadeOfAddress(name: string, text: string): boolean {
  const address = parseIpAddress(text)
  if (address === null) return false
  if (address.kind() === 'ipv6') return name.replace(/[^0-9a-f]/g, '').includes(lastDigitsOf(address.toByteArray()))
  const numbers = (name.match(/\d+/g) ?? []).map(Number)
  return address.toByteArray().filter((octet) => numbers.includes(octet)).length >= 3
}

function lastDigitsOf(bytes: readonly number[]): string {
  return bytes
    .slice(-4)
    .map((byte) => byte.toString(16).padStart(2, '0'))
    .join('')
}

/** Whether the reverse name of an address is `hostname`, and leads back. */
export function hasReverseName({ reverse }: PublicAddress, hostname: string): boolean {
  return reverse.some(({ name, confirmed }) => confirmed && name === hostname)
}
