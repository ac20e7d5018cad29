/**
 * Warnings about certificates that expire soon: a line in the log, an event in the operator's workspace, and a notice to
 * its administrators, again after three days. Event, notices and the time of the warning are one commit, so a restart
 * repeats none.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { findOperatorWorkspace } from '../accounts/operator-workspace.js'
import { recordEvent } from '../events/event-log.js'
import { type Clock, formatTimestamp } from '../platform/clock.js'
import type { Log } from '../platform/log.js'
import type { Store } from '../storage/database.js'
import { readServiceState, setServiceState } from '../storage/service-state.js'
import type { Write } from '../storage/writer/write.js'
import { daysLeft, expiresSoon, type Validity } from './renewal-plan.js'

export interface WatchedCertificate extends Validity {
  readonly name: string
  /** Why it was not renewed; null: not known. */
  readonly fault: string | null
}

export interface ExpiryWarning {
  readonly name: string
  /** Epoch milliseconds. */
  readonly expiresAt: number
  readonly fault: string | null
}

interface Notices {
  readonly writes: readonly Write[]
  readonly onCommitted: () => void
}

interface WatchDeps extends Store {
  readonly clock: Clock
  readonly log: Log
  readonly list: () => readonly WatchedCertificate[]
  readonly composeNotices: (workspaceId: string, warning: ExpiryWarning, now: number) => Notices
}

const HOUR = 3_600_000
const WARNING_INTERVAL = 72 * HOUR

export class ExpiryWatch {
  private readonly stopping = new AbortController()
  private running: Promise<void> = Promise.resolve()

  constructor(private readonly deps: WatchDeps) {}

  start(): void {
    this.running = this.run()
  }

  async stop(): Promise<void> {
    this.stopping.abort()
    await this.running
  }

  /** Gives the warnings that are due. */
  async check(): Promise<void> {
    const { list, clock } = this.deps
    for (const certificate of list()) {
      const now = clock()
      if (expiresSoon(certificate, now) && this.isDue(certificate.name, now)) await this.warn(certificate, now)
    }
  }

  private async run(): Promise<void> {
    const { signal } = this.stopping
    while (!signal.aborted) {
      await this.check().catch((err: unknown) => this.deps.log.error({ err }, 'expiry warnings cannot be written now'))
      await pause(HOUR, undefined, { signal, ref: false }).catch(() => undefined)
    }
  }

  private isDue(name: string, now: number): boolean {
    const stored = readServiceState(this.deps.read, { key: keyOf(name) })[0]?.value
    // After the clock was set back, a warning of the future does not count.
    return stored === undefined || Math.abs(now - Number(stored)) >= WARNING_INTERVAL
  }

  private async warn({ name, to, fault }: WatchedCertificate, now: number): Promise<void> {
    const { read, commit, log, composeNotices } = this.deps
    const workspaceId = findOperatorWorkspace(read)
    const warned = setServiceState({ key: keyOf(name), value: String(now) })
    const data = { name, expires_at: formatTimestamp(to), last_fault: fault }
    log.warn(
      { name, certificate_until: data.expires_at, days: daysLeft({ to }, now), reason: fault },
      'a certificate expires soon',
    )
    if (workspaceId === null) return commit([warned])
    const notices = composeNotices(workspaceId, { name, expiresAt: to, fault }, now)
    const event = { workspaceId, type: 'certificate.expiring', emailId: null, recipient: null, at: now, data } as const
    await commit([warned, recordEvent(event), ...notices.writes])
    notices.onCommitted()
  }
}

function keyOf(name: string): string {
  return `certificate_warned:${name}`
}
