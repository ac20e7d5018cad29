/**
 * The listeners of the REST door, and their end.
 */
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import type Koa from 'koa'

export interface ApiEndpoint {
  readonly host: string
  readonly port: number
}

export interface ApiListener {
  readonly endpoints: readonly ApiEndpoint[]
  /** Accepts nothing new; resolves once requests under way are answered, after `limit` milliseconds at the latest. */
  readonly stop: (limit: number) => Promise<void>
}

export interface ListenerSettings {
  readonly listen: readonly ApiEndpoint[]
  readonly tls: { readonly cert: string; readonly key: string }
}

/** Rejects, with nothing left open, when one of the endpoints cannot be bound. */
export async function listenForRequests(app: Koa, { listen, tls }: ListenerSettings): Promise<ApiListener> {
  const servers: Server[] = []
  const stop = async (limit: number): Promise<void> => {
    await Promise.all(servers.map((server) => closed(server, limit)))
  }
  try {
    for (const endpoint of listen) {
      const server = createServer({ ...tls, minVersion: 'TLSv1.2' }, app.callback())
      await bound(server, endpoint)
      servers.push(server)
    }
  } catch (error) {
    await stop(0)
    throw error
  }
  return { endpoints: servers.map(endpointOf), stop }
}

function bound(server: Server, { host, port }: ApiEndpoint): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port }, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

function endpointOf(server: Server): ApiEndpoint {
  const { address, port } = server.address() as AddressInfo // bound to a port, never to a path
  return { host: address, port }
}

function closed(server: Server, limit: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => server.closeAllConnections(), limit)
    server.close(() => {
      clearTimeout(timer)
      resolve()
    })
    server.closeIdleConnections()
  })
}
