/** Finds where a TCP server listens. */
import type { AddressInfo, Server } from 'node:net'

/** Throws for a server that is closed, or bound to a path. */
export function boundAddressOf(server: Pick<Server, 'address'>): AddressInfo {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the server is not bound to a port')
  return address
}
