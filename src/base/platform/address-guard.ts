/**
 * Decides which addresses may be dialled when others chose them: the DNS of a recipient's domain, the URL of a
 * webhook. Only public unicast addresses may.
 *
 * Private, loopback, link-local (which includes cloud metadata), shared, multicast, unspecified, documentation and
 * reserved ranges are refused, and so is every form that hides an IPv4 address in an IPv6 one (mapped, compatible,
 * 6to4, Teredo, NAT64), unless the list of allowed networks contains the address.
 *
 * Known limit: behind DNS64 every IPv4-only host appears inside the NAT64 prefix, which the operator then has to allow.
 */
import ipaddr from 'ipaddr.js'
import { type IpAddress, isInNetwork, type Network, parseIpAddress } from './ip-address.js'

/** Whether this address may be dialled. False for a text that is no address. */
export type AddressGuard = (address: string) => boolean

/** Azure's platform endpoint. It is in a public range, but it is the host of the virtual machine. */
const metadataAddresses = new Set(['168.63.129.16'])
const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3')

export function createAddressGuard(allowed: readonly Network[]): AddressGuard {
  return (text) => {
    const address = parseIpAddress(text)
    if (address === null) return false
    // An IPv4-mapped address passes as IPv4 only by the list, and never as a public address.
    const raw = ipaddr.parse(text)
    return allowed.some((network) => isInNetwork(network, address) || isInNetwork(network, raw)) || isPublic(raw)
  }
}

function isPublic(address: IpAddress): boolean {
  if (address.range() !== 'unicast' || metadataAddresses.has(address.toString())) return false
  return address.kind() === 'ipv4' || address.match(globalUnicast[0], globalUnicast[1])
}
