/**
 * The listeners of the REST door, and their end.
 *
 * `stop` accepts nothing new, closes the connections that wait for nothing, lets requests
 * that are under way be answered, and closes what is left when the limit is over.
 */
import { chmod } from 'node:fs/promises'
import type { AddressInfo, Server } from 'node:net'
import { clearSocketFile } from '../platform/socket-file.js'
import { type ApiServer, apiServer, type ServerDeps, secureOptions, type TlsPair } from './api-server.js'

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
export async function listenForRequests(listen: readonly ApiEndpoint[], deps: ServerDeps): Promise<ApiListener> {
  const servers: ApiServer[] = []
  const stop = (limit: number): Promise<void> => stopAll(servers, deps, limit)
  const endpoints: ApiEndpoint[] = []
  try {
    for (const endpoint of listen) {
      const opened = apiServer(endpoint.kind, deps)
      servers.push(opened)
      endpoints.push(await bound(opened.server, endpoint))
    }
  } catch (error) {
    await stop(0)
    throw error
  }
  return {
    endpoints,
    updateSecureContext: (tls) => {
      for (const opened of servers) if (opened.kind === 'tls') opened.server.setSecureContext(secureOptions(tls))
    },
    stop,
  }
}

/** Whoever is in the group of the daemon: the proxy. */
const SOCKET_MODE = 0o660

async function bound(server: Server, endpoint: ApiEndpoint): Promise<ApiEndpoint> {
  if (endpoint.kind === 'unix') {
    await clearSocketFile(endpoint.path)
    await listening(server, { path: endpoint.path })
    await chmod(endpoint.path, SOCKET_MODE)
    return endpoint
  }
  await listening(server, { host: endpoint.host, port: endpoint.port })
  const { address, port } = server.address() as AddressInfo // bound to a port, never to a path
  return { kind: endpoint.kind, host: address, port }
}

function listening(
  server: Server,
  where: { readonly path: string } | { readonly host: string; readonly port: number },
): Promise<void> {
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
  const closed = servers.map(({ server }) => new Promise<void>((resolve) => server.close(() => resolve())))
  connections.drain()
  const timer = setTimeout(() => connections.destroyAll(), limit)
  await Promise.all(closed)
  clearTimeout(timer)
}
