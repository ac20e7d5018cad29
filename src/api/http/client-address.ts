/**
 * Where a request comes from: the other end of its connection, or what a proxy that we
 * trust says of it.
 *
 * `X-Forwarded-For` is read from the right, where our own proxies have written: the first
 * address that is not one of them is the client. What lies further left anybody may have
 * sent. An entry that is no address ends the search, so that nothing behind it counts.
 */
import { isInSomeNetwork, type Network, parseIpAddress } from '../../platform/ip-address.js'

/** The other end of a connection. */
export interface Peer {
  readonly address: string
  /** What it says of its clients counts. */
  readonly trusted: boolean
  readonly tls: boolean
}

/** At a Unix socket there is no address: whoever speaks there is this machine. */
export const LOOPBACK_ADDRESS = '127.0.0.1'

export type IsProxy = (address: string) => boolean

export function createProxyCheck(networks: readonly Network[]): IsProxy {
  return (address) => isInSomeNetwork(networks, address)
}

export function findClientAddress(peer: Peer, forwardedFor: string | undefined, isProxy: IsProxy): string {
  if (forwardedFor === undefined || !peer.trusted) return peer.address
  let nearest = peer.address
  for (const entry of forwardedFor.split(',').reverse()) {
    const address = parseAddressEntry(entry.trim())
    if (address === null) return nearest
    nearest = address
    if (!isProxy(address)) return nearest
  }
  return nearest
}

/** How the client itself spoke to us or to the nearest proxy; null: nobody says so. */
export function findClientScheme(peer: Peer, forwardedProto: string | undefined): 'http' | 'https' | null {
  const said = peer.trusted ? forwardedProto?.split(',').at(-1)?.trim().toLowerCase() : undefined
  if (said === 'http' || said === 'https') return said
  return peer.tls ? 'https' : null
}

/** `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]:80`; IPv4 as IPv6 counts as IPv4. */
function parseAddressEntry(entry: string): string | null {
  const bare = /^\[([^\]]+)\](?::\d+)?$/.exec(entry)?.[1] ?? /^([\d.]+):\d+$/.exec(entry)?.[1] ?? entry
  return parseIpAddress(bare)?.toString() ?? null
}
