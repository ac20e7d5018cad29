/**
 * Keeps idle sessions, each for a limited time. The one that was used last is used first.
 *
 * A session is dropped at once when the server closes it or sends something.
 */
import { type Host, pathOf } from '../hosts/destination.js'
import { verificationKeyOf } from '../hosts/host-security.js'
import type { SmtpClientSession } from '../smtp/smtp-session.js'

interface IdleSession {
  readonly host: Host
  readonly session: SmtpClientSession
  readonly timer: NodeJS.Timeout
}

export class IdleSessions {
  private readonly timeout: number
  private readonly quit: (session: SmtpClientSession) => void
  /** The sessions by the time at which they became idle, oldest first. */
  private readonly sessions = new Set<IdleSession>()
  private readonly byHost = new Map<string, IdleSession[]>()

  constructor(timeout: number, quit: (session: SmtpClientSession) => void) {
    this.timeout = timeout
    this.quit = quit
  }

  get size(): number {
    return this.sessions.size
  }

  /** Counts the sessions of a path, which `pathOf` makes. */
  countByPath(path: string): number {
    let count = 0
    for (const { host } of this.sessions) if (pathOf(host) === path) count++
    return count
  }

  put(host: Host, session: SmtpClientSession): void {
    const idle = { host, session, timer: setTimeout(() => this.dismiss(idle), this.timeout) }
    this.sessions.add(idle)
    const key = keyOf(host)
    const sessions = this.byHost.get(key)
    if (sessions === undefined) this.byHost.set(key, [idle])
    else sessions.push(idle)
    session.watch(() => this.dismiss(idle))
  }

  /** Returns the session with exactly this host that was used last. It is no longer idle then. */
  take(host: Host): SmtpClientSession | null {
    const idle = this.byHost.get(keyOf(host))?.at(-1)
    if (idle === undefined) return null
    this.remove(idle)
    return idle.session
  }

  /** Ends the matching session that has been idle longest. */
  evict(matches: (host: Host) => boolean): void {
    for (const idle of this.sessions) {
      if (!matches(idle.host)) continue
      this.dismiss(idle)
      return
    }
  }

  clear(): void {
    for (const idle of this.sessions) this.dismiss(idle)
  }

  private dismiss(idle: IdleSession): void {
    this.remove(idle)
    this.quit(idle.session)
  }

  private remove(idle: IdleSession): void {
    clearTimeout(idle.timer)
    this.sessions.delete(idle)
    const key = keyOf(idle.host)
    const others = (this.byHost.get(key) ?? []).filter((other) => other !== idle)
    if (others.length === 0) this.byHost.delete(key)
    else this.byHost.set(key, others)
  }
}

/** Sessions are interchangeable if both addresses, EHLO name, TLS, verification and user are the same. */
function keyOf(host: Host): string {
  const { mx, address, port, tls, auth, source = '', hello = '' } = host
  const user = auth === null ? '' : JSON.stringify([auth.user, auth.pass])
  return `${mx} ${address} ${port} ${source} ${hello} ${tls} ${verificationKeyOf(host)} ${user}`
}
