/**
 * IP addresses and networks: parsing, and whether one holds the other.
 *
 * Addresses are compared as what they are: an IPv4-mapped IPv6 address (RFC 4291 section 2.5.5.2)
 * counts as IPv4, and an IPv4 network holds no IPv6 address.
 */
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

export type IpAddress = ipaddr.IPv4 | ipaddr.IPv6

export interface Network {
  /** The address/prefix form (CIDR). */
  readonly text: string
  readonly base: IpAddress
  readonly prefixLength: number
}

/** Null if it is no address. */
export function parseIpAddress(text: string): IpAddress | null {
  return isIP(text) !== 0 && ipaddr.isValid(text) ? ipaddr.process(text) : null
}

/**
 * Reads `192.168.1.0/24` and `fd00::/8`; a single address is a network with one address. Null for anything else, and
 * for an IPv4-mapped address or a zone identifier, which would never match.
 */
export function parseNetwork(text: string): Network | null {
  const [address = '', ...prefix] = text.split('/')
  if (isIP(address) === 0 || address.includes('%') || prefix.length > 1) return null
  const cidr = prefix.length === 1 ? text : `${address}/${isIP(address) === 4 ? 32 : 128}`
  if (!ipaddr.isValidCIDR(cidr)) return null
  const [base, prefixLength] = ipaddr.parseCIDR(cidr)
  return base instanceof ipaddr.IPv6 && base.isIPv4MappedAddress() ? null : { text: cidr, base, prefixLength }
}

export function isInNetwork({ base, prefixLength }: Network, address: IpAddress): boolean {
  return address.kind() === base.kind() && address.match(base, prefixLength)
}

/** False for a text that is not an address. */
export function isInSomeNetwork(networks: readonly Network[], address: string): boolean {
  const parsed = networks.length === 0 ? null : parseIpAddress(address)
  return parsed !== null && networks.some((network) => isInNetwork(network, parsed))
}

/** Whether every address of `inner` is in `outer`. */
export function containsNetwork(outer: Network, inner: Network): boolean {
  return inner.prefixLength >= outer.prefixLength && isInNetwork(outer, inner.base)
}

/** True for 127.0.0.0/8 and ::1. False for a name: its addresses are checked elsewhere. */
export function isLoopback(address: string): boolean {
  return parseIpAddress(address)?.range() === 'loopback'
}

/** `192.0.2.99` as `99.2.0.192`, IPv6 as its 32 nibbles, as DNS lists name it. Null if the address is not public. */
export function reverseAddress(text: string): string | null {
  const address = parseIpAddress(text)
  if (address?.range() !== 'unicast') return null
  if (address instanceof ipaddr.IPv4) return address.octets.toReversed().join('.')
  return [...address.toNormalizedString().split(':')]
    .flatMap((part) => [...part.padStart(4, '0')])
    .toReversed()
    .join('.')
}

/** The name of its PTR record (RFC 1035 section 3.5, RFC 3596 section 2.5). */
export function toReverseName(address: IpAddress): string {
  if (address.kind() === 'ipv4') return `${address.toByteArray().toReversed().join('.')}.in-addr.arpa`
  const digits = address.toByteArray().map((byte) => byte.toString(16).padStart(2, '0'))
  return `${[...digits.join('')].toReversed().join('.')}.ip6.arpa`
}

const unpublishable = ['unspecified', 'broadcast', 'multicast', 'ipv4Mapped']

/** Whether DNS can publish it. It must be the address of one machine, not IPv4-mapped, without a zone identifier. */
export function isPublishable(text: string): boolean {
  return isIP(text) !== 0 && !text.includes('%') && !unpublishable.includes(ipaddr.parse(text).range())
}
