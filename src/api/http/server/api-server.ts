/**
 * One listening socket of the REST door: HTTPS, or plain HTTP for a proxy on this machine.
 *
 * Connections are counted when they are accepted, before anything is spent on them. On a
 * TLS port one too many is closed without a word, because a word would cost us the
 * handshake; plain HTTP gets a readable answer.
 *
 * Nothing that a client does may end the server: `error` and `clientError` always have a
 * listener.
 */
import { createServer as createPlainServer, type RequestListener, type Server, type ServerOptions } from 'node:http'
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https'
import type { Socket } from 'node:net'
import type { Log } from '../../../platform/log.js'
import {
  connectMethod,
  endWith,
  noRoomForConnection,
  type Outside,
  outsideAnswerTo,
  plainHttp,
} from '../output/outside-answer.js'
import type { ApiApp } from './app.js'
import { type Connections, type EndpointKind, isUnderWay } from './connections.js'
import { firstByte, TLS_HANDSHAKE } from './first-byte.js'

/** PEM texts. */
export interface TlsPair {
  readonly cert: string
  readonly key: string
}

/** How long the door waits for a client, in milliseconds. */
export interface DoorTimes {
  /** From the connection to its first byte, and from there to the end of the TLS handshake. */
  readonly handshake: number
  readonly header: number
  /** For a whole request, the largest body included. */
  readonly request: number
  /** Between two requests. */
  readonly keepAlive: number
  /** Without a byte in either direction while a request is under way. */
  readonly silence: number
  /** How often header and request are looked at. */
  readonly look: number
}

const SECOND = 1_000

export const doorTimes: DoorTimes = {
  handshake: 10 * SECOND,
  header: 10 * SECOND,
  request: 150 * SECOND, // a minute, and 22 MB at 256 KB a second
  keepAlive: 75 * SECOND, // longer than the minute after which proxies give a connection up
  silence: 120 * SECOND,
  look: SECOND,
}

/** Request line and header fields. Node's parser counts them. */
const LARGEST_HEADER = 16_384

export interface ServerDeps {
  readonly app: ApiApp
  readonly connections: Connections
  readonly tls: TlsPair
  readonly times: DoorTimes
  readonly log: Pick<Log, 'debug' | 'warn'>
}

export type ApiServer =
  | { readonly kind: 'tls'; readonly server: TlsServer }
  | { readonly kind: 'http' | 'unix'; readonly server: Server }

export function apiServer(kind: EndpointKind, deps: ServerDeps): ApiServer {
  const { app, connections, tls, times } = deps
  const answer: RequestListener = (request, response) => {
    const connection = connections.of(request.socket)
    if (connection === undefined) return void request.destroy()
    connections.asked(connection, response)
    app.listener(request, response)
  }
  if (kind !== 'tls') {
    const server = createPlainServer(httpOptions(times), answer)
    guard(server, kind, deps, answer)
    return { kind, server }
  }
  const server = createTlsServer(
    { ...httpOptions(times), ...secureOptions(tls), handshakeTimeout: times.handshake },
    answer,
  )
  guard(server, kind, deps, answer)
  server.on('secureConnection', (socket) => connections.secured(socket))
  return { kind, server }
}

export function secureOptions({ cert, key }: TlsPair): TlsPair & { readonly minVersion: 'TLSv1.2' } {
  return { cert, key, minVersion: 'TLSv1.2' }
}

function httpOptions({ header, request, keepAlive, look }: DoorTimes): ServerOptions {
  return {
    maxHeaderSize: LARGEST_HEADER,
    headersTimeout: header,
    requestTimeout: request,
    keepAliveTimeout: keepAlive,
    connectionsCheckingInterval: look,
    requireHostHeader: false, // the pipeline says it in our form
  }
}

function guard(server: Server | TlsServer, kind: EndpointKind, deps: ServerDeps, answer: RequestListener): void {
  const { app, connections, times, log } = deps
  const tell = (socket: Socket, what: Outside): void => {
    endWith(socket, app.outside(what, connections.of(socket)?.peer.address ?? socket.remoteAddress ?? ''))
  }
  server.timeout = times.silence
  letIn(server, kind, deps, tell)
  // `100 Continue` is said where the body is wanted; other expectations may be left unmet (RFC 9110 section 10.1.1).
  server.on('checkContinue', answer)
  server.on('checkExpectation', answer)
  server.on('connect', (_request, socket: Socket) => tell(socket, connectMethod))
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    log.debug({ reason: error.code ?? error.message }, 'a client of the API failed')
    if (socket.writableEnded) return
    const what = outsideAnswerTo(error)
    const response = connections.of(socket)?.response ?? null
    if (what === null) socket.destroy()
    else if (isUnderWay(response) && (response.headersSent || response.req.complete)) {
      // That request was read well: its answer comes first.
      response.once('close', () => socket.destroy())
    } else tell(socket, what)
  })
  server.on('error', (err) => log.warn({ err }, 'a listener of the API failed'))
}

/** Puts the limit of connections and the look at the first byte before what Node does with a connection. */
function letIn(
  server: Server | TlsServer,
  kind: EndpointKind,
  { connections, times: { handshake } }: ServerDeps,
  tell: (socket: Socket, what: Outside) => void,
): void {
  const takers = server.listeners('connection')
  const take = (socket: Socket): void => {
    for (const taker of takers) taker.call(server, socket)
  }
  server.removeAllListeners('connection')
  server.on('connection', (socket: Socket) => {
    socket.on('error', () => undefined) // it closes, and that is all there is to it
    if (!connections.enter(socket, kind)) {
      if (kind === 'tls') socket.destroy()
      else tell(socket, noRoomForConnection)
    } else if (kind === 'tls') {
      firstByte(socket, handshake, (byte) => (byte === TLS_HANDSHAKE ? take(socket) : tell(socket, plainHttp)))
    } else take(socket)
  })
}
