/** The sockets of a listener, opened and closed together. */
import { boundAddressOf } from '../../../base/platform/bound-address.js'
import type { Endpoint } from '../session/session-gate.js'
import { shutdownReply } from '../session/session-replies.js'
import type { SmtpSession } from '../session/smtp-session.js'
import { type ListenerRules, SmtpServerAdapter } from './smtp-server-adapter.js'

export interface BoundEndpoint extends Endpoint {
  /** TLS from the start. */
  readonly tls: boolean
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

export function boundEndpointOf(server: AnyServer): BoundEndpoint {
  const { address, port } = boundAddressOf(server.server)
  return { host: address, port, tls: server.tls }
}

/**
 * Accepts nothing new, answers idle clients with 421 4.3.2, and lets messages that are coming in
 * be finished. Resolves once every connection is closed, after `limit` milliseconds at the latest.
 */
export async function stopServers(servers: readonly AnyServer[], limit: number): Promise<void> {
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
