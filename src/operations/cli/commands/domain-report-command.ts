/** `domain reports`: what other servers report about a domain. */

import { type DomainName, domainOf, parseDomainName } from '../../../base/mail/address.js'
import { MAX_ID } from '../../../base/storage/db/paging.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { SERVICE_WORKSPACE } from '../../../base/storage/tables/tables.js'
import { rememberReceivers } from '../../../inbound/receiving/domain-reports/mail-receivers.js'
import {
  type DomainOfReport,
  type ReportPage,
  reportsBefore,
} from '../../../inbound/receiving/domain-reports/report-records.js'
import { type ReportSummary, summarizeReports } from '../../../inbound/receiving/domain-reports/summarize-reports.js'
import { toReportResource } from '../../../servers/api/domains/report-fields.js'
import { isInside } from '../../../workspaces/domains/zone/zone-records.js'
import { type Answer, type Call, requiredWord } from '../command/command.js'
import { chooseDomain, requireDomain } from '../command/domain-choice.js'
import { formatMoment, formatTable } from '../command/table.js'

const MAX_LISTED = 20
/** Follows the name of a reporter. */
const UNKNOWN = '(unknown)'

export async function showReports(call: Call): Promise<Answer> {
  const { read, ref, domain } = await chooseReported(call)
  const all = { from: 0, to: Number.MAX_SAFE_INTEGER, before: MAX_ID, kind: 'any', limit: MAX_LISTED } as const
  const page: ReportPage = { ...ref, ...all }
  const summary = await summarizeReports(read, page)
  const reports = await reportsBefore(read, page)
  const isKnown = rememberReceivers(read)
  const judged = await Promise.all(reports.map(async (row) => ({ row, known: await isKnown(row) })))
  return {
    json: { domain, summary, reports: judged.map(({ row, known }) => toReportResource(row, known)) },
    lines: [
      ...formatSummary(summary),
      '',
      `The newest ${MAX_LISTED} reports:`,
      ...formatTable(
        ['FROM', 'TYPE', 'REPORTER', 'DOMAIN', 'PASSED', 'FAILED'],
        judged.map(({ row, known }) => {
          const { begins_at, kind, domain, messages, passed } = row
          const reporter = known ? row.reporter : `${row.reporter} ${UNKNOWN}`
          return [formatMoment(begins_at), kind, reporter, domain, String(passed), String(messages - passed)]
        }),
      ),
    ],
  }
}

interface ReportedDomain {
  readonly read: Read
  readonly ref: DomainOfReport
  readonly domain: DomainName
}

/** A domain of the service itself belongs to no workspace. */
async function chooseReported(call: Call): Promise<ReportedDomain> {
  const { service } = call.config
  const domain = parseDomainName(requiredWord(call.words, 0, 'NAME'))
  const own = [service.zone, service.hostname, domainOf(service.mail_from)]
  if (own.some((name) => isInside(domain, name))) {
    const { read } = await call.database()
    return { read, ref: { workspaceId: SERVICE_WORKSPACE, domainId: SERVICE_WORKSPACE }, domain }
  }
  const chosen = await chooseDomain(call)
  const { id: domainId, workspace_id: workspaceId } = await requireDomain(chosen)
  return { read: chosen.database.read, ref: { workspaceId, domainId }, domain }
}

function formatSummary({ dmarc, tls }: ReportSummary): readonly string[] {
  return [
    `DMARC: ${dmarc.messages} messages in ${dmarc.reports} reports, ${dmarc.passed} passed, ${dmarc.failed} failed`,
    ...formatUncounted(dmarc.uncounted.reports, `${dmarc.uncounted.messages} messages`),
    ...formatReporters(dmarc.reporters),
    ...formatTable(
      ['SOURCE', 'PASSED', 'FAILED'],
      dmarc.sources
        .slice(0, MAX_LISTED)
        .map((one) => [one.source_ip || 'others', String(one.passed), String(one.failed)]),
    ),
    '',
    ...formatTable(
      ['AUTHENTICATED AS', 'PASSED', 'FAILED'],
      dmarc.authenticated
        .slice(0, MAX_LISTED)
        .map((one) => [one.domain ?? 'nobody', String(one.passed), String(one.failed)]),
    ),
    '',
    `TLS: ${tls.sessions} sessions in ${tls.reports} reports, ${tls.passed} passed, ${tls.failed} failed`,
    ...formatUncounted(tls.uncounted.reports, `${tls.uncounted.sessions} sessions`),
    ...tls.failures.map(({ result, sessions }) => `  ${result || 'other'}: ${sessions}`),
  ]
}

function formatUncounted(reports: number, what: string): readonly string[] {
  if (reports === 0) return []
  return [`not counted: ${what} in ${reports} reports of others, which have received no mail of this domain`]
}

function formatReporters(reporters: ReportSummary['dmarc']['reporters']): readonly string[] {
  const lines = formatTable(
    ['REPORTER', 'REPORTS', 'PASSED', 'FAILED'],
    reporters
      .slice(0, MAX_LISTED)
      .map(({ reporter, known, reports, passed, failed }) => [
        known ? reporter : `${reporter} ${UNKNOWN}`,
        ...[reports, passed, failed].map(String),
      ]),
  )
  return [...lines, '']
}
