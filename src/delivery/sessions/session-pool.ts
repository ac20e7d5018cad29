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
import type { Outage } from '../attempt/attempt-unreachable.js'
import type { OutboundMessage } from '../attempt/outbound-message.js'
import type { Host } from '../hosts/destination.js'
import type { Exchange, Sent } from '../smtp/outcome.js'
import { isFarewell } from '../smtp/transaction.js'
import { IdleSessions } from './session-pool-idle.js'
import { LiveSessions } from './session-pool-live.js'
import type { OpenHost } from './session-pool-opening.js'
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
export interface Terms {
  /** A host is called even if it is remembered as unreachable. */
  readonly insists?: boolean
  /** Called when the message has its place at the host: the signal under which it is sent from then on. */
  readonly begin?: () => AbortSignal
}

export class SessionPool {
  private readonly open: OpenHost
  private readonly settings: SessionPoolSettings
  private readonly permits: Permits
  private readonly idle: IdleSessions
  private readonly live = new LiveSessions()
  /** Sessions that say QUIT. */
  private readonly ending = new Set<Promise<void>>()
  private closed = false

  constructor(open: OpenHost, settings: SessionPoolSettings) {
    this.open = open
    this.settings = settings
    this.permits = new Permits(settings.connectionsPerHost)
    this.idle = new IdleSessions(settings.idleTimeout, (session) => this.quit(session))
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
    { insists = false, begin = () => signal }: Terms = {},
  ): Promise<Exchange | Outage> {
    await this.permits.acquire(host.mx, party, signal)
    try {
      const limit = begin()
      const kept = this.idle.take(host)
      if (kept !== null) {
        const exchange = await this.use(host, kept, message, limit)
        if (!wasDead(exchange.sent)) return exchange
      }
      return await this.sendAnew(host, message, insists, limit)
    } finally {
      this.permits.release(host.mx, party)
    }
  }

  /** Ends the idle sessions. Sessions at work end after their message: stop the attempts first. */
  async close(): Promise<void> {
    this.closed = true
    this.idle.clear()
    await Promise.all(this.ending)
  }

  private async sendAnew(
    host: Host,
    message: OutboundMessage,
    insists: boolean,
    signal: AbortSignal,
  ): Promise<Exchange | Outage> {
    this.makeRoom(host.mx)
    const opened = await this.open(host, { signal, insists, hasSession: () => this.live.has(host) })
    if (opened.kind === 'outage') return opened
    if (opened.kind === 'shut') return { sent: opened.trouble, tls: opened.tls, transcript: opened.transcript }
    this.live.add(host, opened.session)
    return this.use(host, opened.session, message, signal)
  }

  private async use(
    host: Host,
    session: SmtpSession,
    message: OutboundMessage,
    signal: AbortSignal,
  ): Promise<Exchange> {
    try {
      const sent = await session.send(message, signal)
      return { sent, tls: session.tls, transcript: session.transcript }
    } finally {
      this.keep(host, session)
    }
  }

  private keep(host: Host, session: SmtpSession): void {
    if (this.closed || session.count >= this.settings.messagesPerSession) this.quit(session)
    else if (session.usable) this.idle.put(host, session)
    else this.live.remove(session)
  }

  /** The permit for the connection to come is held already, and counted. */
  private makeRoom(mx: string): void {
    const { connections, connectionsPerHost } = this.settings
    if (this.idle.countOf(mx) + this.permits.inUse(mx) > connectionsPerHost) this.idle.evict(mx)
    if (this.idle.size + this.permits.total > connections) this.idle.evict(null)
  }

  private quit(session: SmtpSession): void {
    this.live.remove(session)
    const ending = session.quit().finally(() => this.ending.delete(ending))
    this.ending.add(ending)
  }
}

/** A kept session that failed before it took anything, or was waiting with its goodbye. */
function wasDead(sent: Sent): boolean {
  return (sent.kind === 'failed' || (sent.kind === 'refused' && isFarewell(sent))) && sent.stage === 'mail'
}
