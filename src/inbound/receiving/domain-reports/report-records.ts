/**
 * Stores reports about domains. A report is stored once for each reporter, kind and policy domain, by the id that its
 * reporter gave it.
 */
import { type Selectable, sql } from 'kysely'
import { prepareRead, prepareWrite } from '../../../base/storage/db/prepared.js'
import type { Write } from '../../../base/storage/db/write.js'
import type { DomainReportKind, DomainReportRowsTable } from '../../../base/storage/tables/domain-report-tables.js'
import type { Tables } from '../../../base/storage/tables/tables.js'

export type DomainReport = Selectable<Tables['domain_reports']>

/** The sending domain that reports are about. */
export interface DomainOfReport {
  readonly workspaceId: string
  readonly domainId: string
}

/** Octets that a report counts towards the limit of its domain, besides its rows. */
const REPORT_WEIGHT = 8_192

/** Misses if it is stored already. */
const insertReport = prepareWrite<DomainReport>(
  ({ db, slots }) =>
    db
      .insertInto('domain_reports')
      .values(
        slots([
          'id',
          'workspace_id',
          'domain_id',
          'kind',
          'domain',
          'reporter',
          'organization',
          'report_id',
          'policy',
          'begins_at',
          'ends_at',
          'messages',
          'passed',
          'size',
          'received_at',
        ]),
      )
      .onConflict((conflict) => conflict.doNothing()),
  1,
)

const insertRows = prepareWrite<Tables['domain_report_rows']>(({ db, slots }) =>
  db.insertInto('domain_report_rows').values(slots(['report_id', 'workspace_id', 'rows'])),
)

export function storeReport(report: DomainReport, rows: DomainReportRowsTable['rows']): Write[] {
  const { id: report_id, workspace_id } = report
  return [insertReport(report), insertRows({ report_id, workspace_id, rows })]
}

/** A trigger removes its rows with it. */
export const removeDomainReport = prepareWrite<{ id: string }>(({ db, slot }) =>
  db.deleteFrom('domain_reports').where('id', '=', slot('id')),
)

type ReportKey = DomainOfReport & Pick<DomainReport, 'reporter' | 'kind' | 'domain'> & { readonly reportId: string }

export const findStoredReport = prepareRead<ReportKey>()(({ db, slot }) =>
  db
    .selectFrom('domain_reports')
    .select('id')
    .where('workspace_id', '=', slot('workspaceId'))
    .where('domain_id', '=', slot('domainId'))
    .where('reporter', '=', slot('reporter'))
    .where('kind', '=', slot('kind'))
    .where('domain', '=', slot('domain'))
    .where('report_id', '=', slot('reportId')),
)

/** The stored octets of each reporter. */
export const weighReporters = prepareRead<DomainOfReport>()(({ db, slot }) =>
  db
    .selectFrom('domain_reports')
    .select('reporter')
    .select(sql<number>`sum(size + ${sql.lit(REPORT_WEIGHT)})`.as('weight'))
    .where('workspace_id', '=', slot('workspaceId'))
    .where('domain_id', '=', slot('domainId'))
    .groupBy('reporter'),
)

export const oldestOfReporter = prepareRead<DomainOfReport & { reporter: string; limit: number }>()(({ db, slot }) =>
  db
    .selectFrom('domain_reports')
    .select('id')
    .where('workspace_id', '=', slot('workspaceId'))
    .where('domain_id', '=', slot('domainId'))
    .where('reporter', '=', slot('reporter'))
    .orderBy('id')
    .limit(slot('limit')),
)

export const reportById = prepareRead<DomainOfReport & { id: string }>()(({ db, slot }) =>
  db
    .selectFrom('domain_reports')
    .selectAll()
    .where('id', '=', slot('id'))
    .where('workspace_id', '=', slot('workspaceId'))
    .where('domain_id', '=', slot('domainId')),
)

export const rowsOfReport = prepareRead<{ workspaceId: string; id: string }>()(({ db, slot }) =>
  db
    .selectFrom('domain_report_rows')
    .select('rows')
    .where('report_id', '=', slot('id'))
    .where('workspace_id', '=', slot('workspaceId')),
)

export type ReportPage = DomainOfReport & {
  /** `any` stands for all kinds. */
  readonly kind: DomainReportKind | 'any'
  /** Selects reports that end at or after this moment, and begin before the next one. */
  readonly from: number
  readonly to: number
  readonly before: string
  readonly limit: number
}

/** Newest first, of the few that a domain may have. */
export const reportsBefore = prepareRead<ReportPage>()(({ db, slot }) =>
  db
    .selectFrom('domain_reports')
    .selectAll()
    .where('workspace_id', '=', slot('workspaceId'))
    .where('domain_id', '=', slot('domainId'))
    .where('id', '<', slot('before'))
    .where('begins_at', '<', slot('to'))
    .where('ends_at', '>=', slot('from'))
    .where(sql<boolean>`${slot('kind')} in ('any', kind)`)
    .orderBy('id', 'desc')
    .limit(slot('limit')),
)

export const reportsReceivedBefore = prepareRead<{ before: number; limit: number }>()(({ db, slot }) =>
  db
    .selectFrom('domain_reports')
    .select('id')
    .where('received_at', '<', slot('before'))
    .orderBy('received_at')
    .limit(slot('limit')),
)
