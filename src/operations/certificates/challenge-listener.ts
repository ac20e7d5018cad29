/**
 * The plain HTTP listener of `tls.acme.http_listen`: it answers challenges of type http-01 and redirects every other
 * request to `service.public_url`, or answers 404 if that is not an https URL.
 *
 * It reads no body, keeps no connection, and closes connections beyond its limits at once. One client cannot hold all of
 * them, or no certificate would be renewed.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { ListenAddress } from '../../base/config/network-values.js'
import { boundAddressOf } from '../../base/platform/bound-address.js'
import { addressKeyOf } from '../../base/platform/connections/client-address.js'
import { answerInTurn, paceConnections } from '../../base/platform/http/paced-connection.js'
import type { SharedAnswers } from './shared-answers.js'

const CHALLENGE_PATH = '/.well-known/acme-challenge/'
const MAX_CONNECTIONS = 256
/** Limits one address, or one /64 of IPv6. A proxy before the listener is one address too. */
const MAX_CONNECTIONS_PER_ADDRESS = 32
const MAX_HEADER_BYTES = 8_192
/** Milliseconds for a whole request. */
const REQUEST_TIMEOUT = 5_000
const CHECK_INTERVAL = 1_000

interface ListenerDeps {
  readonly answers: Pick<SharedAnswers, 'textOf'>
  readonly publicUrl: string
}

interface ChallengeListener {
  /** They are in the order of the settings, with the ports that were bound. */
  readonly endpoints: readonly ListenAddress[]
  readonly stop: () => Promise<void>
}

/** Rejects, with nothing left open, if one of the addresses cannot be bound. */
export async function openChallengeListener(
  listen: readonly ListenAddress[],
  deps: ListenerDeps,
): Promise<ChallengeListener> {
  const servers: Server[] = []
  const stop = async (): Promise<void> => {
    await Promise.all(servers.map(closeServer))
  }
  try {
    for (const address of listen) servers.push(await openServer(address, deps))
  } catch (error) {
    await stop()
    throw error
  }
  const endpoints = servers.map((server) => {
    const { address: host, port } = boundAddressOf(server)
    return { host, port }
  })
  return { endpoints, stop }
}

function openServer({ host, port }: ListenAddress, deps: ListenerDeps): Promise<Server> {
  const server = createServer(
    {
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: REQUEST_TIMEOUT,
      requestTimeout: REQUEST_TIMEOUT,
      connectionsCheckingInterval: CHECK_INTERVAL,
    },
    answerInTurn((request, response) => void answerRequest(request, response, deps)),
  )
  paceConnections(server, 'connection')
  server.maxConnections = MAX_CONNECTIONS
  limitEachAddress(server)
  server.setTimeout(2 * REQUEST_TIMEOUT)
  server.on('clientError', (_error, socket) => socket.destroy())
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port, ipv6Only: host.includes(':') }, () => {
      server.off('error', reject)
      // A fault of accepting, such as too many open files, ends neither the server nor the process.
      server.on('error', () => undefined)
      resolve(server)
    })
  })
}

function limitEachAddress(server: Server): void {
  const open = new Map<string, number>()
  server.prependListener('connection', (socket: Socket) => {
    const client = addressKeyOf(socket.remoteAddress ?? '')
    const others = open.get(client) ?? 0
    if (others >= MAX_CONNECTIONS_PER_ADDRESS) return void socket.destroy()
    open.set(client, others + 1)
    socket.once('close', () => {
      const left = (open.get(client) ?? 0) - 1
      if (left > 0) open.set(client, left)
      else open.delete(client)
    })
  })
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}

/** Never rejects. */
async function answerRequest(request: IncomingMessage, response: ServerResponse, deps: ListenerDeps): Promise<void> {
  const { status, text, location } = await decideAnswer(request, deps).catch(() => unreadable)
  response.setHeader('Connection', 'close')
  response.setHeader('Content-Type', 'text/plain; charset=utf-8')
  response.setHeader('X-Content-Type-Options', 'nosniff')
  if (location !== undefined) response.setHeader('Location', location)
  response.statusCode = status
  response.end(text)
}

interface PlainAnswer {
  readonly status: number
  readonly text: string
  readonly location?: string
}

const unreadable: PlainAnswer = { status: 503, text: 'challenges cannot be read now\n' }

async function decideAnswer(
  { url = '', method }: IncomingMessage,
  { answers, publicUrl }: ListenerDeps,
): Promise<PlainAnswer> {
  const isRead = method === 'GET' || method === 'HEAD'
  if (url.startsWith(CHALLENGE_PATH)) {
    const text = isRead ? await answers.textOf(url.slice(CHALLENGE_PATH.length)) : undefined
    return text === undefined ? { status: 404, text: 'no challenge has this token\n' } : { status: 200, text }
  }
  const isRedirected = isRead && url.startsWith('/') && publicUrl.startsWith('https:')
  if (!isRedirected) return { status: 404, text: 'not found\n' }
  return { status: 308, text: '', location: `${new URL(publicUrl).origin}${url}` }
}
