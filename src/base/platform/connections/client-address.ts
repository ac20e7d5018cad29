/**
 * The client's address and network as keys for limits.
 *
 * An IPv6 client may use any address of its /64 (RFC 6177), so the /64 counts as one address. Its
 * network is the /48 of its site; the network of an IPv4 client is its /24.
 */
import ipaddr from 'ipaddr.js'
import { parseIpAddress } from '../ip-address.js'
import type { ConnectionOrigin } from './connection-limiter.js'

/** The IPv4 address, the /64 of the IPv6 address, or the text itself if it is not an address. */
export function addressKeyOf(remoteAddress: string): string {
  const address = parseIpAddress(remoteAddress)
  if (address === null) return remoteAddress
  if (address instanceof ipaddr.IPv4) return address.toString()
  return prefixOf(address, 64)
}

/** The /24 of the IPv4 address, the /48 of the IPv6 address. Null if it is no address. */
export function networkKeyOf(remoteAddress: string): string | null {
  const address = parseIpAddress(remoteAddress)
  if (address === null) return null
  return address instanceof ipaddr.IPv4 ? `${address.octets.slice(0, 3).join('.')}.0/24` : prefixOf(address, 48)
}

/** The address and network for which a connection counts. */
export function originOf(remoteAddress: string): ConnectionOrigin {
  return { address: addressKeyOf(remoteAddress), network: networkKeyOf(remoteAddress) }
}

/** `bits` is a multiple of 16. */
function prefixOf({ parts }: ipaddr.IPv6, bits: number): string {
  const words = parts.slice(0, bits / 16).map((part) => part.toString(16))
  return `${words.join(':')}::/${bits}`
}
