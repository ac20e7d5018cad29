/**
 * Forgets what is old, every hour, in small steps with pauses between them.
 *
 * The time of the last run is kept, so that a daemon that is restarted often still gets
 * to it: a run that is overdue takes place at once.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { schedule } from 'node-cron'
import { removeOldAuditEntries } from '../accounts/audit-log.js'
import { createUsageCleanup } from '../accounts/limits/old-usage.js'
import { removeOldInvitations } from '../accounts/people/invitations.js'
import type { Config } from '../config/complete.js'
import { USE_INTERVAL } from '../content/cached-files.js'
import { removeExpiredFiles } from '../content/file-retention.js'
import { removeExpiredImports } from '../imports/import-retention.js'
import { createInboundPurge } from '../messages/inbound/inbound-retention.js'
import { createMessagePurge } from '../messages/retention.js'
import type { Clock } from '../platform/clock.js'
import type { Log } from '../platform/log.js'
import { IDEMPOTENCY_LIFETIME, removeExpiredKeys } from '../sending/idempotency.js'
import { countFreePages, type Database } from '../storage/database.js'
import { readServiceState, setServiceState } from '../storage/service-state.js'

const LAST_RUN = 'housekeeping_last_run'
const HOUR = 3_600_000
const STEP_PAUSE = 50
/** Pages that a step gives back, and what may stay for what comes in next. */
const PAGES_PER_STEP = 2_000
const MAX_FREE_PAGES = 5_000

interface Parts {
  readonly config: Config
  readonly clock: Clock
  readonly log: Log
  readonly database: Database
}

/** Returns the way to end it; a run under way stops after its step. */
export function startHousekeeping(parts: Parts): { readonly stop: () => Promise<void> } {
  const abortController = new AbortController()
  let running: Promise<void> = Promise.resolve()
  const run = (): Promise<void> => {
    running = running.then(() => runHousekeeping(parts, abortController.signal))
    return running
  }
  const task = schedule('17 * * * *', run, { noOverlap: true })
  const last = Number(readServiceState(parts.database.read, { key: LAST_RUN })[0]?.value ?? 0)
  if (parts.clock() - last > HOUR) void run()
  return {
    stop: async () => {
      abortController.abort()
      await task.destroy()
      await running
    },
  }
}

/** A fault is logged, and the next hour tries again. */
async function runHousekeeping({ config, clock, log, database }: Parts, signal: AbortSignal): Promise<void> {
  try {
    const now = clock()
    const limits = { messagesBefore: now - config.retention.messages, eventsBefore: now - config.retention.events }
    const kinds = [
      () => removeExpiredKeys(database, now - IDEMPOTENCY_LIFETIME),
      createUsageCleanup(database, now),
      createMessagePurge(database, limits),
      createInboundPurge(database, limits),
      () => removeExpiredFiles(database, { usedBefore: now - config.retention.files - USE_INTERVAL, now }),
      () => removeOldAuditEntries(database, now - config.retention.audit),
      () => removeOldInvitations(database, now),
      () => removeExpiredImports(database, now),
    ]
    for (const step of kinds) while (!signal.aborted && (await step())) await sleep(STEP_PAUSE)
    await reclaimPages(database, signal)
    if (!signal.aborted) await database.commit([setServiceState({ key: LAST_RUN, value: String(now) })])
  } catch (error) {
    log.error({ err: error }, 'housekeeping failed')
  }
}

/** Gives what deletions left back to the file system; ends when a step brings nothing. */
async function reclaimPages(database: Database, signal: AbortSignal): Promise<void> {
  for (let free = countFreePages(database.read); free > MAX_FREE_PAGES && !signal.aborted; ) {
    await database.reclaimPages(PAGES_PER_STEP)
    await sleep(STEP_PAUSE)
    const left = countFreePages(database.read)
    if (left >= free) return
    free = left
  }
}
