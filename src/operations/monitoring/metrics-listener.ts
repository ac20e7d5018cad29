/**
 * The listener of Prometheus: plain HTTP, `GET` and `HEAD` of `/metrics`, and a page at `/` that names it. It has no
 * other path.
 *
 * It has no authentication, so it belongs on loopback or a private network. The resources that a client can take are
 * bounded: sockets, the size of its header, the time for it, and one request at a time on each connection.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { boundAddressOf } from '../../base/platform/bound-address.js'
import { answerInTurn, paceConnections } from '../../base/platform/http/paced-connection.js'
import type { Log } from '../../base/platform/log.js'
import { CONTENT_TYPE } from './registry.js'

const MAX_CONNECTIONS = 20
const MAX_HEADER_BYTES = 8_192
/** Milliseconds for the header, for an answer to be read, and between two requests. */
const MAX_REQUEST_TIME = 10_000
const MAX_INACTIVITY = 30_000
const KEEP_ALIVE = 65_000

export interface MetricsEndpoint {
  readonly host: string
  readonly port: number
}

interface MetricsListener {
  /** They are in the order of the settings, with the ports that were bound. */
  readonly endpoints: readonly MetricsEndpoint[]
  /** Resolves when every connection is closed, after `limit` milliseconds at the latest. */
  readonly stop: (limit: number) => Promise<void>
}

interface ListenerDeps {
  readonly collect: () => Promise<string>
  readonly log: Pick<Log, 'error' | 'warn'>
}

/** Rejects, with nothing left open, when one of the endpoints cannot be bound. */
export async function startMetricsListener(
  listen: readonly MetricsEndpoint[],
  deps: ListenerDeps,
): Promise<MetricsListener> {
  const servers: Server[] = []
  const stop = async (limit: number): Promise<void> => {
    await Promise.all(servers.splice(0).map((server) => closeServer(server, limit)))
  }
  const endpoints: MetricsEndpoint[] = []
  try {
    for (const endpoint of listen) {
      const server = openServer(deps)
      servers.push(server)
      endpoints.push(await bindServer(server, endpoint))
    }
  } catch (error) {
    await stop(0)
    throw error
  }
  return { endpoints, stop }
}

function openServer(deps: ListenerDeps): Server {
  const options = {
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: MAX_REQUEST_TIME,
    requestTimeout: MAX_REQUEST_TIME,
  }
  const listener = answerInTurn((request, response) => void answer(request, response, deps))
  const server = createServer({ ...options, keepAliveTimeout: KEEP_ALIVE }, listener)
  paceConnections(server, 'connection')
  server.maxConnections = MAX_CONNECTIONS
  server.timeout = MAX_INACTIVITY
  server.on('error', (err) => {
    // Before that, the start fails and reports it.
    if (server.listening) deps.log.warn({ err }, 'a listener of the metrics failed')
  })
  return server
}

async function bindServer(server: Server, { host, port }: MetricsEndpoint): Promise<MetricsEndpoint> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port, ipv6Only: host.includes(':') }, () => {
      server.off('error', reject)
      resolve()
    })
  })
  const bound = boundAddressOf(server)
  return { host: bound.address, port: bound.port }
}

/** Idle connections end at once, the others after their answer. */
async function closeServer(server: Server, limit: number): Promise<void> {
  if (!server.listening) return
  const timer = setTimeout(() => server.closeAllConnections(), limit)
  await new Promise<void>((resolve) => server.close(() => resolve()))
  clearTimeout(timer)
}

const PAGE =
  '<!doctype html><html lang="en"><title>Posthorn metrics</title><p><a href="/metrics">Metrics</a> for Prometheus.</p></html>\n'
const HTML = 'text/html; charset=utf-8'
const TEXT = 'text/plain; charset=utf-8'

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { collect, log }: ListenerDeps,
): Promise<void> {
  const { method, url = '' } = request
  const [path] = url.split('?', 1)
  // A body is of no use here.
  if (hasBody(request)) response.shouldKeepAlive = false
  if (path !== '/' && path !== '/metrics') return send(request, response, 404, TEXT, 'not found: see /metrics\n')
  if (method !== 'GET' && method !== 'HEAD') {
    response.setHeader('Allow', 'GET, HEAD')
    return send(request, response, 405, TEXT, 'only GET and HEAD\n')
  }
  if (path === '/') return send(request, response, 200, HTML, PAGE)
  try {
    send(request, response, 200, CONTENT_TYPE, await collect())
  } catch (err) {
    log.error({ err }, 'metrics could not be collected')
    send(request, response, 500, TEXT, 'the metrics could not be collected, the log says why\n')
  }
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

function send({ method }: IncomingMessage, response: ServerResponse, status: number, type: string, text: string): void {
  response.writeHead(status, {
    'Content-Type': type,
    'Content-Length': Buffer.byteLength(text),
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  })
  response.end(method === 'HEAD' ? undefined : text)
}
