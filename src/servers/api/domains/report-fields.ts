/** The fields of reports about domains in answers. */
import { z } from 'zod'
import { formatTimestamp } from '../../../base/platform/clock.js'
import type { DomainReportKind } from '../../../base/storage/tables/domain-report-tables.js'
import type { DomainReport } from '../../../inbound/receiving/domain-reports/report-records.js'
import { pageSchema } from '../http/input/paging.js'
import { timestamp, uuid } from '../http/input/values.js'

export const reportTypes = ['dmarc_aggregate', 'dmarc_failure', 'tls'] as const satisfies readonly DomainReportKind[]

const messages = z.int().meta({ description: 'Messages; sessions for TLS.', example: 120 })
const passed = z.int().meta({ example: 118 })
const failed = z.int().meta({ example: 2 })
const counts = { messages, passed, failed }
const reports = z.int().meta({ example: 31 })
const sessions = z.int().meta({ example: 120 })

const report = z
  .strictObject({
    id: uuid,
    type: z.enum(reportTypes),
    domain: z.string().meta({ description: 'The domain that the report names.', example: 'example.com' }),
    reporter: z.string().meta({
      description: 'The domain that authentication proved for the message with the report.',
      example: 'google.com',
    }),
    known_reporter: z.boolean().meta({
      description:
        'The reporter, or its provider, has received mail of the domain. Otherwise anyone may have made the report up, and the totals leave it out.',
      example: true,
    }),
    organization: z.string().meta({ description: 'What the report calls its author.', example: 'google.com' }),
    report_id: z.string().meta({ description: 'Given by the reporter.', example: '12985173428' }),
    policy: z.string().meta({ description: 'The policy that the reporter saw.', example: 'p=none; adkim=r; aspf=r' }),
    from: timestamp,
    to: timestamp,
    ...counts,
    received_at: timestamp,
  })
  .meta({ id: 'DomainReport' })

const dmarcRow = z.strictObject({
  source_ip: z.string().meta({ description: 'Empty: what exceeds 1,000 rows, in sum.', example: '192.0.2.1' }),
  messages,
  passed: z.boolean().meta({ description: 'DMARC passed.', example: true }),
  disposition: z.string().meta({ example: 'none' }),
  dkim: z.string().meta({ description: 'After alignment.', example: 'pass' }),
  spf: z.string().meta({ description: 'After alignment.', example: 'pass' }),
  header_from: z.string().meta({ example: 'example.com' }),
  dkim_domain: z.string().meta({ example: 'example.com' }),
  dkim_result: z.string().meta({ example: 'pass' }),
  spf_domain: z.string().meta({ example: 'posthorn.example.com' }),
  spf_result: z.string().meta({ example: 'pass' }),
})

const tlsRow = z.strictObject({
  policy_type: z.string().meta({ example: 'sts' }),
  result: z.string().meta({ example: 'certificate-expired' }),
  sessions,
  passed: z.boolean().meta({ example: true }),
  source_ip: z.string().meta({ example: '192.0.2.1' }),
  mx_host: z.string().meta({ example: 'mx.example.net' }),
})

export const detailedReport = report
  .extend({ rows: z.array(z.union([dmarcRow, tlsRow])) })
  .meta({ id: 'DetailedDomainReport' })

const known = z.boolean().meta({ description: 'It has received mail of the domain.', example: true })
const reporterName = z.string().meta({ example: 'google.com' })
const uncounted = 'Reports of reporters that have received no mail of the domain. They are counted nowhere else.'

const date = z.string().meta({ example: '2026-11-02' })
const ofDays = 'By the day in UTC on which the time of a report begins, in order. Days without reports are left out.'

const summary = z
  .strictObject({
    dmarc: z.strictObject({
      reports,
      ...counts,
      sources: z.array(z.strictObject({ source_ip: z.string().meta({ example: '192.0.2.1' }), ...counts })),
      authenticated: z
        .array(z.strictObject({ domain: z.string().nullable().meta({ example: 'example.com' }), ...counts }))
        .meta({ description: 'By the domain that DKIM or SPF authenticated; null: none.' }),
      reporters: z.array(z.strictObject({ reporter: reporterName, known, reports, ...counts })),
      uncounted: z.strictObject({ reports, ...counts }).meta({ description: uncounted }),
      days: z.array(z.strictObject({ date, ...counts })).meta({ description: ofDays }),
    }),
    tls: z.strictObject({
      reports,
      sessions,
      passed,
      failed,
      failures: z.array(z.strictObject({ result: z.string().meta({ example: 'starttls-not-supported' }), sessions })),
      reporters: z.array(z.strictObject({ reporter: reporterName, known, reports, sessions, passed, failed })),
      uncounted: z.strictObject({ reports, sessions, passed, failed }).meta({ description: uncounted }),
      days: z.array(z.strictObject({ date, sessions, passed, failed })).meta({ description: ofDays }),
    }),
  })
  .meta({ id: 'DomainReportSummary', description: 'The 50 largest of each list.' })

export const reportPage = pageSchema(report).extend({ summary: summary.nullable() })

/** `isKnown` says that the reporter has received mail of the domain. */
export function toReportResource(row: DomainReport, isKnown: boolean): z.output<typeof report> {
  const { id, kind, domain, reporter, organization, report_id, policy, messages, passed } = row
  return {
    ...{ id, type: kind, domain, reporter, known_reporter: isKnown, organization, report_id, policy },
    from: formatTimestamp(row.begins_at),
    to: formatTimestamp(row.ends_at),
    ...{ messages, passed, failed: messages - passed },
    received_at: formatTimestamp(row.received_at),
  }
}
