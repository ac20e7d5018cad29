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
import { limitKey } from '../accounts/client-address.js'
import { contains } from '../accounts/key-check.js'
import { doorOptions, MailServer, type Place } from './mail-server.js'
import type { MxSettings } from './mx-deps.js'
import type { MxGate } from './mx-gate.js'
import { mxReplies } from './mx-refusals.js'
import { MxSession } from './mx-session.js'
import type { SmtpReply } from './protocol-fault.js'

export class MxServer extends MailServer {
  constructor(private readonly gate: MxGate) {
    super(gate, options(gate.settings), false)
    // smtp-server writes into the error whose it is.
    this.on('error', ({ message: reason, remoteAddress: client }: Error & { readonly remoteAddress?: string }) =>
      gate.deps.log.info({ reason, client }, 'an MX client failed'),
    )
  }

  protected override openSession(
    socket: Socket | TLSSocket,
    socketOptions: SMTPConnectionOptions | null | undefined,
    place: Place,
  ): MxSession {
    return new MxSession(this, socket, socketOptions, this.gate, place)
  }

  protected override clientOf(socket: Socket): string | null {
    return this._expectsProxyHeader(socket) ? null : super.clientOf(socket)
  }

  /** smtp-server knows single addresses alone; our proxies are networks. */
  override _expectsProxyHeader(socket: Socket): boolean {
    return this.gate.settings.proxies.some((network) => contains(network, socket.remoteAddress ?? ''))
  }

  protected override admit(client: string | null): SmtpReply | null {
    const { newConnections, deps } = this.gate
    if (client !== null && !newConnections.take(client, deps.clock()).allowed) {
      this.gate.note('connection-rate', client)
      return mxReplies['connection-rate']
    }
    const refusal = this.admitted(client)
    if (refusal === null) return null
    this.gate.note(refusal === mxReplies.connections ? 'connections' : 'connections-of-address', client ?? 'a proxy')
    return refusal
  }

  /** Places that are held for nothing are for the taking: idle connections alone shut nobody out. */
  private admitted(client: string | null): SmtpReply | null {
    const refusal = super.admit(client)
    return refusal === mxReplies.connections && this.gate.makePlace() ? super.admit(client) : refusal
  }

  override connect(socket: Socket | TLSSocket, socketOptions?: SMTPConnectionOptions | null): void {
    const told = socketOptions?.remoteAddress
    if (socket.destroyed) return
    if (told === undefined || this.recount(socket, limitKey(told))) super.connect(socket, socketOptions)
  }
}

function options(settings: MxSettings): SMTPServerOptions {
  return {
    ...doorOptions(settings, false),
    disabledCommands: ['AUTH', 'XCLIENT', 'XFORWARD', 'WIZ', 'SHELL', 'KILL'],
    hideDSN: true,
  }
}
