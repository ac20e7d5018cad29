/** The submission listener: all its sockets, and what they share. */

import { originOf } from '../../../base/platform/connections/client-address.js'
import type { ConnectionOrigin } from '../../../base/platform/connections/connection-limiter.js'
import type { TlsPair } from '../../../base/platform/tls-files.js'
import type { Principal } from '../../../workspaces/accounts/access/principal.js'
import { type BoundEndpoint, bindServers, boundEndpointOf, stopServers } from '../server/server-sockets.js'
import type { ListenerRules } from '../server/smtp-server-adapter.js'
import { accessEndedReply } from '../session/session-replies.js'
import type { SubmissionDeps } from './submission-deps.js'
import { SubmissionGate } from './submission-gate.js'
import { SubmissionSession } from './submission-session.js'

export interface SubmissionListener {
  /** They are in the order of the settings, plain ones first, with the ports that were given. */
  readonly endpoints: readonly BoundEndpoint[]
  /** Connections that are open, those in a TLS handshake included. */
  connections(): number
  /** Bytes of messages in memory. */
  bytesInFlight(): number
  /** The certificate of handshakes from now on. */
  updateSecureContext(tls: TlsPair): void
  /** Ends the sessions of these principals, for example after a key was revoked or a workspace was deleted. */
  endSessions(where: (principal: Principal) => boolean): void
  /** Resolves once every connection is closed, after `limit` milliseconds at the latest. */
  stop(limit: number): Promise<void>
}

/** Rejects, with nothing left open, when one of the endpoints cannot be bound. */
export async function startSubmissionListener(deps: SubmissionDeps): Promise<SubmissionListener> {
  const { listen, listen_tls: listenTls } = deps.settings()
  const gate = new SubmissionGate(deps)
  const { finishWithin } = gate.limits
  const endpoints = [
    ...listen.map((endpoint) => ({ ...endpoint, tls: false })),
    ...listenTls.map((endpoint) => ({ ...endpoint, tls: true })),
  ]
  const servers = await bindServers(endpoints, listenerRules(gate))
  return {
    endpoints: servers.map(boundEndpointOf),
    connections: () => gate.connections.countOpen(),
    bytesInFlight: () => gate.memory.usedBytes(),
    updateSecureContext(tls) {
      for (const server of servers) server.updateSecureContext({ ...tls })
    },
    endSessions(where) {
      for (const { smtpSession } of servers.flatMap((server) => [...server.openConnections()])) {
        const { principal } = smtpSession
        if (principal !== null && where(principal)) smtpSession.finish(accessEndedReply, finishWithin)
      }
    },
    stop: (limit) => stopServers(servers, limit),
  }
}

function listenerRules(gate: SubmissionGate): ListenerRules<SubmissionSession> {
  return {
    gate,
    openSession: (connection) => {
      gate.observer?.onSession()
      return new SubmissionSession(gate, connection)
    },
    originOf: (address) => originUnlessTrusted(gate, address),
    checkNewClient: () => null,
    isProxy: () => false,
    forSubmission: true,
    logFault: (facts) => gate.lines.info(facts, 'a submission client failed'),
  }
}

/** The limit of a network does not hold for one that the operator trusts. */
function originUnlessTrusted({ deps }: SubmissionGate, address: string): ConnectionOrigin {
  const origin = originOf(address)
  try {
    return deps.access.findTrusted(address) === null ? origin : { ...origin, network: null }
  } catch {
    return origin // the session asks again, and answers the client
  }
}
