/**
 * The client's address as a key for limits, and whether it is this machine.
 *
 * An IPv6 client has a whole /64 to choose addresses from (RFC 6177), so all of it counts as one.
 */
import ipaddr from 'ipaddr.js'

/** The IPv4 address, the /64 of the IPv6 address, or the text itself where it is no address. */
export function limitKey(remoteAddress: string): string {
  const address = parsed(remoteAddress)
  if (address === null) return remoteAddress
  if (address instanceof ipaddr.IPv4) return address.toString()
  return `${address.parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(':')}::/64`
}

/** 127.0.0.0/8 or ::1. */
export function isLoopback(remoteAddress: string): boolean {
  return parsed(remoteAddress)?.range() === 'loopback'
}

function parsed(text: string): ipaddr.IPv4 | ipaddr.IPv6 | null {
  return ipaddr.isValid(text) ? ipaddr.process(text) : null
}
