/**
 * Wires the daily checks: a run is due a day after the last one, which is stored; the first is ten minutes after a start.
 *
 * The runs of a daemon follow each other, also those that the operator asks for; requests that wait for a run share it,
 * so however many there are, one run is under way and one waits.
 */
import type { ReadSettings, StartSettings } from '../../base/config/live-config.js'
import type { Clock } from '../../base/platform/clock.js'
import type { Log } from '../../base/platform/log.js'
import { shareWaitingRun } from '../../base/platform/serial-runner.js'
import { DAY } from '../../base/platform/time-units.js'
import type { Database } from '../../base/storage/db/database.js'
import { allChecks } from '../doctor/checks/all-checks.js'
import { openCheckDeps } from '../doctor/checks/open-deps.js'
import { storeDailyRun } from '../doctor/daily-run.js'
import type { Finding } from '../doctor/finding.js'
import { readLastRun } from '../doctor/findings-store.js'
import { runChecks } from '../doctor/run-checks.js'
import type { Edges } from './edges.js'

/** Milliseconds. */
const FIRST_RUN = 600_000
const POLL_INTERVAL = 60_000

interface DoctorDeps {
  readonly config: StartSettings
  readonly settings: ReadSettings
  readonly clock: Clock
  readonly log: Log
  readonly database: Database
  readonly edges: Pick<Edges, 'resolver' | 'dialer' | 'authorities'>
}

export interface Doctor {
  readonly start: () => void
  /** Runs all checks now; resolves to what they found, when it is stored. */
  readonly run: () => Promise<readonly Finding[]>
  /** Resolves when no run is under way. */
  readonly stop: () => Promise<void>
}

export function wireDoctor(deps: DoctorDeps): Doctor {
  const { settings, clock, log, database } = deps
  const startedAt = clock()
  const stopped = new AbortController()
  let lastRun: Promise<unknown> = Promise.resolve()
  let timer: NodeJS.Timeout | null = null
  let isRunning = false
  const runShared = shareWaitingRun(() => runAndStore(deps, stopped.signal))
  const run = (): Promise<readonly Finding[]> => {
    const running = runShared()
    lastRun = running
    return running
  }
  const runWhenDue = async (): Promise<void> => {
    if (!settings().doctor.daily) return
    const { at: lastAt } = readLastRun(database.read)
    if (isRunning || !isRunDue({ lastAt, startedAt, now: clock() })) return
    isRunning = true
    await run().finally(() => {
      isRunning = false
    })
  }
  return {
    run,
    start: () => {
      timer = setInterval(() => {
        void runWhenDue().catch((error: unknown) => log.error({ err: error }, 'the daily checks ended with an error'))
      }, POLL_INTERVAL).unref()
    },
    stop: async () => {
      if (timer !== null) clearInterval(timer)
      stopped.abort()
      await lastRun.catch(() => undefined)
    },
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

/** A run that a stop cuts off is not stored: it found nothing out. */
async function runAndStore(
  { settings, clock, log, database, edges }: DoctorDeps,
  stopped: AbortSignal,
): Promise<readonly Finding[]> {
  stopped.throwIfAborted()
  const { read, commit } = database
  const findings = await runChecks(
    allChecks,
    (signal) => openCheckDeps({ config: settings(), clock, read, ...edges }, signal),
    {
      stopped,
    },
  )
  stopped.throwIfAborted()
  await storeDailyRun({ read, commit, log }, findings, clock())
  return findings
}
