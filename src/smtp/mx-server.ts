/**
 * One listening socket for mail from strangers.
 *
 * A connection from a configured proxy begins with a PROXY line, version 1. Until it is there,
 * the connection counts in all alone; then as a connection of the address in the line. From
 * anybody else such a line is a command that SMTP does not know.
 *
 * Known limits: a PROXY line without an address (`UNKNOWN`) makes a connection that counts in
 * all alone; the words to a proxy whose line is broken are smtp-server's.
 */
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { SMTPServerOptions } from 'smtp-server'
import type { SMTPConnectionOptions } from 'smtp-server/lib/smtp-connection.js'
import type { ConnectionOrigin } from '../platform/connections/connection-limiter.js'
import { isInSomeNetwork } from '../platform/ip-address.js'
import type { ServerSlot } from './connection-slot.js'
import { type ClientError, clientFaultFacts } from './log-facts.js'
import { listenerOptions, MailServer } from './mail-server.js'
import type { MxSettings } from './mx-deps.js'
import type { MxGate } from './mx-gate.js'
import { mxReplies } from './mx-refusals.js'
import { MxSession } from './mx-session.js'
import type { SmtpReply } from './protocol-fault.js'

export class MxServer extends MailServer {
  constructor(private readonly gate: MxGate) {
    super(gate, options(gate.settings), false)
    this.on('error', (error: ClientError) => gate.lines.info(clientFaultFacts(error), 'an MX client failed'))
  }

  protected override openSession(
    socket: Socket | TLSSocket,
    socketOptions: SMTPConnectionOptions | null | undefined,
    place: ServerSlot,
  ): MxSession {
    return new MxSession(this, socket, socketOptions, this.gate, place)
  }

  protected override originOf(socket: Socket): ConnectionOrigin | null {
    return this._expectsProxyHeader(socket) ? null : super.originOf(socket)
  }

  /** smtp-server knows single addresses alone; our proxies are networks. */
  override _expectsProxyHeader(socket: Socket): boolean {
    return isInSomeNetwork(this.gate.settings.proxies, socket.remoteAddress ?? '')
  }

  protected override admit(place: ServerSlot, origin: ConnectionOrigin | null): SmtpReply | null {
    const { newConnections, deps } = this.gate
    if (origin !== null && !newConnections.take(origin.address, deps.clock()).allowed) {
      this.gate.note('connection-rate', { client: place.client })
      return mxReplies['connection-rate']
    }
    return super.admit(place, origin)
  }

  override connect(socket: Socket | TLSSocket, socketOptions?: SMTPConnectionOptions | null): void {
    const told = socketOptions?.remoteAddress
    if (socket.destroyed) return
    if (told === undefined || this.recount(socket, told)) super.connect(socket, socketOptions)
  }
}

function options(settings: MxSettings): SMTPServerOptions {
  return {
    ...listenerOptions(settings, false),
    disabledCommands: ['AUTH', 'XCLIENT', 'XFORWARD', 'WIZ', 'SHELL', 'KILL'],
    hideDSN: true,
  }
}
