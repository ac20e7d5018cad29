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
import type { TlsPair } from '../../../platform/tls-files.js'
import {
  connectNotAllowed,
  type PreRequestAnswer,
  plainHttpOnTls,
  preRequestAnswerTo,
  sendAndClose,
  tooManyConnections,
} from '../output/pre-request-answer.js'
import type { ApiApp } from './app.js'
import { type Connections, type EndpointKind, isUnderWay } from './connections.js'
import { peekFirstByte, TLS_HANDSHAKE } from './first-byte.js'

/** How long the door waits for a client, in milliseconds. */
export interface ListenerTimeouts {
  /** From the connection to its first byte, and from there to the end of the TLS handshake. */
  readonly handshake: number
  readonly header: number
  /** For a whole request, the largest body included. */
  readonly request: number
  /** Between two requests. */
  readonly keepAlive: number
  /** Without a byte in either direction while a request is under way. */
  readonly inactivity: number
  /** How often header and request are looked at. */
  readonly checkInterval: number
}

const SECOND = 1_000

export const listenerTimeouts: ListenerTimeouts = {
  handshake: 10 * SECOND,
  header: 10 * SECOND,
  request: 150 * SECOND, // a minute, and 22 MB at 256 KB a second
  keepAlive: 75 * SECOND, // longer than the minute after which proxies give a connection up
  inactivity: 120 * SECOND,
  checkInterval: SECOND,
}

/** Request line and header fields. Node's parser counts them. */
const MAX_HEADER_BYTES = 16_384

export interface ServerDeps {
  readonly app: ApiApp
  readonly connections: Connections
  readonly tls: TlsPair
  readonly timeouts: ListenerTimeouts
  readonly log: Pick<Log, 'debug' | 'warn'>
}

export type ApiServer =
  | { readonly kind: 'tls'; readonly server: TlsServer }
  | { readonly kind: 'http' | 'unix'; readonly server: Server }

export function createApiServer(kind: EndpointKind, deps: ServerDeps): ApiServer {
  const { app, connections, tls, timeouts } = deps
  const answer: RequestListener = (request, response) => {
    const connection = connections.findBySocket(request.socket)
    if (connection === undefined) return void request.destroy()
    connections.markRequest(connection, response)
    app.listener(request, response)
  }
  if (kind !== 'tls') {
    const server = createPlainServer(toHttpOptions(timeouts), answer)
    attachEventHandlers(server, kind, deps, answer)
    return { kind, server }
  }
  const server = createTlsServer(
    { ...toHttpOptions(timeouts), ...toTlsOptions(tls), handshakeTimeout: timeouts.handshake },
    answer,
  )
  attachEventHandlers(server, kind, deps, answer)
  server.on('secureConnection', (socket) => connections.markSecured(socket))
  return { kind, server }
}

export function toTlsOptions({ cert, key }: TlsPair): TlsPair & { readonly minVersion: 'TLSv1.2' } {
  return { cert, key, minVersion: 'TLSv1.2' }
}

function toHttpOptions({ header, request, keepAlive, checkInterval }: ListenerTimeouts): ServerOptions {
  return {
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: header,
    requestTimeout: request,
    keepAliveTimeout: keepAlive,
    connectionsCheckingInterval: checkInterval,
    requireHostHeader: false, // the pipeline says it in our form
  }
}

function attachEventHandlers(
  server: Server | TlsServer,
  kind: EndpointKind,
  deps: ServerDeps,
  answer: RequestListener,
): void {
  const { app, connections, timeouts, log } = deps
  const answerAndClose = (socket: Socket, what: PreRequestAnswer): void => {
    sendAndClose(
      socket,
      app.formatPreRequestAnswer(what, connections.findBySocket(socket)?.peer.address ?? socket.remoteAddress ?? ''),
    )
  }
  server.timeout = timeouts.inactivity
  interceptConnections(server, kind, deps, answerAndClose)
  // `100 Continue` is said where the body is wanted; other expectations may be left unmet (RFC 9110 section 10.1.1).
  server.on('checkContinue', answer)
  server.on('checkExpectation', answer)
  server.on('connect', (_request, socket: Socket) => answerAndClose(socket, connectNotAllowed))
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    log.debug({ reason: error.code ?? error.message }, 'a client of the API failed')
    if (socket.writableEnded) return
    const what = preRequestAnswerTo(error)
    const response = connections.findBySocket(socket)?.response ?? null
    if (what === null) socket.destroy()
    else if (isUnderWay(response) && (response.headersSent || response.req.complete)) {
      // That request was read well: its answer comes first.
      response.once('close', () => socket.destroy())
    } else answerAndClose(socket, what)
  })
  server.on('error', (err) => log.warn({ err }, 'a listener of the API failed'))
}

/** Puts the limit of connections and the look at the first byte before what Node does with a connection. */
function interceptConnections(
  server: Server | TlsServer,
  kind: EndpointKind,
  { connections, timeouts: { handshake } }: ServerDeps,
  tell: (socket: Socket, what: PreRequestAnswer) => void,
): void {
  const connectionHandlers = server.listeners('connection')
  const handOver = (socket: Socket): void => {
    for (const taker of connectionHandlers) taker.call(server, socket)
  }
  server.removeAllListeners('connection')
  server.on('connection', (socket: Socket) => {
    socket.on('error', () => undefined) // it closes, and that is all there is to it
    if (!connections.enter(socket, kind)) {
      if (kind === 'tls') socket.destroy()
      else tell(socket, tooManyConnections)
    } else if (kind === 'tls') {
      peekFirstByte(socket, handshake, (byte) =>
        byte === TLS_HANDSHAKE ? handOver(socket) : tell(socket, plainHttpOnTls),
      )
    } else handOver(socket)
  })
}
