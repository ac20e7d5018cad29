/**
 * Sends messages over sessions that are kept open: each session takes many messages of one host.
 *
 * - How many messages may be sent to a host at a time is decided by the caller: each `send` holds a
 *   slot of `queue/host-concurrency.ts`. The pool closes idle sessions so that busy and idle ones
 *   together stay within the limit of the MX name, and of all names as far as that goes.
 * - A kept session may have died unseen. If it fails before MAIL was answered, nothing was handed
 *   over yet, and the message is sent once more over a fresh connection.
 */
import type { Host } from '../hosts/destination.js'
import type { Outage } from '../hosts/unreachable-hosts.js'
import type { OutboundMessage } from '../smtp/outbound-message.js'
import type { Exchange, SendResult } from '../smtp/send-result.js'
import type { SmtpSession } from '../smtp/smtp-session.js'
import { isServiceClosing } from '../smtp/transaction.js'
import { IdleSessions } from './idle-sessions.js'
import type { OpenSession } from './session-opener.js'

export interface SessionPoolSettings {
  readonly connectionsPerHost: number
  /** With all hosts; idle sessions are closed beyond it. */
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

export class SessionPool {
  private readonly openSession: OpenSession
  private readonly settings: SessionPoolSettings
  private readonly idleSessions: IdleSessions
  /** All open sessions, busy and idle. */
  private readonly openSessions = new Map<SmtpSession, Host>()
  /** Hosts of the messages that are being sent, one each. */
  private readonly busyHosts = new Set<{ readonly mx: string }>()
  /** Sessions that say QUIT. */
  private readonly endingSessions = new Set<Promise<void>>()
  private isClosed = false

  constructor(open: OpenSession, settings: SessionPoolSettings) {
    this.openSession = open
    this.settings = settings
    this.idleSessions = new IdleSessions(settings.idleTimeout, (session) => this.quitSession(session))
  }

  /**
   * `ignoreOutages`: the host is called even if it is remembered as unreachable. Rejects only when the
   * signal strikes, with its reason.
   */
  async send(
    host: Host,
    message: OutboundMessage,
    signal: AbortSignal,
    ignoreOutages = false,
  ): Promise<Exchange | Outage> {
    signal.throwIfAborted()
    const busy = { mx: host.mx }
    this.busyHosts.add(busy)
    try {
      const kept = this.idleSessions.take(host)
      if (kept !== null) {
        const exchange = await this.sendOverSession(host, kept, message, signal)
        if (!isStaleSession(exchange.sent)) return exchange
      }
      return await this.sendOnNewSession(host, message, ignoreOutages, signal)
    } finally {
      this.busyHosts.delete(busy)
    }
  }

  /** Ends the idle sessions. Busy ones end after their message: stop the attempts first. */
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
      // Mail of the service, reports included, has the null return path: it must not cause reports.
      reportedDomain: message.returnPath === '' ? null : message.domain,
      ignoreOutages,
      hasSession: () => this.hasUsableSession(host),
    })
    if (opened.kind === 'outage') return opened
    if (opened.kind === 'shut') return { sent: opened.failure, tls: opened.tls, transcript: opened.transcript }
    this.openSessions.set(opened.session, host)
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
    else this.openSessions.delete(session)
  }

  /** Makes room for the connection to come, which counts as busy already. */
  private makeRoom(mx: string): void {
    const { connections, connectionsPerHost } = this.settings
    if (this.idleSessions.countByMx(mx) + this.countBusy(mx) > connectionsPerHost) this.idleSessions.evict(mx)
    if (this.idleSessions.size + this.busyHosts.size > connections) this.idleSessions.evict(null)
  }

  private countBusy(mx: string): number {
    let count = 0
    for (const busy of this.busyHosts) if (busy.mx === mx) count++
    return count
  }

  private hasUsableSession({ address, port }: Host): boolean {
    for (const [session, host] of this.openSessions) {
      if (host.address === address && host.port === port && session.isUsable) return true
    }
    return false
  }

  private quitSession(session: SmtpSession): void {
    this.openSessions.delete(session)
    const ending = session.quit().finally(() => this.endingSessions.delete(ending))
    this.endingSessions.add(ending)
  }
}

/** The kept session failed before it took anything, or the server had already sent its goodbye. */
function isStaleSession(sent: SendResult): boolean {
  return (sent.kind === 'failed' || (sent.kind === 'refused' && isServiceClosing(sent))) && sent.stage === 'mail'
}
