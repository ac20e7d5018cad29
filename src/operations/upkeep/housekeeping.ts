/**
 * Removes expired records every hour, at minute 17, in small steps with pauses between them.
 *
 * The time of the last run is stored: an overdue run takes place at once, even if the daemon restarts often.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../../base/config/complete.js'
import type { ReadSettings, StartSettings } from '../../base/config/live-config.js'
import type { Clock } from '../../base/platform/clock.js'
import { startCronTask } from '../../base/platform/cron-task.js'
import type { Log } from '../../base/platform/log.js'
import { HOUR } from '../../base/platform/time-units.js'
import type { Database } from '../../base/storage/db/database.js'
import { readServiceState, setServiceState } from '../../base/storage/db/service-state.js'
import { reclaimFreePages } from '../../base/storage/maintenance/free-pages.js'
import { purgeLog, purgeSpool } from '../../base/storage/maintenance/purge-log.js'
import { TotalsFold } from '../../base/storage/postgres/fold-totals.js'
import { TurnPurge } from '../../base/storage/postgres/old-turns.js'
import { removeOldReceivers } from '../../inbound/receiving/domain-reports/mail-receivers.js'
import { removeOldReports } from '../../inbound/receiving/domain-reports/old-reports.js'
import { removeOldGreylistEntries } from '../../inbound/receiving/greylisting/greylist-records.js'
import { removeOldCounts } from '../../outbound/breaker/outcome-counts.js'
import { IDEMPOTENCY_LIFETIME, removeExpiredKeys } from '../../outbound/sending/idempotency.js'
import { removeOldLinks } from '../../outbound/tracking/links.js'
import { removeExpiredExports } from '../../records/exports/remove-exports.js'
import { BroadcastMessagePurge, FramePurge } from '../../records/messages/broadcast-recipients.js'
import { InboundPurge } from '../../records/messages/inbound/inbound-retention.js'
import { MessagePurge } from '../../records/messages/retention.js'
import { removeOldUnsubscribeLinks } from '../../records/messages/unsubscribe-links.js'
import { removeOldMetrics } from '../../records/metrics/old-metrics.js'
import { removeOldAuditEntries } from '../../workspaces/accounts/access/audit-log.js'
import { UsageCleanup } from '../../workspaces/accounts/limits/old-usage.js'
import { removeOldInvitations } from '../../workspaces/accounts/people/invitations.js'
import { removeOldBrowsers } from '../../workspaces/accounts/sessions/known-browsers.js'
import { removeOldPasswordLinks } from '../../workspaces/accounts/sessions/password-links.js'
import { removeOldSessions } from '../../workspaces/accounts/sessions/session-records.js'
import { removeExpiredFiles, USE_INTERVAL } from '../../workspaces/content/cached-files.js'
import { removeExpiredImports } from '../../workspaces/imports/import-records.js'
import { removeOldHolds } from '../../workspaces/sms/holds.js'
import { recoverCodes } from '../../workspaces/sms/recover-codes.js'
import { removeOldCodes } from '../../workspaces/sms/sms-records.js'
import { removeOldDeliveries } from '../../workspaces/webhooks/delivery-records.js'

const LAST_RUN = 'housekeeping_last_run'
/** Milliseconds. */
const STEP_PAUSE = 50
/** Milliseconds after which the sending of a code has surely ended. */
const SENDING_TIME = 60_000

interface Deps {
  readonly config: StartSettings
  readonly settings: ReadSettings
  readonly clock: Clock
  readonly log: Log
  readonly database: Database
}

export class Housekeeping {
  private abortController = new AbortController()
  private task: ReturnType<typeof startCronTask> | null = null
  private running: Promise<void> | null = null

  constructor(private readonly deps: Deps) {}

  /** It may be called again after `stop`. */
  async start(): Promise<void> {
    if (this.abortController.signal.aborted) this.abortController = new AbortController()
    this.task = startCronTask('17 * * * *', () => void this.run())
    const { clock, database } = this.deps
    const last = Number((await readServiceState(database.read, { key: LAST_RUN }))[0]?.value ?? 0)
    if (clock() - last > HOUR) void this.run()
  }

  /** Calls share a run that is under way. Never rejects. */
  run(): Promise<void> {
    this.running ??= runHousekeeping(this.deps, this.abortController.signal).finally(() => {
      this.running = null
    })
    return this.running
  }

  /** Call it after the clock was set back. */
  reschedule(): void {
    this.task?.reschedule()
  }

  /** A run under way ends after its step. */
  async stop(): Promise<void> {
    this.abortController.abort()
    this.task?.stop()
    await this.running
  }
}

function greylistLimits(
  { inbound: { greylisting } }: Config,
  now: number,
): Parameters<typeof removeOldGreylistEntries>[1] {
  return { waitingBefore: now - greylisting.retry_window, knownBefore: now - greylisting.remember }
}

type RemovalStep = () => Promise<boolean>

/** Each removes a portion, and resolves to whether there is more. */
function listSteps({ settings, database }: Deps, now: number): readonly RemovalStep[] {
  const { retention } = settings()
  const limits = { messagesBefore: now - retention.messages, eventsBefore: now - retention.events }
  const linksBefore = now - retention.messages - retention.links
  const purges = [
    new UsageCleanup(database, now),
    new MessagePurge(database, limits),
    new InboundPurge(database, limits),
    // While emails are kept, the purge would look at their messages in vain.
    new BroadcastMessagePurge(database, Math.min(linksBefore, limits.eventsBefore)),
    new FramePurge(database, linksBefore),
    new TurnPurge(database),
    new TotalsFold(database),
  ]
  return [
    () => removeExpiredKeys(database, now - IDEMPOTENCY_LIFETIME),
    ...purges.map((purge) => () => purge.step()),
    () => removeOldLinks(database, linksBefore),
    () => removeExpiredFiles(database, { usedBefore: now - retention.files - USE_INTERVAL, now }),
    () => removeOldUnsubscribeLinks(database, linksBefore),
    () => removeOldAuditEntries(database, now - retention.audit),
    () => removeOldInvitations(database, now),
    () => removeOldSessions(database, now),
    () => removeOldPasswordLinks(database, now),
    () => removeOldBrowsers(database, now),
    () => removeExpiredImports(database, now),
    () => removeExpiredExports(database, now - retention.exports),
    () => removeOldDeliveries(database, limits.eventsBefore),
    () => removeOldMetrics(database, now),
    () => removeOldReports(database, now - retention.reports),
    () => removeOldReceivers(database, now - retention.reports),
    () => removeOldCounts(database, now),
    () => removeOldHolds(database, now),
    () => removeOldCodes(database, limits.messagesBefore),
    () => removeOldGreylistEntries(database, greylistLimits(settings(), now)),
  ]
}

/** A fault is logged; the next run is in an hour. */
async function runHousekeeping(deps: Deps, signal: AbortSignal): Promise<void> {
  const { clock, log, database } = deps
  try {
    const now = clock()
    for (const step of listSteps(deps, now)) while (!signal.aborted && (await step())) await sleep(STEP_PAUSE)
    if (!signal.aborted) await recoverCodes({ ...database, log }, { before: now - SENDING_TIME, now })
    await reclaimFreePages(database, signal)
    const isSwept = await purgeSpool(database, signal).catch((err: unknown) => {
      log.error({ err }, 'spool files cannot be swept now')
      return true
    })
    if (!isSwept) log.error('spool files still hold deleted bytes: a backup or a verification uses them')
    if (!(await purgeLog(database, signal)))
      log.error('the log of the database still holds deleted bytes: a reader uses it')
    if (!signal.aborted) await database.commit([setServiceState({ key: LAST_RUN, value: String(now) })])
  } catch (error) {
    log.error({ err: error }, 'housekeeping failed')
  }
}
