/**
 * One HTTP server of the REST API: HTTPS, or plain HTTP for a proxy on this machine.
 *
 * Connections are counted when they are accepted, before any other work. At the limit a TLS
 * connection is closed without an answer, which would cost a handshake; plain HTTP is answered 503.
 *
 * No client may end the server: `error` and `clientError` always have a listener.
 */
import { createServer as createPlainServer, type RequestListener, type Server, type ServerOptions } from 'node:http'
import { createServer as createTlsServer, Server as TlsServer } from 'node:https'
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { answerInTurn, paceConnections, socketOf } from '../../../../base/platform/http/paced-connection.js'
import type { Log } from '../../../../base/platform/log.js'
import { SECOND } from '../../../../base/platform/time-units.js'
import type { ListenerTls, TlsPair } from '../../../../base/platform/tls-files.js'
import { serverTlsSettings } from '../../../../base/platform/tls-settings.js'
import { type Connections, type EndpointKind, isUnderWay } from '../context/connections.js'
import {
  connectNotAllowed,
  type PreRequestAnswer,
  plainHttpOnTls,
  preRequestAnswerTo,
  sendAndClose,
  tooManyConnectionsAnswer,
} from '../output/pre-request-answer.js'
import type { ApiApp } from '../pipeline/api-app.js'
import type { Validations } from './validations.js'

/** How long the server waits for a client, in milliseconds. */
export interface ListenerTimeouts {
  /** The time from the connection to its first byte, and from there to the end of the TLS handshake. */
  readonly handshake: number
  readonly header: number
  /** The time for a complete request with the largest body. */
  readonly request: number
  /** The time between two requests. */
  readonly keepAlive: number
  /** The time without a byte in either direction while a request is being read or answered. */
  readonly inactivity: number
  /** How often the limits of header and request are checked. */
  readonly checkInterval: number
}

export const listenerTimeouts: ListenerTimeouts = {
  handshake: 10 * SECOND,
  header: 10 * SECOND,
  request: 150 * SECOND, // a minute, and 22 MB at 256 KB a second
  keepAlive: 75 * SECOND, // longer than the minute after which proxies close an idle connection
  inactivity: 120 * SECOND,
  checkInterval: SECOND,
}

/** Request line and header fields, counted by Node's parser. */
const MAX_HEADER_BYTES = 16_384

export interface ServerDeps {
  readonly app: ApiApp
  readonly connections: Connections
  readonly tls: ListenerTls
  /** If it is absent, none come. */
  readonly validations?: Validations
  readonly timeouts: ListenerTimeouts
  readonly log: Log
}

export class ApiServer {
  readonly server: Server | TlsServer
  private readonly answer: RequestListener

  constructor(
    private readonly kind: EndpointKind,
    private readonly deps: ServerDeps,
  ) {
    const { app, connections } = deps
    this.answer = answerInTurn((request, response) => {
      const connection = connections.findBySocket(request.socket)
      if (connection === undefined) return void request.destroy()
      connections.markRequest(connection, response)
      app.listener(request, response)
    })
    this.server = kind === 'tls' ? this.createTls() : this.createPlain()
    this.attachEventHandlers()
  }

  /** Sets the certificate of all later handshakes, if there are any. */
  updateSecureContext(tls: TlsPair): void {
    if (this.server instanceof TlsServer) this.server.setSecureContext(toTlsOptions(tls))
  }

  private createTls(): TlsServer {
    const { connections, tls, timeouts } = this.deps
    const options = {
      ...toHttpOptions(timeouts),
      ...toTlsOptions(tls),
      ...(tls.SNICallback === undefined ? {} : { SNICallback: tls.SNICallback }),
      handshakeTimeout: timeouts.handshake,
    }
    const server = createTlsServer(options, this.answer)
    paceConnections(server, 'secureConnection')
    return server.on('secureConnection', (socket) => connections.markSecured(socket))
  }

  private createPlain(): Server {
    const server = createPlainServer(toHttpOptions(this.deps.timeouts), this.answer)
    paceConnections(server, 'connection')
    return server
  }

  private attachEventHandlers(): void {
    const { server, answer } = this
    const { timeouts, log } = this.deps
    server.timeout = timeouts.inactivity
    this.interceptConnections()
    // `100 Continue` is sent when the body is read; other expectations may be ignored (RFC 9110 section 10.1.1).
    server.on('checkContinue', answer)
    server.on('checkExpectation', answer)
    server.on('connect', (_request, socket: Socket) => this.answerAndClose(socket, connectNotAllowed))
    server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => this.answerFault(error, socket))
    server.on('error', (err) => {
      // Before that, the start fails and reports it.
      if (server.listening) log.warn({ err }, 'a listener of the API failed')
    })
  }

  /** Checks the connection limit and the first byte before Node handles a connection. */
  private interceptConnections(): void {
    const { server, kind } = this
    const { connections, validations, timeouts } = this.deps
    const connectionHandlers = server.listeners('connection')
    const handOver = (socket: Socket): void => {
      for (const handle of connectionHandlers) handle.call(server, socket)
    }
    server.removeAllListeners('connection')
    server.on('connection', (socket: Socket) => {
      socket.on('error', () => undefined) // the event `close` follows
      if (!connections.enter(socket, kind)) {
        if (kind === 'tls') socket.destroy()
        else this.answerAndClose(socket, tooManyConnectionsAnswer)
      } else if (kind === 'tls') {
        peekFirstByte(socket, timeouts.handshake, (byte) => {
          if (byte !== TLS_HANDSHAKE) this.answerAndClose(socket, plainHttpOnTls)
          else if (validations === undefined) handOver(socket)
          else validations.divert(socket, () => handOver(socket))
        })
      } else handOver(socket)
    })
  }

  private answerFault(error: NodeJS.ErrnoException, socket: Socket): void {
    const { connections, log } = this.deps
    log.debug({ reason: error.code ?? error.message }, 'a client of the API failed')
    if (socket.writableEnded) return
    const content = preRequestAnswerTo(error)
    const response = connections.findBySocket(socket)?.response ?? null
    if (content === null) socket.destroy()
    else if (isUnderWay(response) && (response.headersSent || response.req.complete)) {
      // The request before it was valid: its answer comes first.
      response.once('close', () => socket.destroy())
    } else this.answerAndClose(socket, content)
  }

  private answerAndClose(socket: Socket, content: PreRequestAnswer): void {
    const { app, connections } = this.deps
    const address = connections.findBySocket(socket)?.peer.address ?? socket.remoteAddress ?? ''
    const isSecure = socketOf(socket) instanceof TLSSocket
    sendAndClose(socket, app.formatPreRequestAnswer(content, { address, isSecure }))
  }
}

function toTlsOptions({ cert, key }: TlsPair): TlsPair & typeof serverTlsSettings {
  return { ...serverTlsSettings, cert, key }
}

function toHttpOptions({ header, request, keepAlive, checkInterval }: ListenerTimeouts): ServerOptions {
  return {
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: header,
    requestTimeout: request,
    keepAliveTimeout: keepAlive,
    connectionsCheckingInterval: checkInterval,
    requireHostHeader: false, // the pipeline refuses it with a JSON body
  }
}

/** The first byte of a TLS record that holds a handshake message (RFC 8446 section 5.1). */
const TLS_HANDSHAKE = 0x16

/** Reads the first byte and puts it back. A client that sends nothing within `limit` milliseconds is disconnected. */
function peekFirstByte(socket: Socket, limit: number, onByte: (byte: number) => void): void {
  const timer = setTimeout(() => socket.destroy(), limit)
  const peek = (): void => {
    const first: Buffer | null = socket.read(1)
    if (first === null) return
    clearTimeout(timer)
    socket.off('readable', peek)
    socket.unshift(first)
    onByte(first[0] ?? 0)
  }
  socket.once('close', () => clearTimeout(timer))
  socket.on('readable', peek)
}
