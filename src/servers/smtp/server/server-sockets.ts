/** The sockets of a listener, opened and closed together. */
import { boundAddressOf } from '../../../base/platform/bound-address.js'
import type { TlsPair } from '../../../base/platform/tls-files.js'
import type { Endpoint, SessionGate } from '../session/session-gate.js'
import { shutdownReply } from '../session/session-replies.js'
import type { SmtpSession } from '../session/smtp-session.js'
import { type ListenerRules, SmtpServerAdapter } from './smtp-server-adapter.js'

export interface BoundEndpoint extends Endpoint {
  /** TLS from the start. */
  readonly tls: boolean
}

/** An open listener, of either kind. */
export class SmtpListener<Session extends SmtpSession> {
  /** They are in the order of the settings, with the ports that were given. */
  readonly endpoints: readonly BoundEndpoint[]

  constructor(
    private readonly shared: SessionGate,
    protected readonly servers: readonly SmtpServerAdapter<Session>[],
  ) {
    this.endpoints = servers.map(boundEndpointOf)
  }

  /** Open connections, including those in a TLS handshake and those whose PROXY line has not come. */
  connections(): number {
    return this.shared.connections.countOpen()
  }

  /** Bytes of messages in memory. */
  bytesInFlight(): number {
    return this.shared.memory.usedBytes()
  }

  /** The certificate of handshakes from now on. */
  updateSecureContext(tls: TlsPair): void {
    for (const server of this.servers) server.updateSecureContext({ ...tls })
  }

  /** Resolves once every connection is closed, after `limit` milliseconds at the latest. */
  stop(limit: number): Promise<void> {
    return stopServers(this.servers, limit)
  }
}

/** Rejects, with nothing left open, when one of the endpoints cannot be bound. */
export async function bindServers<Session extends SmtpSession>(
  endpoints: readonly BoundEndpoint[],
  rules: ListenerRules<Session>,
): Promise<readonly SmtpServerAdapter<Session>[]> {
  const servers: SmtpServerAdapter<Session>[] = []
  try {
    for (const endpoint of endpoints) servers.push(await bind(new SmtpServerAdapter(rules, endpoint.tls), endpoint))
  } catch (error) {
    await stopServers(servers, 0)
    throw error
  }
  return servers
}

function bind<Server extends AnyServer>(server: Server, { host, port }: Endpoint): Promise<Server> {
  return new Promise((resolve, reject) => {
    server.server.once('error', reject)
    // So `[::]` and `0.0.0.0` can share one port.
    server.listen({ host, port, ipv6Only: host.includes(':') }, () => {
      server.server.off('error', reject)
      resolve(server)
    })
  })
}

type AnyServer = SmtpServerAdapter<SmtpSession>

function boundEndpointOf(server: AnyServer): BoundEndpoint {
  const { address, port } = boundAddressOf(server.server)
  return { host: address, port, tls: server.tls }
}

/**
 * Accepts nothing new, answers idle clients with 421 4.3.2, and lets messages that are coming in
 * be finished. Resolves once every connection is closed, after `limit` milliseconds at the latest.
 */
async function stopServers(servers: readonly AnyServer[], limit: number): Promise<void> {
  const connections = () => servers.flatMap((server) => [...server.openConnections()])
  const closed = Promise.all(
    servers.map((server) => new Promise<void>((resolve) => server.stopAccepting(limit, resolve))),
  )
  for (const { smtpSession } of connections()) smtpSession.finish(shutdownReply, limit)
  const timeout = new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, limit)
    void closed.then(() => clearTimeout(timer))
  })
  await Promise.race([closed, timeout])
  for (const connection of connections()) connection.destroy()
}
