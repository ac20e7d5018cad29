/**
 * Which addresses a stranger's DNS may make us dial: public unicast ones alone.
 *
 * Refused are private, loopback, link-local (cloud metadata with it), shared, multicast,
 * unspecified, documentation and reserved ranges, and every form that hides an IPv4
 * address inside an IPv6 one (mapped, compatible, 6to4, Teredo, NAT64), unless a network
 * of `outbound.allowed_private_networks` holds them. Routes are not asked: the operator
 * wrote them.
 *
 * Known limit: behind DNS64 every IPv4-only host appears inside the NAT64 prefix; an
 * operator there has to allow that prefix.
 */
import ipaddr from 'ipaddr.js'

/** May this address be dialled on the word of DNS? Anything that is no address: no. */
export type AddressGuard = (address: string) => boolean

/** Azure's platform endpoint: public by range, the machine's own host in fact. */
const metadataAddresses = new Set(['168.63.129.16'])
const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3')

/** `allowed`: CIDRs, or single addresses. Throws for anything else. */
export function createAddressGuard(allowed: readonly string[]): AddressGuard {
  const networks = allowed.map((text) => (text.includes('/') ? ipaddr.parseCIDR(text) : singleAddressNetwork(text)))
  return (text) => {
    if (!ipaddr.isValid(text)) return false
    const address = ipaddr.parse(text)
    // A mapped address is judged as IPv4 by the list alone: it never passes as public.
    const plain = ipaddr.process(text)
    return networks.some((network) => isWithin(plain, network) || isWithin(address, network)) || isPublic(address)
  }
}

function singleAddressNetwork(text: string): [ipaddr.IPv4 | ipaddr.IPv6, number] {
  const address = ipaddr.parse(text)
  return [address, address.kind() === 'ipv4' ? 32 : 128]
}

function isWithin(address: ipaddr.IPv4 | ipaddr.IPv6, network: [ipaddr.IPv4 | ipaddr.IPv6, number]): boolean {
  return address.kind() === network[0].kind() && address.match(network)
}

function isPublic(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  if (address.range() !== 'unicast' || metadataAddresses.has(address.toString())) return false
  return address.kind() === 'ipv4' || isWithin(address, globalUnicast)
}
