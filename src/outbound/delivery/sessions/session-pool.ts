/**
 * Sends messages over sessions that are kept open: each session takes many messages of one host.
 *
 * - The caller decides how many messages may be sent to a host at a time: each `send` holds a slot of
 *   `queue/host-concurrency.ts`. The pool closes idle sessions so that busy and idle ones together stay within the
 *   limit of the MX name and of our address, and within the limit of all sessions as far as possible.
 * - A kept session may have died unnoticed. If it fails before MAIL was answered, nothing was handed over yet, and the
 *   message is sent once more over a fresh connection.
 * - Each session has the pace of its provider (`shaping/`), which counts its open sessions, says how many messages one
 *   takes, and learns from each reply.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../../../base/config/complete.js'
import { type Host, pathOf } from '../hosts/destination.js'
import { isIpv6Refusal } from '../hosts/ipv6-refusal.js'
import type { PaceControl } from '../shaping/pace-control.js'
import type { PaceVerdict, Passage } from '../shaping/pace-state.js'
import type { Paces } from '../shaping/paces.js'
import type { Outage } from '../shaping/unreachable-hosts.js'
import type { OutboundMessage } from '../smtp/outbound-message.js'
import type { Exchange, SendResult } from '../smtp/send-result.js'
import type { SmtpClientSession } from '../smtp/smtp-session.js'
import { isServiceClosing } from '../smtp/transaction.js'
import { IdleSessions } from './idle-sessions.js'
import type { SessionOpener } from './session-opener.js'

/** Idle sessions are closed beyond `max_connections`, but half of that number may always be idle. */
export type ConnectionLimits = Pick<Config['outbound'], 'max_connections' | 'max_connections_per_host'>

export interface SessionPoolLimits {
  readonly messagesPerSession: number
  /** Milliseconds after which an idle session ends. */
  readonly idleTimeout: number
}

const defaultPoolLimits: SessionPoolLimits = { messagesPerSession: 100, idleTimeout: 10_000 }

/** A connection that is open, or is being opened. */
interface OpenSessionOf {
  readonly host: Host
  readonly pace: PaceControl
}

interface JudgedExchange {
  readonly exchange: Exchange
  readonly verdict: PaceVerdict
}

/** Milliseconds that a new session waits for the end of another one of its provider, and the number of such waits. */
const ROOM_WAIT = 1_000
const MAX_ROOM_WAITS = 5

export class SessionPool {
  private readonly idleSessions: IdleSessions
  /** All open sessions, busy and idle. */
  private readonly openSessions = new Map<SmtpClientSession, OpenSessionOf>()
  /** The hosts (`pathOf`) of the messages that are being sent, one for each message. */
  private readonly busyHosts = new Set<{ readonly path: string }>()
  /** The sessions that are sending QUIT. */
  private readonly endingSessions = new Set<Promise<void>>()
  private isClosed = false

  constructor(
    private readonly opener: Pick<SessionOpener, 'open'>,
    private readonly settings: () => ConnectionLimits,
    private readonly paces: Pick<Paces, 'of'>,
    private readonly limits = defaultPoolLimits,
  ) {
    this.idleSessions = new IdleSessions(limits.idleTimeout, (session) => this.quitSession(session))
  }

  /**
   * Sends a message. `ignoreOutages` calls the host even if it is remembered as unreachable. Rejects only when the
   * signal aborts, with its reason.
   */
  async send(
    host: Host,
    message: OutboundMessage,
    signal: AbortSignal,
    ignoreOutages = false,
  ): Promise<Exchange | Outage> {
    signal.throwIfAborted()
    const busy = { path: pathOf(host) }
    this.busyHosts.add(busy)
    try {
      const pace = this.paces.of(host)
      const kept = this.takeKept(host, pace)
      if (kept !== null) {
        const { exchange, verdict } = await this.sendOverSession({ host, pace }, kept, message, signal)
        if (!mayResend(exchange.sent, verdict)) return exchange
      }
      return await this.sendOnNewSession(host, message, ignoreOutages, signal)
    } finally {
      this.busyHosts.delete(busy)
    }
  }

  /** Ends the idle sessions. Busy ones end after their message, so stop the attempts first. */
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
    const pace = this.paces.of(host)
    this.makeRoom(pathOf(host))
    await this.waitForRoom(pace, signal)
    const passage = pace.beginPassage(0)
    pace.openSession()
    const opened = await this.opener
      .open(host, {
        signal,
        // Mail of the service, including reports, has the null return path, and must not cause reports.
        reportedDomain: message.returnPath === '' ? null : message.domain,
        ignoreOutages,
        hasSession: () => this.hasUsableSession(host),
      })
      .catch((error: unknown) => {
        pace.closeSession()
        throw error
      })
    if (opened.kind === 'open') {
      this.openSessions.set(opened.session, { host, pace })
      return (await this.sendOverSession({ host, pace }, opened.session, message, signal)).exchange
    }
    const { exchange } =
      opened.kind === 'outage'
        ? { exchange: opened }
        : judge({ sent: opened.failure, tls: opened.tls, transcript: opened.transcript }, { host, pace }, passage)
    pace.closeSession()
    return exchange
  }

  private async sendOverSession(
    of: OpenSessionOf,
    session: SmtpClientSession,
    message: OutboundMessage,
    signal: AbortSignal,
  ): Promise<JudgedExchange> {
    const passage = of.pace.beginPassage(session.sentCount)
    try {
      const sent = await session.send(message, signal)
      return judge({ sent, tls: session.tls, transcript: session.transcript }, of, passage)
    } finally {
      this.returnSession(of, session)
    }
  }

  /** Returns an idle session that may get another message. */
  private takeKept(host: Host, pace: PaceControl): SmtpClientSession | null {
    for (;;) {
      const kept = this.idleSessions.take(host)
      if (kept === null || kept.sentCount < pace.messagesPerSession) return kept
      this.quitSession(kept)
    }
  }

  private returnSession({ host, pace }: OpenSessionOf, session: SmtpClientSession): void {
    const maxMessages = Math.min(this.limits.messagesPerSession, pace.messagesPerSession)
    if (this.isClosed || session.sentCount >= maxMessages) this.quitSession(session)
    else if (session.isUsable) this.idleSessions.put(host, session)
    else {
      this.openSessions.delete(session)
      pace.closeSession()
    }
  }

  /** Waits for room for another session at the provider, and ends idle sessions at any of its hosts. */
  private async waitForRoom(pace: PaceControl, signal: AbortSignal): Promise<void> {
    for (let waits = 0; !pace.hasSessionRoom && waits < MAX_ROOM_WAITS; waits++) {
      this.idleSessions.evict((host) => this.paces.of(host) === pace)
      await Promise.race([pace.waitForSession(), sleep(ROOM_WAIT, undefined, { ref: false })])
      signal.throwIfAborted()
    }
  }

  /** Makes room for the next connection, which already counts as busy. */
  private makeRoom(path: string): void {
    const { max_connections: connections, max_connections_per_host: connectionsPerHost } = this.settings()
    if (this.idleSessions.countByPath(path) + this.countBusy(path) > connectionsPerHost)
      this.idleSessions.evict((host) => pathOf(host) === path)
    // Half of the sessions may be idle, however many attempts wait for slow servers.
    const busy = Math.min(this.busyHosts.size, connections / 2)
    if (this.idleSessions.size + busy > connections) this.idleSessions.evict(() => true)
  }

  private countBusy(path: string): number {
    let count = 0
    for (const busy of this.busyHosts) if (busy.path === path) count++
    return count
  }

  private hasUsableSession({ address, port, source }: Host): boolean {
    for (const [session, { host }] of this.openSessions) {
      const isSame = host.address === address && host.port === port && host.source === source
      if (isSame && session.isUsable) return true
    }
    return false
  }

  private quitSession(session: SmtpClientSession): void {
    const pace = this.openSessions.get(session)?.pace
    this.openSessions.delete(session)
    const ending = session.quit().finally(() => {
      pace?.closeSession()
      this.endingSessions.delete(ending)
    })
    this.endingSessions.add(ending)
  }
}

/** Judges an exchange. A refusal of IPv6 does not change the pace, because IPv4 may be open. */
function judge(exchange: Exchange, { host, pace }: OpenSessionOf, passage: Passage): JudgedExchange {
  const { sent } = exchange
  if (sent.kind === 'refused' && isIpv6Refusal(host, sent.reply)) return { exchange, verdict: { kind: 'none' } }
  const verdict = pace.judge(sent, passage)
  return { exchange: verdict.kind === 'retry' ? { ...exchange, retryAt: verdict.at } : exchange, verdict }
}

/** Tells whether to send again at once over a fresh session, because the kept one was stale, or full. */
function mayResend(sent: SendResult, { kind }: PaceVerdict): boolean {
  return kind === 'resend' || (kind === 'none' && isStaleSession(sent))
}

/** Tells whether the kept session failed before it took anything, or the server had already ended it. */
function isStaleSession(sent: SendResult): boolean {
  return (sent.kind === 'failed' || (sent.kind === 'refused' && isServiceClosing(sent))) && sent.stage === 'mail'
}
