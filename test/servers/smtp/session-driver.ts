/** Drives an SMTP session without sockets and without smtp-server: lines in, replies out. */
import type { ConnectionOrigin } from '../../../src/base/platform/connections/connection-limiter.js'
import type { TlsFacts } from '../../../src/inbound/receiving/authentication/received-message.js'
import type { SmtpReply } from '../../../src/servers/smtp/session/smtp-reply.js'
import type { SessionConnection, SmtpSession } from '../../../src/servers/smtp/session/smtp-session.js'

export class TestConnection implements SessionConnection {
  readonly id = 'session'
  remoteAddress = '192.0.2.1'
  remotePort = 2525
  acceptedAt = 0
  origin: ConnectionOrigin | null = { address: '192.0.2.1', network: null }
  helo = 'client.test'
  isExtended = true
  tls: TlsFacts | null = { protocol: 'TLSv1.3', cipher: 'TLS_AES_256_GCM_SHA384' }
  isInHandshake = false
  isOpen = true
  hasUnreadInput = false
  isDestroyed = false
  session: SmtpSession | null = null
  /** All replies, as on the wire. */
  readonly replies: string[] = []

  reply({ code, status, text }: SmtpReply): void {
    this.replies.push(`${code} ${status} ${text}`)
    if (code === 421) this.isOpen = false
    this.session?.onReply(code)
  }

  destroy(): void {
    this.isDestroyed = true
  }

  destroySoon(): void {
    this.isDestroyed = true
  }
}

/** A line and the pattern of its reply; a message after DATA is one line, without the final dot. */
export type Step = readonly [line: string, reply: RegExp]

/** The last reply to a line; empty: none. */
export async function say(session: SmtpSession, connection: TestConnection, line: string): Promise<string> {
  const before = connection.replies.length
  session.onCommand()
  const reply = await answer(session, connection, line)
  if (reply !== null) connection.reply(reply)
  return connection.replies.slice(before).join('|')
}

const flushed: SmtpReply = { code: 250, status: '2.0.0', text: 'Flushed' }

async function answer(session: SmtpSession, connection: TestConnection, line: string): Promise<SmtpReply | null> {
  const raw = Buffer.from(line)
  if (line.startsWith('MAIL')) return session.mail(raw)
  if (line.startsWith('RCPT')) return session.rcpt(raw)
  if (line.startsWith('AUTH ')) return session.checkAuth?.() ?? (await session.auth?.(line.slice(5))) ?? null
  if (line.startsWith('DATA ')) return sendMessage(session, connection, Buffer.from(line.slice(5)))
  session.reset()
  return flushed
}

async function sendMessage(session: SmtpSession, connection: TestConnection, raw: Buffer): Promise<SmtpReply | null> {
  const transfer = await session.data()
  if (transfer === null || 'code' in transfer) return transfer
  transfer.message.end(raw)
  const stored = await transfer.stored
  if (stored !== null) connection.reply(stored)
  session.reset()
  return null
}
