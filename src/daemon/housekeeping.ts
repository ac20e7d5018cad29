/**
 * Forgets what is old, every hour, in small steps with pauses between them.
 *
 * The time of the last run is kept, so that a daemon that is restarted often still gets
 * to it: a run that is overdue takes place at once.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { schedule } from 'node-cron'
import { forgetActs } from '../accounts/audit-log.js'
import { forgetUsage } from '../accounts/limits/old-usage.js'
import { forgetInvitations } from '../accounts/people/invitations.js'
import type { Config } from '../config/complete.js'
import { USE_COUNTS_FOR } from '../content/cached-files.js'
import { forgetFiles } from '../content/file-retention.js'
import { forgetImports } from '../imports/import-retention.js'
import { forgetInbound } from '../messages/inbound/inbound-retention.js'
import { forgetMessages } from '../messages/retention.js'
import type { Clock } from '../platform/clock.js'
import type { Log } from '../platform/log.js'
import { forgetKeys, IDEMPOTENCY_LIFETIME } from '../sending/idempotency.js'
import type { Database } from '../storage/database.js'
import { freePages } from '../storage/maintenance/free-pages.js'
import { serviceState, setServiceState } from '../storage/service-state.js'

const LAST_RUN = 'housekeeping_last_run'
const HOUR = 3_600_000
const PAUSE = 50
/** Pages that a step gives back, and what may stay for what comes in next. */
const PAGES = 2_000
const SPARE = 5_000

interface Parts {
  readonly config: Config
  readonly clock: Clock
  readonly log: Log
  readonly database: Database
}

/** Returns the way to end it; a run under way stops after its step. */
export function startHousekeeping(parts: Parts): { readonly stop: () => Promise<void> } {
  const ended = new AbortController()
  let running: Promise<void> = Promise.resolve()
  const run = (): Promise<void> => {
    running = running.then(() => forget(parts, ended.signal))
    return running
  }
  const task = schedule('17 * * * *', run, { noOverlap: true })
  const last = Number(serviceState(parts.database.read, { key: LAST_RUN })[0]?.value ?? 0)
  if (parts.clock() - last > HOUR) void run()
  return {
    stop: async () => {
      ended.abort()
      await task.destroy()
      await running
    },
  }
}

/** A fault is logged, and the next hour tries again. */
async function forget({ config, clock, log, database }: Parts, signal: AbortSignal): Promise<void> {
  try {
    const now = clock()
    const limits = { messagesBefore: now - config.retention.messages, eventsBefore: now - config.retention.events }
    const kinds = [
      () => forgetKeys(database, now - IDEMPOTENCY_LIFETIME),
      forgetUsage(database, now),
      forgetMessages(database, limits),
      forgetInbound(database, limits),
      () => forgetFiles(database, { usedBefore: now - config.retention.files - USE_COUNTS_FOR, now }),
      () => forgetActs(database, now - config.retention.audit),
      () => forgetInvitations(database, now),
      () => forgetImports(database, now),
    ]
    for (const step of kinds) while (!signal.aborted && (await step())) await sleep(PAUSE)
    await reclaim(database, signal)
    if (!signal.aborted) await database.commit([setServiceState({ key: LAST_RUN, value: String(now) })])
  } catch (error) {
    log.error({ err: error }, 'housekeeping failed')
  }
}

/** Gives what deletions left back to the file system; ends when a step brings nothing. */
async function reclaim(database: Database, signal: AbortSignal): Promise<void> {
  for (let free = freePages(database.read); free > SPARE && !signal.aborted; ) {
    await database.reclaim(PAGES)
    await sleep(PAUSE)
    const left = freePages(database.read)
    if (left >= free) return
    free = left
  }
}
