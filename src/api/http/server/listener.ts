/**
 * The listeners of the REST door, and their end.
 *
 * `stop` accepts nothing new and lets requests that are under way be answered; a new one on
 * a connection that was kept is told 503. Then the connections end, and when the limit is
 * over, all that are left.
 */
import { chmod } from 'node:fs/promises'
import { type ListenOptions, Server } from 'node:net'
import { boundAddressOf } from '../../../platform/bound-address.js'
import { removeStaleSocket } from '../../../platform/socket-file.js'
import { type ApiServer, createApiServer, type ServerDeps, type TlsPair, toTlsOptions } from './api-server.js'

export type ApiEndpoint =
  | { readonly kind: 'tls' | 'http'; readonly host: string; readonly port: number }
  | { readonly kind: 'unix'; readonly path: string }

export interface ApiListener {
  /** In the order of the settings, with the ports that were given. */
  readonly endpoints: readonly ApiEndpoint[]
  /** The certificate of handshakes from now on. */
  readonly updateSecureContext: (tls: TlsPair) => void
  /** Resolves once every connection is closed, after `limit` milliseconds at the latest. */
  readonly stop: (limit: number) => Promise<void>
}

/** Rejects, with nothing left open, when one of the endpoints cannot be bound. */
export async function startApiListener(listen: readonly ApiEndpoint[], deps: ServerDeps): Promise<ApiListener> {
  const servers: ApiServer[] = []
  const stop = (limit: number): Promise<void> => stopAll(servers, deps, limit)
  const endpoints: ApiEndpoint[] = []
  try {
    for (const endpoint of listen) {
      const opened = createApiServer(endpoint.kind, deps)
      servers.push(opened)
      endpoints.push(await bindServer(opened.server, endpoint))
    }
  } catch (error) {
    await stop(0)
    throw error
  }
  return {
    endpoints,
    updateSecureContext: (tls) => {
      for (const opened of servers) if (opened.kind === 'tls') opened.server.setSecureContext(toTlsOptions(tls))
    },
    stop,
  }
}

/** Whoever is in the group of the daemon: the proxy. */
const SOCKET_MODE = 0o660

async function bindServer(server: Server, endpoint: ApiEndpoint): Promise<ApiEndpoint> {
  if (endpoint.kind === 'unix') {
    await removeStaleSocket(endpoint.path)
    await waitForListening(server, { path: endpoint.path })
    await chmod(endpoint.path, SOCKET_MODE)
    return endpoint
  }
  const { host, port: wanted } = endpoint
  // `[::]` beside `0.0.0.0` on one port.
  await waitForListening(server, { host, port: wanted, ipv6Only: host.includes(':') })
  const { address, port } = boundAddressOf(server)
  return { kind: endpoint.kind, host: address, port }
}

function waitForListening(server: Server, where: ListenOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(where, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

/** Closing a Unix socket removes its file. */
async function stopAll(servers: readonly ApiServer[], { app, connections }: ServerDeps, limit: number): Promise<void> {
  app.drain()
  const closed = servers.map(({ server }) => new Promise<void>((resolve) => closeServer(server, resolve)))
  connections.drain()
  const timer = setTimeout(() => connections.destroyAll(), limit)
  await Promise.all(closed)
  clearTimeout(timer)
  // What is left is the interval that looks for slow requests.
  for (const { server } of servers) server.close()
}

/** What HTTP's own `close` does before it would close connections whose next request is on its way. */
function closeServer(server: Server, closed: () => void): void {
  Server.prototype.close.call(server, () => closed())
}
