/**
 * The submission listener: all its sockets, what they share, and its end.
 *
 * `stop` accepts nothing new, tells idle clients 421 4.3.2, lets messages that are coming
 * in be finished, and closes what is left when the limit is over.
 */
import type { AddressInfo } from 'node:net'
import type { Principal } from '../accounts/principal.js'
import type { SmtpReply } from './protocol-fault.js'
import type { Endpoint, SubmissionDeps, TlsPair } from './submission-deps.js'
import { type SubmissionGate, submissionGate } from './submission-gate.js'
import { SubmissionServer } from './submission-server.js'
import type { SubmissionSession } from './submission-session.js'

export interface BoundEndpoint extends Endpoint {
  /** TLS from the start. */
  readonly tls: boolean
}

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

const revoked: SmtpReply = { code: 421, status: '4.7.0', text: 'Your access has ended' }
const stopping: SmtpReply = { code: 421, status: '4.3.2', text: 'Shutting down, try again later' }

/** Rejects, with nothing left open, when one of the endpoints cannot be bound. */
export async function listenForSubmissions(deps: SubmissionDeps): Promise<SubmissionListener> {
  const { listen, listenTls, finishWithin } = deps.settings
  const gate = submissionGate(deps)
  const wanted = [
    ...listen.map((endpoint) => ({ ...endpoint, tls: false })),
    ...listenTls.map((endpoint) => ({ ...endpoint, tls: true })),
  ]
  const servers: SubmissionServer[] = []
  try {
    for (const endpoint of wanted) servers.push(await bind(gate, endpoint))
  } catch (error) {
    await stop(servers, 0)
    throw error
  }
  return {
    endpoints: servers.map(boundEndpoint),
    connections: () => gate.connections.open(),
    bytesInFlight: () => gate.memory.used(),
    updateSecureContext(tls) {
      for (const server of servers) server.updateSecureContext({ ...tls })
    },
    endSessions(where) {
      for (const server of servers) {
        for (const session of server.open()) {
          if (session.principal !== null && where(session.principal)) session.finish(revoked, finishWithin)
        }
      }
    },
    stop: (limit) => stop(servers, limit),
  }
}

function bind(gate: SubmissionGate, { host, port, tls }: BoundEndpoint): Promise<SubmissionServer> {
  return new Promise((resolve, reject) => {
    const server = new SubmissionServer(gate, tls)
    server.server.once('error', reject)
    server.listen({ host, port }, () => {
      server.server.off('error', reject)
      resolve(server)
    })
  })
}

function boundEndpoint(server: SubmissionServer): BoundEndpoint {
  const { address, port } = server.server.address() as AddressInfo // bound to a port, never to a path
  return { host: address, port, tls: server.tls }
}

async function stop(servers: readonly SubmissionServer[], limit: number): Promise<void> {
  const sessions = (): readonly SubmissionSession[] => servers.flatMap((server) => [...server.open()])
  const closed = Promise.all(servers.map((server) => new Promise<void>((resolve) => server.shut(limit, resolve))))
  for (const session of sessions()) session.finish(stopping, limit)
  const tooLate = new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, limit)
    void closed.then(() => clearTimeout(timer))
  })
  await Promise.race([closed, tooLate])
  for (const session of sessions()) session.destroy()
}
