/**
 * The MX listener: all its sockets, and what they share.
 *
 * It offers STARTTLS without requiring it, offers no AUTH, and does not relay: `RecipientChecker` decides
 * who receives mail here. A message is answered 250 once `InboundAcceptor.accept` has resolved.
 */

import { originOf } from '../../../base/platform/connections/client-address.js'
import { isInSomeNetwork } from '../../../base/platform/ip-address.js'
import type { TlsPair } from '../../../base/platform/tls-files.js'
import { type BoundEndpoint, bindServers, boundEndpointOf, stopServers } from '../server/server-sockets.js'
import type { ListenerRules } from '../server/smtp-server-adapter.js'
import type { SmtpReply } from '../session/smtp-reply.js'
import type { MxDeps } from './mx-deps.js'
import { MxGate } from './mx-gate.js'
import { type MxReason, mxReplies } from './mx-refusals.js'
import { MxSession } from './mx-session.js'

export interface MxListener {
  /** They are in the order of the settings, with the ports that were given. */
  readonly endpoints: readonly BoundEndpoint[]
  /** Open connections, including those whose PROXY line has not come. */
  connections(): number
  /** Bytes of messages in memory. */
  bytesInFlight(): number
  /** How many clients, recipients and messages were turned away, by reason, since the start. */
  refusals(): ReadonlyMap<MxReason, number>
  /** The certificate of handshakes from now on. */
  updateSecureContext(tls: TlsPair): void
  /** Resolves once every connection is closed, after `limit` milliseconds at the latest. */
  stop(limit: number): Promise<void>
}

/** Rejects, with nothing left open, when one of the endpoints cannot be bound. */
export async function startMxListener(deps: MxDeps): Promise<MxListener> {
  const gate = new MxGate(deps)
  const endpoints = deps.settings().listen.map((endpoint) => ({ ...endpoint, tls: false }))
  const servers = await bindServers(endpoints, listenerRules(gate))
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

function listenerRules(gate: MxGate): ListenerRules<MxSession> {
  const { settings, newConnections, clock, lines } = gate
  return {
    gate,
    openSession: (connection) => {
      gate.observer?.onSession()
      return new MxSession(gate, connection)
    },
    originOf,
    checkNewClient(origin, client): SmtpReply | null {
      if (newConnections.take(origin.address, clock()).allowed) return null
      gate.note('connection-rate', { client })
      return mxReplies['connection-rate']
    },
    isProxy: (address) => isInSomeNetwork(settings().proxies, address),
    forSubmission: false,
    logFault: (facts) => lines.info(facts, 'an MX client failed'),
  }
}
