/**
 * Runs the daily checks: a run is due a day after the last one, which is stored; the first is ten minutes after a start.
 *
 * Each node has runs of its own. The runs of a daemon follow each other, also those that the operator asks for; requests that wait for a run share it,
 * so however many there are, one run is under way and one waits.
 */
import type { ReadSettings } from '../../../base/config/live-config.js'
import type { Clock } from '../../../base/platform/clock.js'
import type { Log } from '../../../base/platform/log.js'
import { shareWaitingRun } from '../../../base/platform/serial-runner.js'
import { DAY } from '../../../base/platform/time-units.js'
import type { Database } from '../../../base/storage/db/database.js'
import type { CheckDeps } from '../check.js'
import { allChecks } from '../checks/all-checks.js'
import { type DoctorEdges, openCheckDeps } from '../checks/open-deps.js'
import type { Finding } from '../finding.js'
import { readLastRun } from '../findings-store.js'
import { chooseChecks } from '../local-trial.js'
import { runChecks } from '../run-checks.js'
import { storeDailyRun } from './daily-run.js'

/** Milliseconds. */
const FIRST_RUN = 600_000
const POLL_INTERVAL = 60_000

interface DailyCheckDeps {
  readonly settings: ReadSettings
  readonly clock: Clock
  readonly log: Log
  readonly database: Pick<Database, 'read' | 'commit' | 'node'>
  readonly edges: Pick<DoctorEdges, 'resolver' | 'dialer' | 'authorities'>
}

export class DailyChecks {
  private readonly startedAt: number
  private readonly stopped = new AbortController()
  private readonly runShared: () => Promise<readonly Finding[]>
  private lastRun: Promise<unknown> = Promise.resolve()
  private lastLook: Promise<void> = Promise.resolve()
  private timer: NodeJS.Timeout | null = null
  private isRunning = false

  constructor(private readonly deps: DailyCheckDeps) {
    this.startedAt = deps.clock()
    this.runShared = shareWaitingRun(() => this.runAndStore())
  }

  start(): void {
    const runLogged = (): void => {
      this.lastLook = this.runWhenDue().catch((err: unknown) =>
        this.deps.log.error({ err }, 'the daily checks ended with an error'),
      )
    }
    this.timer = setInterval(runLogged, POLL_INTERVAL).unref()
  }

  /** Runs all checks now; resolves to what they found, when it is stored. */
  run(): Promise<readonly Finding[]> {
    const running = this.runShared()
    this.lastRun = running
    return running
  }

  /** Resolves when no run is under way. */
  async stop(): Promise<void> {
    if (this.timer !== null) clearInterval(this.timer)
    this.stopped.abort()
    await this.lastLook
    await this.lastRun.catch(() => undefined)
  }

  private async runWhenDue(): Promise<void> {
    const { settings, clock, database } = this.deps
    if (!settings().doctor.daily) return
    const { at: lastAt } = await readLastRun(database.read, database.node.name)
    if (this.stopped.signal.aborted) return
    if (this.isRunning || !isRunDue({ lastAt, startedAt: this.startedAt, now: clock() })) return
    this.isRunning = true
    await this.run().finally(() => {
      this.isRunning = false
    })
  }

  /** A run that a stop cuts off is not stored, because it has found nothing out. */
  private async runAndStore(): Promise<readonly Finding[]> {
    const { settings, clock, log, database, edges } = this.deps
    const stopped = this.stopped.signal
    stopped.throwIfAborted()
    const { read, commit, node } = database
    const config = settings()
    const openDeps = (signal: AbortSignal): CheckDeps => openCheckDeps({ config, clock, read, ...edges }, signal)
    const findings = await runChecks(chooseChecks(allChecks, config), openDeps, { stopped })
    stopped.throwIfAborted()
    await storeDailyRun({ read, commit, node, log }, findings, clock())
    return findings
  }
}

/** `lastAt` 0: there was none. After the clock was set back, a run of the future does not count. */
export function isRunDue({
  lastAt,
  startedAt,
  now,
}: Readonly<Record<'lastAt' | 'startedAt' | 'now', number>>): boolean {
  return lastAt === 0 || lastAt > now ? now >= startedAt + FIRST_RUN : now >= lastAt + DAY
}
