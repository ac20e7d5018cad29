/**
 * The MX listener: all its sockets and what they share.
 *
 * It offers STARTTLS and never asks for it, takes no AUTH, and relays for nobody: who may be
 * written to is decided by `recipient`, and a message is answered 250 once `accept` has
 * resolved.
 */

import type { TlsPair } from '../platform/tls-files.js'
import type { MxDeps } from './mx-deps.js'
import { createMxGate } from './mx-gate.js'
import type { MxReason } from './mx-refusals.js'
import { MxServer } from './mx-server.js'
import { type BoundEndpoint, bindServers, boundEndpointOf, stopServers } from './server-sockets.js'

export interface MxListener {
  /** In the order of the settings, with the ports that were given. */
  readonly endpoints: readonly BoundEndpoint[]
  /** Connections that are open, those that owe a PROXY line included. */
  connections(): number
  /** Bytes of messages in memory. */
  bytesInFlight(): number
  /** How many were turned away, by reason, since the start. */
  refusals(): ReadonlyMap<MxReason, number>
  /** The certificate of handshakes from now on. */
  updateSecureContext(tls: TlsPair): void
  /** Resolves once every connection is closed, after `limit` milliseconds at the latest. */
  stop(limit: number): Promise<void>
}

/** Rejects, with nothing left open, when one of the endpoints cannot be bound. */
export async function startMxListener(deps: MxDeps): Promise<MxListener> {
  const gate = createMxGate(deps)
  const wanted = deps.settings.listen.map((endpoint) => ({ ...endpoint, tls: false }))
  const servers = await bindServers(wanted, () => new MxServer(gate))
  return {
    endpoints: servers.map(boundEndpointOf),
    connections: () => gate.connections.countOpen(),
    bytesInFlight: () => gate.memory.usedBytes(),
    refusals: () => gate.refusals(),
    updateSecureContext(tls) {
      for (const server of servers) server.updateSecureContext({ ...tls })
    },
    stop: (limit) => stopServers(servers, limit),
  }
}
