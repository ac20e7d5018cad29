/**
 * The sockets of an SMTP door, opened and closed together.
 *
 * `stopServers` accepts nothing new, tells idle clients 421 4.3.2, lets messages that are
 * coming in be finished, and closes what is left when the limit is over.
 */

import { boundAddressOf } from '../platform/bound-address.js'
import type { MailServer } from './mail-server.js'
import type { MailSession } from './mail-session.js'
import type { Endpoint } from './session-gate.js'
import { shutdownReply } from './session-replies.js'

export interface BoundEndpoint extends Endpoint {
  /** TLS from the start. */
  readonly tls: boolean
}

/** Rejects, with nothing left open, when one of the endpoints cannot be bound. */
export async function bindServers<Server extends MailServer>(
  wanted: readonly BoundEndpoint[],
  server: (tls: boolean) => Server,
): Promise<readonly Server[]> {
  const servers: Server[] = []
  try {
    for (const endpoint of wanted) servers.push(await bind(server(endpoint.tls), endpoint))
  } catch (error) {
    await stopServers(servers, 0)
    throw error
  }
  return servers
}

function bind<Server extends MailServer>(server: Server, { host, port }: Endpoint): Promise<Server> {
  return new Promise((resolve, reject) => {
    server.server.once('error', reject)
    // `[::]` beside `0.0.0.0` on one port.
    server.listen({ host, port, ipv6Only: host.includes(':') }, () => {
      server.server.off('error', reject)
      resolve(server)
    })
  })
}

export function boundEndpointOf(server: MailServer): BoundEndpoint {
  const { address, port } = boundAddressOf(server.server)
  return { host: address, port, tls: server.tls }
}

/** Resolves once every connection is closed, after `limit` milliseconds at the latest. */
export async function stopServers(servers: readonly MailServer[], limit: number): Promise<void> {
  const sessions = (): readonly MailSession[] => servers.flatMap((server) => [...server.openSessions()])
  const closed = Promise.all(
    servers.map((server) => new Promise<void>((resolve) => server.stopAccepting(limit, resolve))),
  )
  for (const session of sessions()) session.finish(shutdownReply, limit)
  const tooLate = new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, limit)
    void closed.then(() => clearTimeout(timer))
  })
  await Promise.race([closed, tooLate])
  for (const session of sessions()) session.destroy()
}
