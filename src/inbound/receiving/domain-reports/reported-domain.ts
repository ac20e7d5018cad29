/** The content of a message with a report about one domain, before anything of it is believed. */
import type { DomainReportKind, DomainReportRowsTable } from '../../../base/storage/tables/domain-report-tables.js'
import type { RowTotals } from './report-rows.js'

export interface ReportedDomain extends RowTotals {
  readonly kind: DomainReportKind
  /** The domain whose policy the report is about. */
  readonly domain: string
  /** The name that the report gives its author. */
  readonly organization: string
  readonly reportId: string
  readonly policy: string
  /** Milliseconds since 1970. */
  readonly beginsAt: number
  readonly endsAt: number
  readonly rows: DomainReportRowsTable['rows']
}
