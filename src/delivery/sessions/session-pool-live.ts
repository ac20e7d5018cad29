/** The sessions that are open, by the address that they are with: busy and idle ones. */
import type { Host } from '../hosts/destination.js'
import type { SmtpSession } from './smtp-session.js'

export class LiveSessions {
  private readonly byAddress = new Map<string, Set<SmtpSession>>()
  private readonly addresses = new Map<SmtpSession, string>()

  add(host: Host, session: SmtpSession): void {
    const key = keyOf(host)
    const sessions = this.byAddress.get(key) ?? new Set()
    sessions.add(session)
    this.byAddress.set(key, sessions)
    this.addresses.set(session, key)
  }

  remove(session: SmtpSession): void {
    const key = this.addresses.get(session)
    if (key === undefined) return
    this.addresses.delete(session)
    const sessions = this.byAddress.get(key)
    sessions?.delete(session)
    if (sessions?.size === 0) this.byAddress.delete(key)
  }

  /** Is one of them good for another message? */
  hasUsable(host: Host): boolean {
    for (const session of this.byAddress.get(keyOf(host)) ?? []) if (session.isUsable) return true
    return false
  }
}

function keyOf({ address, port }: Host): string {
  return `${address} ${port}`
}
