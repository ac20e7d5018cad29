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
import { type IpAddress, isInNetwork, type Network, parseIpAddress } from '../../platform/ip-address.js'

/** May this address be dialled on the word of DNS? Anything that is no address: no. */
export type AddressGuard = (address: string) => boolean

/** Azure's platform endpoint: public by range, the machine's own host in fact. */
const metadataAddresses = new Set(['168.63.129.16'])
const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3')

export function createAddressGuard(allowed: readonly Network[]): AddressGuard {
  return (text) => {
    const address = parseIpAddress(text)
    if (address === null) return false
    // An IPv4-mapped address counts as IPv4 for the list alone: it never passes as public.
    const raw = ipaddr.parse(text)
    return allowed.some((network) => isInNetwork(network, address) || isInNetwork(network, raw)) || isPublic(raw)
  }
}

function isPublic(address: IpAddress): boolean {
  if (address.range() !== 'unicast' || metadataAddresses.has(address.toString())) return false
  return address.kind() === 'ipv4' || address.match(globalUnicast[0], globalUnicast[1])
}
