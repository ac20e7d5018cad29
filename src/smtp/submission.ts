/** The submission listener: all its sockets and what they share. */
import type { Principal } from '../accounts/principal.js'
import type { TlsPair } from '../platform/tls-files.js'
import type { SmtpReply } from './protocol-fault.js'
import { type BoundEndpoint, bindServers, boundEndpointOf, stopServers } from './server-sockets.js'
import type { SubmissionDeps } from './submission-deps.js'
import { createSubmissionGate } from './submission-gate.js'
import { SubmissionServer } from './submission-server.js'

export interface SubmissionListener {
  /** In the order of the settings, plain ones first, with the ports that were given. */
  readonly endpoints: readonly BoundEndpoint[]
  /** Connections that are open, those in a TLS handshake included. */
  connections(): number
  /** Bytes of messages in memory. */
  bytesInFlight(): number
  /** The certificate of handshakes from now on. */
  updateSecureContext(tls: TlsPair): void
  /** Ends the sessions of these principals: a key was revoked, a workspace deleted. */
  endSessions(where: (principal: Principal) => boolean): void
  /** Resolves once every connection is closed, after `limit` milliseconds at the latest. */
  stop(limit: number): Promise<void>
}

const accessEndedReply: SmtpReply = { code: 421, status: '4.7.0', text: 'Your access has ended' }

/** Rejects, with nothing left open, when one of the endpoints cannot be bound. */
export async function startSubmissionListener(deps: SubmissionDeps): Promise<SubmissionListener> {
  const { listen, listenTls, finishWithin } = deps.settings
  const gate = createSubmissionGate(deps)
  const wanted = [
    ...listen.map((endpoint) => ({ ...endpoint, tls: false })),
    ...listenTls.map((endpoint) => ({ ...endpoint, tls: true })),
  ]
  const servers = await bindServers(wanted, (tls) => new SubmissionServer(gate, tls))
  return {
    endpoints: servers.map(boundEndpointOf),
    connections: () => gate.connections.countOpen(),
    bytesInFlight: () => gate.memory.usedBytes(),
    updateSecureContext(tls) {
      for (const server of servers) server.updateSecureContext({ ...tls })
    },
    endSessions(where) {
      for (const server of servers) {
        for (const session of server.submissions()) {
          if (session.principal !== null && where(session.principal)) session.finish(accessEndedReply, finishWithin)
        }
      }
    },
    stop: (limit) => stopServers(servers, limit),
  }
}
