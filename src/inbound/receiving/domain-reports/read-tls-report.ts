/**
 * Reads a TLS report (RFC 8460 section 4): one JSON object with the results of each policy.
 *
 * How many sessions succeeded and failed is what the summary of each policy says. Its details may add up to more: one
 * session counts under each fault that it met. Only where the summary has no number, they are the number.
 *
 * Times are those of RFC 3339. Pure. Limits: 100 policies, 5,000 failure details of each, the rows of `report-rows`;
 * the caller bounds the document.
 */
import { isRecord, ownValueOf } from '../../../base/platform/records.js'
import type { TlsRow } from '../../../base/storage/tables/domain-report-tables.js'
import { addTotals, MAX_ROW_COUNT, ReportRows, type RowTotals } from './report-rows.js'
import { toAddressText, toDomainText, toLabel, toTime, toWord } from './report-values.js'
import type { ReportedDomain } from './reported-domain.js'
import { UnreadableReport } from './unreadable-report.js'

const MAX_POLICIES = 100
const MAX_DETAILS = 5_000
/** Sessions of one policy or detail. A row counts no more. */
const MAX_SESSIONS = MAX_ROW_COUNT

type ReportHead = Pick<ReportedDomain, 'organization' | 'reportId' | 'beginsAt' | 'endsAt'>

interface OfDomain {
  readonly rows: ReportRows<TlsRow>
  readonly types: Set<string>
  totals: RowTotals
}

/** One for each domain that has policies in it. Throws `UnreadableReport`. */
export function readTlsReport(document: string): readonly ReportedDomain[] {
  const report = parseObject(document)
  const head = readHead(report)
  const domains = new Map<string, OfDomain>()
  for (const result of listOf(ownValueOf(report, 'policies'), MAX_POLICIES)) {
    const policy = ownValueOf(result, 'policy')
    const domain = toDomainText(textOf(policy, 'policy-domain'))
    if (domain === '') continue
    const entry = domains.get(domain) ?? { rows: startRows(), types: new Set(), totals: { messages: 0, passed: 0 } }
    domains.set(domain, entry)
    const type = toWord(textOf(policy, 'policy-type'))
    entry.types.add(type)
    entry.totals = addTotals(entry.totals, addResult(entry.rows, type, result))
  }
  if (domains.size === 0) throw new UnreadableReport('a TLS report without the domain of a policy')
  return [...domains].map(([domain, { rows, types, totals }]) => ({
    kind: 'tls',
    domain,
    ...head,
    policy: [...types].filter((type) => type !== '').join(' '),
    ...totals,
    rows: rows.encode(),
  }))
}

function parseObject(document: string): unknown {
  try {
    const value: unknown = JSON.parse(document)
    if (isRecord(value)) return value
  } catch {}
  throw new UnreadableReport('no JSON object')
}

function readHead(report: unknown): ReportHead {
  const range = ownValueOf(report, 'date-range')
  const reportId = toLabel(textOf(report, 'report-id'))
  const [beginsAt, endsAt] = [timeOf(range, 'start-datetime'), timeOf(range, 'end-datetime')]
  if (reportId === '') throw new UnreadableReport('a TLS report without an id')
  if (beginsAt === null || endsAt === null || endsAt < beginsAt)
    throw new UnreadableReport('a TLS report without its times')
  return { organization: toLabel(textOf(report, 'organization-name')), reportId, beginsAt, endsAt }
}

function addResult(rows: ReportRows<TlsRow>, type: string, result: unknown): RowTotals {
  const summary = ownValueOf(result, 'summary')
  const succeeded = countOf(summary, 'total-successful-session-count') ?? 0
  if (succeeded > 0) rows.add({ ...buildRow(type, true), result: 'success' }, succeeded)
  let detailed = 0
  for (const detail of listOf(ownValueOf(result, 'failure-details'), MAX_DETAILS)) {
    const sessions = countOf(detail, 'failed-session-count') ?? 0
    if (sessions === 0) continue
    detailed += sessions
    const row: TlsRow = {
      ...buildRow(type, false),
      result: toWord(textOf(detail, 'result-type')),
      source_ip: toAddressText(textOf(detail, 'sending-mta-ip')),
      mx_host: toDomainText(textOf(detail, 'receiving-mx-hostname')),
    }
    rows.add(row, sessions)
  }
  const failed = countOf(summary, 'total-failure-session-count') ?? Math.min(detailed, MAX_SESSIONS)
  if (failed > detailed) rows.add(buildRow(type, false), failed - detailed)
  return { messages: succeeded + failed, passed: succeeded }
}

function startRows(): ReportRows<TlsRow> {
  return new ReportRows<TlsRow>(
    (passed) => buildRow('', passed),
    (row, sessions) => ({ ...row, sessions }),
  )
}

function buildRow(type: string, passed: boolean): TlsRow {
  return { policy_type: type, result: '', sessions: 0, passed, source_ip: '', mx_host: '' }
}

function listOf(value: unknown, max: number): readonly unknown[] {
  return Array.isArray(value) ? value.slice(0, max) : []
}

function textOf(value: unknown, name: string): string {
  const text = ownValueOf(value, name)
  return typeof text === 'string' ? text : ''
}

/** Null if it has no such number. */
function countOf(value: unknown, name: string): number | null {
  const count = ownValueOf(value, name)
  return typeof count === 'number' && Number.isInteger(count) && count >= 0 ? Math.min(count, MAX_SESSIONS) : null
}

function timeOf(value: unknown, name: string): number | null {
  const text = textOf(value, name)
  return text.length > 40 || !/^\d{4}-\d\d-\d\d/.test(text) ? null : toTime(Date.parse(text) || null)
}
