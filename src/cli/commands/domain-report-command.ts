/** `domain reports`: what other servers report about a domain. */
import { isInside } from '../../domains/zone/zone-records.js'
import { domainOf } from '../../mail/address.js'
import { type DomainRef, type ReportPage, reportsBefore } from '../../receiving/domain-reports/report-records.js'
import { type ReportSummary, summarizeReports } from '../../receiving/domain-reports/summarize-reports.js'
import { MAX_ID } from '../../storage/paging.js'
import { SERVICE_WORKSPACE } from '../../storage/tables/tables.js'
import type { Answer, Call, Command } from '../command.js'
import { type ChosenDomain, chooseDomain, requireDomain } from '../domain-choice.js'
import { formatMoment, formatTable } from '../table.js'

const MAX_LISTED = 20

export const domainReportCommand: Command = {
  name: 'domain reports',
  usage: 'NAME [--workspace ID]',
  summary: "show who sends in a domain's name, as DMARC and TLS reports of other servers say",
  options: { workspace: 'string' },
  run: showReports,
}

async function showReports(call: Call): Promise<Answer> {
  const it = await chooseDomain(call)
  const { read } = it.database
  const all = { from: 0, to: Number.MAX_SAFE_INTEGER, before: MAX_ID, kind: 'any', limit: MAX_LISTED } as const
  const page: ReportPage = { ...refOf(call, it), ...all }
  const summary = await summarizeReports(read, page)
  const reports = reportsBefore(read, page)
  return {
    json: { domain: it.domain, summary, reports },
    lines: [
      ...formatSummary(summary),
      '',
      `The newest ${MAX_LISTED} reports:`,
      ...formatTable(
        ['FROM', 'TYPE', 'REPORTER', 'DOMAIN', 'PASSED', 'FAILED'],
        reports.map(({ begins_at, kind, reporter, domain, messages, passed }) => {
          return [formatMoment(begins_at), kind, reporter, domain, String(passed), String(messages - passed)]
        }),
      ),
    ],
  }
}

/** A domain of the service itself belongs to no workspace. */
function refOf({ config: { service } }: Call, it: ChosenDomain): DomainRef {
  const own = [service.zone, service.hostname, domainOf(service.mail_from)]
  if (own.some((name) => isInside(it.domain, name))) {
    return { workspaceId: SERVICE_WORKSPACE, domainId: SERVICE_WORKSPACE }
  }
  return { workspaceId: it.workspaceId, domainId: requireDomain(it).id }
}

function formatSummary({ dmarc, tls }: ReportSummary): readonly string[] {
  return [
    `DMARC: ${dmarc.messages} messages in ${dmarc.reports} reports, ${dmarc.passed} passed, ${dmarc.failed} failed`,
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
    ...tls.failures.map(({ result, sessions }) => `  ${result || 'other'}: ${sessions}`),
  ]
}
