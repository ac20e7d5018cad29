/**
 * Warnings about certificates that expire soon: a line in the log and an event in the operator's workspace for each, and
 * one notice about all of them to its administrators, again after three days. Events, notices and the time of the warning
 * are one commit, so a restart repeats none.
 */

import { setTimeout as pause } from 'node:timers/promises'
import { filterAsync } from '../../base/platform/async-filter.js'
import { type Clock, formatTimestamp } from '../../base/platform/clock.js'
import type { Log } from '../../base/platform/log.js'
import { HOUR } from '../../base/platform/time-units.js'
import type { Store } from '../../base/storage/db/database.js'
import { readServiceState, removeOldTimes, setServiceState } from '../../base/storage/db/service-state.js'
import type { Write } from '../../base/storage/db/write.js'
import { recordEvent } from '../../records/events/event-log.js'
import { findOperatorWorkspace } from '../../workspaces/accounts/workspace/operator-workspace.js'
import { daysLeft, expiresSoon, type Validity } from './renewal-plan.js'

export interface WatchedCertificate extends Validity {
  readonly name: string
  /** Why it was not renewed. Null if it is not known. */
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

export interface WatchDeps extends Store {
  readonly clock: Clock
  readonly log: Log
  readonly list: () => readonly WatchedCertificate[]
  /** `warnings` has at least one warning. Those that expire first come before the others. */
  readonly composeNotices: (workspaceId: string, warnings: readonly ExpiryWarning[], now: number) => Promise<Notices>
}

const WARNING_INTERVAL = 72 * HOUR
const KEY_PREFIX = 'certificate_warned:'
/** The first key behind those with the prefix. */
const AFTER_KEYS = 'certificate_warned;'

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
    const now = clock()
    const due = await filterAsync(
      list(),
      async (certificate) => expiresSoon(certificate, now) && (await this.isDue(certificate.name, now)),
    )
    const warnings = due.map(({ name, to, fault }) => ({ name, expiresAt: to, fault }))
    const inOrder = warnings.sort((one, other) => one.expiresAt - other.expiresAt)
    if (inOrder.length > 0) await this.warn(inOrder, now)
  }

  private async run(): Promise<void> {
    const { signal } = this.stopping
    while (!signal.aborted) {
      await this.check().catch((err: unknown) => this.deps.log.error({ err }, 'expiry warnings cannot be written now'))
      await pause(HOUR, undefined, { signal, ref: false }).catch(() => undefined)
    }
  }

  private async isDue(name: string, now: number): Promise<boolean> {
    const stored = (await readServiceState(this.deps.read, { key: keyOf(name) }))[0]?.value
    // After the clock was set back, a warning of the future does not count.
    return stored === undefined || Math.abs(now - Number(stored)) >= WARNING_INTERVAL
  }

  private async warn(warnings: readonly ExpiryWarning[], now: number): Promise<void> {
    const { read, commit, log, composeNotices } = this.deps
    const workspaceId = await findOperatorWorkspace(read)
    const warned = [
      ...warnings.map(({ name }) => setServiceState({ key: keyOf(name), value: String(now) })),
      removeOldTimes({ from: KEY_PREFIX, to: AFTER_KEYS, before: now - WARNING_INTERVAL }),
    ]
    for (const { name, expiresAt, fault } of warnings) {
      const certificate_until = formatTimestamp(expiresAt)
      const days = daysLeft({ to: expiresAt }, now)
      log.warn({ name, certificate_until, days, reason: fault }, 'a certificate expires soon')
    }
    if (workspaceId === null) return commit(warned)
    const notices = await composeNotices(workspaceId, warnings, now)
    const events = warnings.map((warning) => recordEvent(toEvent(workspaceId, warning, now)))
    await commit([...warned, ...events, ...notices.writes])
    notices.onCommitted()
  }
}

function toEvent(workspaceId: string, { name, expiresAt, fault }: ExpiryWarning, at: number) {
  const data = { name, expires_at: formatTimestamp(expiresAt), last_fault: fault }
  return { workspaceId, type: 'certificate.expiring', emailId: null, recipient: null, at, data } as const
}

function keyOf(name: string): string {
  return `${KEY_PREFIX}${name}`
}
