/**
 * Sends messages over kept sessions: to one host as many connections as it may be asked to
 * bear, each for many messages.
 *
 * - A message holds one permit of its MX name while it is sent; waiters come in turn.
 * - Busy and idle sessions together stay within the limit of the name, and of all names as
 *   long as anything idle can make room.
 * - A kept session may have died unseen. When it fails before MAIL was answered, nothing has
 *   been handed over yet, and the message goes once more, over a fresh connection.
 */

import type { OutboundMessage } from '../attempt/outbound-message.js'
import type { Outage } from '../attempt/unreachable-hosts.js'
import type { Host } from '../hosts/destination.js'
import type { Exchange, SendResult } from '../smtp/outcome.js'
import { isServiceClosing } from '../smtp/transaction.js'
import { IdleSessions } from './session-pool-idle.js'
import { LiveSessions } from './session-pool-live.js'
import type { OpenSession } from './session-pool-opener.js'
import { Permits } from './session-pool-permits.js'
import type { SmtpSession } from './smtp-session.js'

export interface SessionPoolSettings {
  readonly connectionsPerHost: number
  /** Of all hosts; idle sessions give way beyond it. */
  readonly connections: number
  readonly messagesPerSession: number
  /** Milliseconds. */
  readonly idleTimeout: number
}

export const defaultPoolSettings: SessionPoolSettings = {
  connectionsPerHost: 10,
  connections: 100,
  messagesPerSession: 100,
  idleTimeout: 10_000,
}

/** How one message is sent. */
export interface SendOptions {
  /** A host is called even if it is remembered as unreachable. */
  readonly ignoreOutages?: boolean
  /** Called when the message has its place at the host: the signal under which it is sent from then on. */
  readonly begin?: () => AbortSignal
}

export class SessionPool {
  private readonly openSession: OpenSession
  private readonly settings: SessionPoolSettings
  private readonly permits: Permits
  private readonly idleSessions: IdleSessions
  private readonly liveSessions = new LiveSessions()
  /** Sessions that say QUIT. */
  private readonly endingSessions = new Set<Promise<void>>()
  private isClosed = false

  constructor(open: OpenSession, settings: SessionPoolSettings) {
    this.openSession = open
    this.settings = settings
    this.permits = new Permits(settings.connectionsPerHost)
    this.idleSessions = new IdleSessions(settings.idleTimeout, (session) => this.quitSession(session))
  }

  /**
   * `party`: for whom; none takes all sessions of a host. Rejects with the reason of the signal in
   * force when that strikes, and only then.
   */
  async send(
    host: Host,
    message: OutboundMessage,
    party: string,
    signal: AbortSignal,
    { ignoreOutages = false, begin = () => signal }: SendOptions = {},
  ): Promise<Exchange | Outage> {
    await this.permits.acquire(host.mx, party, signal)
    try {
      const limit = begin()
      const kept = this.idleSessions.take(host)
      if (kept !== null) {
        const exchange = await this.sendOverSession(host, kept, message, limit)
        if (!isStaleSession(exchange.sent)) return exchange
      }
      return await this.sendOnNewSession(host, message, ignoreOutages, limit)
    } finally {
      this.permits.release(host.mx, party)
    }
  }

  /** Ends the idle sessions. Sessions at work end after their message: stop the attempts first. */
  async close(): Promise<void> {
    this.isClosed = true
    this.idleSessions.clear()
    await Promise.all(this.endingSessions)
  }

  private async sendOnNewSession(
    host: Host,
    message: OutboundMessage,
    ignoreOutages: boolean,
    signal: AbortSignal,
  ): Promise<Exchange | Outage> {
    this.makeRoom(host.mx)
    const opened = await this.openSession(host, {
      signal,
      ignoreOutages,
      hasSession: () => this.liveSessions.hasUsable(host),
    })
    if (opened.kind === 'outage') return opened
    if (opened.kind === 'shut') return { sent: opened.failure, tls: opened.tls, transcript: opened.transcript }
    this.liveSessions.add(host, opened.session)
    return this.sendOverSession(host, opened.session, message, signal)
  }

  private async sendOverSession(
    host: Host,
    session: SmtpSession,
    message: OutboundMessage,
    signal: AbortSignal,
  ): Promise<Exchange> {
    try {
      const sent = await session.send(message, signal)
      return { sent, tls: session.tls, transcript: session.transcript }
    } finally {
      this.returnSession(host, session)
    }
  }

  private returnSession(host: Host, session: SmtpSession): void {
    if (this.isClosed || session.sentCount >= this.settings.messagesPerSession) this.quitSession(session)
    else if (session.isUsable) this.idleSessions.put(host, session)
    else this.liveSessions.remove(session)
  }

  /** The permit for the connection to come is held already, and counted. */
  private makeRoom(mx: string): void {
    const { connections, connectionsPerHost } = this.settings
    if (this.idleSessions.countByMx(mx) + this.permits.inUse(mx) > connectionsPerHost) this.idleSessions.evict(mx)
    if (this.idleSessions.size + this.permits.total > connections) this.idleSessions.evict(null)
  }

  private quitSession(session: SmtpSession): void {
    this.liveSessions.remove(session)
    const ending = session.quit().finally(() => this.endingSessions.delete(ending))
    this.endingSessions.add(ending)
  }
}

/** A kept session that failed before it took anything, or was waiting with its goodbye. */
function isStaleSession(sent: SendResult): boolean {
  return (sent.kind === 'failed' || (sent.kind === 'refused' && isServiceClosing(sent))) && sent.stage === 'mail'
}
