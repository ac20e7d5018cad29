/**
 * Decides which addresses from DNS may be dialled: only public unicast ones, because the DNS of a
 * recipient's domain is untrusted.
 *
 * Private, loopback, link-local (which includes cloud metadata), shared, multicast, unspecified,
 * documentation and reserved ranges are refused, and so is every form that hides an IPv4 address in
 * an IPv6 one (mapped, compatible, 6to4, Teredo, NAT64), unless `outbound.allowed_private_networks`
 * contains the address. Routes are exempt: the operator wrote them.
 *
 * Known limit: behind DNS64 every IPv4-only host appears inside the NAT64 prefix, which the operator
 * then has to allow.
 */
import ipaddr from 'ipaddr.js'

/** May this address from DNS be dialled? False for a text that is no address. */
export type AddressGuard = (address: string) => boolean

/** Azure's platform endpoint: in a public range, but the host of the virtual machine. */
const metadataAddresses = new Set(['168.63.129.16'])
const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3')

/** `allowed`: CIDRs or single addresses. Throws for any other text. */
export function createAddressGuard(allowed: readonly string[]): AddressGuard {
  const networks = allowed.map((text) => (text.includes('/') ? ipaddr.parseCIDR(text) : singleAddressNetwork(text)))
  return (text) => {
    if (!ipaddr.isValid(text)) return false
    const address = ipaddr.parse(text)
    // A mapped address passes as IPv4 only by the list, and never as a public address.
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
