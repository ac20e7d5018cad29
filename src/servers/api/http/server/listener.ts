/**
 * The listeners of the REST API: started and stopped together.
 *
 * They stop in two steps. `drain` answers each new request 503 and waits for those under way; the sockets stay open, so
 * that `/readyz` tells a load balancer to send no more. `close` closes the sockets and all connections.
 */
import { chmod } from 'node:fs/promises'
import { type ListenOptions, Server } from 'node:net'
import { boundAddressOf } from '../../../../base/platform/bound-address.js'
import { removeStaleSocket } from '../../../../base/platform/socket-file.js'
import type { TlsPair } from '../../../../base/platform/tls-files.js'
import { ApiServer, type ServerDeps } from './api-server.js'

export type ApiEndpoint =
  | { readonly kind: 'tls' | 'http'; readonly host: string; readonly port: number }
  | { readonly kind: 'unix'; readonly path: string }

export class ApiListener {
  private constructor(
    private readonly servers: readonly ApiServer[],
    private readonly deps: ServerDeps,
    /** They are in the order of the settings, with the ports that were bound. */
    readonly endpoints: readonly ApiEndpoint[],
  ) {}

  /** Rejects, with nothing left open, when one of the endpoints cannot be bound. */
  static async open(listen: readonly ApiEndpoint[], deps: ServerDeps): Promise<ApiListener> {
    const servers: ApiServer[] = []
    const endpoints: ApiEndpoint[] = []
    try {
      for (const endpoint of listen) {
        const opened = new ApiServer(endpoint.kind, deps)
        servers.push(opened)
        endpoints.push(await bindServer(opened.server, endpoint))
      }
    } catch (error) {
      await closeAll(servers, deps)
      throw error
    }
    return new ApiListener(servers, deps, endpoints)
  }

  /** Open connections. */
  connections(): number {
    return this.deps.connections.size
  }

  /** Sets the certificate of all later handshakes. */
  updateSecureContext(tls: TlsPair): void {
    for (const server of this.servers) server.updateSecureContext(tls)
  }

  /**
   * Resolves when the requests under way are answered, after `limit` milliseconds at the latest. Others are then cut
   * off.
   */
  drain(limit: number): Promise<void> {
    this.deps.app.drain()
    return this.deps.connections.drain(limit)
  }

  /** Resolves when every socket and connection is closed. */
  close(): Promise<void> {
    return closeAll(this.servers, this.deps)
  }
}

/** The daemon's user and group, which the proxy must be in. */
const SOCKET_MODE = 0o660

async function bindServer(server: Server, endpoint: ApiEndpoint): Promise<ApiEndpoint> {
  if (endpoint.kind === 'unix') {
    await removeStaleSocket(endpoint.path)
    await waitForListening(server, { path: endpoint.path })
    await chmod(endpoint.path, SOCKET_MODE)
    return endpoint
  }
  const { host, port: requestedPort } = endpoint
  // So `[::]` and `0.0.0.0` can share one port.
  await waitForListening(server, { host, port: requestedPort, ipv6Only: host.includes(':') })
  const { address, port } = boundAddressOf(server)
  return { kind: endpoint.kind, host: address, port }
}

function waitForListening(server: Server, options: ListenOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(options, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

/** Closing a Unix socket removes its file. */
async function closeAll(servers: readonly ApiServer[], { app, connections }: ServerDeps): Promise<void> {
  app.drain()
  const closed = servers.map(({ server }) => new Promise<void>((resolve) => closeServer(server, resolve)))
  connections.destroyAll()
  await Promise.all(closed)
  // Ends the interval in which Node looks for slow requests.
  for (const { server } of servers) server.close()
}

/** Closes the listening socket alone, and so also one that could not be bound. */
function closeServer(server: Server, onClosed: () => void): void {
  Server.prototype.close.call(server, () => onClosed())
}
