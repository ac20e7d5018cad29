/**
 * An SMTP session as an object with the verbs of the protocol (RFC 5321), and the connection that
 * it is given. Neither knows the library that reads and writes the wire.
 *
 * A verb returns its reply and never throws. Command lines come raw: the session parses MAIL and
 * RCPT itself (`commands/path-command.ts`).
 */
import type { ConnectionOrigin, LimitedConnection } from '../../../base/platform/connections/connection-limiter.js'
import type { TlsFacts } from '../../../inbound/receiving/authentication/received-message.js'
import type { IncomingMessage } from './incoming-message.js'
import type { SmtpReply } from './smtp-reply.js'

/**
 * It is synchronous where nothing is waited for, so that a flood of pipelined commands still lets others have their
 * turn.
 */
export type Answer<Value> = Value | Promise<Value>

/** What a session knows of its client's connection, and what it can do to it. */
export interface SessionConnection {
  /** Random, in each log line about the session. */
  readonly id: string
  readonly remoteAddress: string
  readonly remotePort: number
  /** When it was accepted, in epoch milliseconds. */
  readonly acceptedAt: number
  /** The client as which it counts. Null if it counts in the total only. */
  readonly origin: ConnectionOrigin | null
  /** The name in HELO or EHLO. Empty if there was none yet. */
  readonly helo: string
  /** The client said EHLO. */
  readonly isExtended: boolean
  /** Null if there is no TLS. */
  readonly tls: TlsFacts | null
  /** STARTTLS was answered and the handshake is not over: nothing can be written. */
  readonly isInHandshake: boolean
  /** Neither closed nor closing. */
  readonly isOpen: boolean
  /** Input that no verb has seen yet, be it a line without its end. */
  readonly hasUnreadInput: boolean
  /** 421 ends the connection too. */
  reply(reply: SmtpReply): void
  /** Closes the socket without a reply. */
  destroy(): void
  /** The same, after the client has had half a second to close its side. */
  destroySoon(): void
}

/** A message after DATA. */
export interface MessageTransfer {
  /** Takes the bytes, without the dots of RFC 5321 section 4.5.2. */
  readonly message: IncomingMessage
  /** The reply once the message is stored or refused, or null if the client left before its end. */
  readonly stored: Promise<SmtpReply | null>
}

/** `SubmissionSession` and `MxSession` implement it; `openSession` of each listener chooses. */
export interface SmtpSession extends LimitedConnection {
  /** Null if the client is greeted. A reply takes the place of the greeting, and the connection ends. */
  connect(): Answer<SmtpReply | null>
  /** A line came before the greeting. Null if the line may wait. A reply refuses it, and the connection ends. */
  onEarlyCommand(): SmtpReply | null
  /** Any line of a command came, also one that is answered without the session. */
  onCommand(): void
  /** The extensions that EHLO offers. */
  hello(): { readonly auth: boolean }
  /** TLS is in place: what the client said before is forgotten (RFC 3207 section 4.2). */
  onSecure(): void
  /** Null if AUTH may begin. Sessions without AUTH have neither this method nor the next one. */
  checkAuth?(): SmtpReply | null
  /** The client is authenticated if the reply has the code 235. */
  auth?(password: string): Answer<SmtpReply>
  mail(line: Buffer): Answer<SmtpReply>
  rcpt(line: Buffer): Answer<SmtpReply>
  /** Either the bytes of the message may come, or it is refused. Null if the client is gone. */
  data(): Answer<MessageTransfer | SmtpReply | null>
  /** The transaction is over. Called after a message, and at RSET, HELO, EHLO and STARTTLS. */
  reset(): void
  /** A reply with this code was sent, by whichever part. */
  onReply(code: number): void
  /**
   * Ends the session with this 421 at once, or after the message that is coming in, which gets `within` milliseconds.
   */
  finish(reply: SmtpReply, within: number): void
  /** The connection is closing; may be called again. */
  close(): void
}
