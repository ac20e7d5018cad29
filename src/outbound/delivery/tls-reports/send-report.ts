/**
 * Takes one report a step further: asks whether the domain wants it, queues its mails, and posts it over HTTPS.
 *
 * One commit stores the mails and the new state, so no mail is sent twice. A request over HTTPS may be repeated after a
 * crash; its receiver recognizes the id of the report. A report that cannot be sent within a day is given up.
 */

import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { Address } from '../../../base/mail/address.js'
import { filterAsync } from '../../../base/platform/async-filter.js'
import type { RecordResolver } from '../../../base/platform/dns/resolver.js'
import type { Log } from '../../../base/platform/log.js'
import { DAY } from '../../../base/platform/time-units.js'
import type { Store } from '../../../base/storage/db/database.js'
import { SERVICE_WORKSPACE } from '../../../base/storage/tables/tables.js'
import type { ServiceNotice, ServiceSender } from '../../../records/messages/service-email.js'
import { isSuppressed } from '../../../records/suppressions/suppressions.js'
import { buildReport, type Reporter } from './build-report.js'
import type { MailboxLimit } from './mailbox-limit.js'
import type { PostReport } from './post-report.js'
import { startOfDay } from './report-day.js'
import { composeReportMail } from './report-mail.js'
import { moveReport, type OpenReport, settleReport } from './report-records.js'
import { type ReportTargets, readReportingRequest } from './reporting-record.js'
import { policiesOf, resultsOf, type StoredResult } from './result-records.js'

/** Milliseconds after the end of the day at which a report is given up: a day after the latest first try. */
const GIVE_UP_AFTER = 28 * 3_600_000
/** Milliseconds to the next try. The last one repeats. */
const RETRY_WAITS = [900_000, 3_600_000, 14_400_000]
/** The limit is twice what the counter keeps of a domain, because a restart resets the counter's limits. */
const MAX_ROWS = 2_000
const MAX_POLICIES = 64

const compress = promisify(gzip)

type ReportOutcome = 'mailed' | 'posted' | 'failed' | 'unwanted'

export interface SendReportDeps extends Store, ServiceSender {
  readonly clock: () => number
  readonly log: Pick<Log, 'info' | 'warn'>
  readonly resolver: Pick<RecordResolver, 'resolveRecords'>
  readonly reporter: Reporter
  readonly post: PostReport
  readonly mailboxes: MailboxLimit
  /** Hands committed mail to delivery. */
  readonly offer: (enqueued: ServiceNotice['enqueued']) => void
  readonly onReport?: ((outcome: ReportOutcome) => void) | undefined
}

/** Rejects if the disk takes no more. The step is taken again later. */
export async function takeReportStep(deps: SendReportDeps, report: OpenReport): Promise<void> {
  if (report.state === 'posting') return postToAll(deps, report)
  const request = readReportingRequest(await deps.resolver.resolveRecords(`_smtp._tls.${report.domain}`, 'TXT'))
  switch (request.kind) {
    case 'unknown':
      return tryLater(deps, report, report.uris, request.reason)
    case 'unwanted':
      return settle(deps, report, 'unwanted', '')
    case 'wanted':
      return sendTo(deps, report, request.targets)
  }
}

async function sendTo(deps: SendReportDeps, report: OpenReport, { mailboxes, urls }: ReportTargets): Promise<void> {
  const { read, commit, clock, log, offer, onReport } = deps
  const { day, domain } = report
  // Mail of the service may cause look-ups of the policy of a domain, which are no reason for a report.
  if (!hasSession(await resultsOf(read, { day, domain, limit: MAX_ROWS })))
    return settle(deps, report, 'unwanted', 'no session')
  const known = await filterAsync(mailboxes, async (address) => !(await isSuppressed(read, SERVICE_WORKSPACE, address)))
  const usable = known.filter((address) => deps.mailboxes.take(address, clock()))
  if (usable.length + urls.length === 0) {
    const reason =
      known.length === 0 ? 'earlier mail to its address bounced' : 'its address has had too many reports today'
    return settle(deps, report, 'failed', reason)
  }
  const now = clock()
  const mails = await composeMails(deps, report, usable, now)
  const next =
    urls.length === 0
      ? settleReport(report, 'sent', '', now)
      : [moveReport(report, { state: 'posting', dueAt: now, attempts: 0, uris: urls, reason: '' })]
  await commit([...mails.flatMap(({ enqueued }) => enqueued.writes), ...next])
  for (const { enqueued } of mails) offer(enqueued)
  if (usable.length === 0) return
  onReport?.('mailed')
  log.info({ domain, day, to: usable }, 'a TLS report was queued')
}

async function composeMails(
  deps: SendReportDeps,
  report: OpenReport,
  mailboxes: readonly Address[],
  now: number,
): Promise<readonly ServiceNotice[]> {
  if (mailboxes.length === 0) return []
  const compressed = await compressReport(deps, report)
  const mail = { subject: report, reporter: deps.reporter, compressed }
  return mailboxes.map((to) => composeReportMail(deps, { ...mail, to }, now))
}

function hasSession(results: readonly StoredResult[]): boolean {
  return results.some(({ result, mx_host: host }) => result === '' || host !== '')
}

async function postToAll(deps: SendReportDeps, report: OpenReport): Promise<void> {
  const { clock, commit, log, onReport, post } = deps
  const compressed = await compressReport(deps, report)
  const faults: string[] = []
  const left: string[] = []
  // All receivers are called at once, so that a report takes no longer than the slowest of them.
  const posted = await Promise.all(
    report.uris.map(async (url) => ({ url, fault: await post(new URL(url), compressed) })),
  )
  for (const { url, fault } of posted) {
    if (fault === null) continue
    faults.push(fault)
    left.push(url)
  }
  if (left.length > 0) return tryLater(deps, report, left, faults.join('; '))
  await commit(settleReport(report, 'sent', '', clock()))
  onReport?.('posted')
  log.info({ domain: report.domain, day: report.day, to: report.uris }, 'a TLS report was posted')
}

async function compressReport({ read, reporter }: SendReportDeps, report: OpenReport): Promise<Buffer> {
  const { day, domain } = report
  const policies = await policiesOf(read, { day, domain, limit: MAX_POLICIES })
  const results = await resultsOf(read, { day, domain, limit: MAX_ROWS })
  return compress(JSON.stringify(buildReport(report, reporter, policies, results)))
}

async function tryLater(
  deps: SendReportDeps,
  report: OpenReport,
  uris: readonly string[],
  reason: string,
): Promise<void> {
  const dueAt = deps.clock() + (RETRY_WAITS[report.attempts] ?? RETRY_WAITS.at(-1) ?? DAY)
  if (dueAt > startOfDay(report.day) + DAY + GIVE_UP_AFTER) return settle(deps, report, 'failed', reason)
  const state = report.state === 'posting' ? 'posting' : 'waiting'
  await deps.commit([moveReport(report, { state, dueAt, attempts: report.attempts + 1, uris, reason })])
}

async function settle(
  { commit, clock, log, onReport }: SendReportDeps,
  report: OpenReport,
  state: 'failed' | 'unwanted',
  reason: string,
): Promise<void> {
  await commit(settleReport(report, state, reason, clock()))
  onReport?.(state)
  const { domain, day } = report
  if (state === 'failed') log.warn({ domain, day, reason }, 'a TLS report could not be sent')
}
