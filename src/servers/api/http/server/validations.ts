/**
 * Validations by tls-alpn-01 (RFC 8737) at a TLS listener of the API: such a connection offers the protocol `acme-tls/1`,
 * gets the certificate of its challenge, and ends. All others go on as they came, also those for the same name.
 */
import type { Socket } from 'node:net'
import { createServer, type Server } from 'node:tls'
import { takeBuffered } from '../../../../base/platform/buffered-bytes.js'
import { serverTlsSettings } from '../../../../base/platform/tls-settings.js'
import type { ChallengeAnswers } from '../../../../operations/certificates/challenge-answers.js'
import {
  ALPN_PROTOCOL,
  type HelloVerdict,
  MAX_HELLO_BYTES,
  readClientHello,
} from '../../../../operations/certificates/client-hello.js'

export class Validations {
  private readonly server: Server

  /** `limit` is the time in milliseconds for the ClientHello, and for the handshake after it. */
  constructor(
    private readonly answers: ChallengeAnswers,
    private readonly limit: number,
  ) {
    this.server = createValidationServer(answers, limit)
  }

  /** Calls `onOrdinary`, with nothing read, unless the connection is a validation. */
  divert(socket: Socket, onOrdinary: () => void): void {
    if (!this.answers.awaitsTls()) onOrdinary()
    else
      peekClientHello(socket, this.limit, ({ kind }) => {
        if (kind === 'validation') this.server.emit('connection', socket)
        else onOrdinary()
      })
  }
}

/** It listens nowhere: it is given connections. */
function createValidationServer(answers: ChallengeAnswers, limit: number): Server {
  const server = createServer({
    ALPNProtocols: [ALPN_PROTOCOL],
    ...serverTlsSettings,
    handshakeTimeout: limit,
    SNICallback: (name, respond) => {
      const context = answers.contextOf(name.toLowerCase())
      if (context === undefined) respond(new Error('no challenge is under way for this name'))
      else respond(null, context)
    },
  })
  server.on('secureConnection', (socket) => {
    socket.on('error', () => undefined)
    socket.end()
  })
  server.on('tlsClientError', (_error, socket) => socket.destroy())
  return server
}

/** Reads until the ClientHello is complete or too long, and puts it back before it calls `onVerdict`. */
function peekClientHello(socket: Socket, limit: number, onVerdict: (verdict: HelloVerdict) => void): void {
  const timer = setTimeout(() => socket.destroy(), limit)
  const stop = (): void => {
    clearTimeout(timer)
    socket.off('readable', peek)
    socket.off('close', stop)
  }
  let bytes: Buffer = Buffer.alloc(0)
  const peek = (): void => {
    bytes = Buffer.concat([bytes, takeBuffered(socket)])
    const verdict = readClientHello(bytes)
    if (verdict.kind === 'incomplete' && bytes.length < MAX_HELLO_BYTES) return
    stop()
    socket.unshift(bytes)
    onVerdict(verdict)
  }
  socket.once('close', stop)
  socket.on('readable', peek)
  // Bytes that were read before and put back cause no event.
  peek()
}
