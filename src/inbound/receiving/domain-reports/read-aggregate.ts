/**
 * Reads a DMARC aggregate report (RFC 7489 appendix C; RFC 9990, whose further elements are passed over).
 *
 * Real reports lack elements, name them with or without the namespace, and have several DKIM results for a record.
 * Needed are the policy's domain, the report's id and the times; a record without a count or an address is passed over.
 * Of several signatures the one counts that passed with the domain of From, else one that passed, else the first.
 *
 * Pure, one pass over the document. Limits: those of `xml-elements` and `report-rows`, 20 signatures of a record.
 */
import type { DmarcRow } from '../../../base/storage/tables/domain-report-tables.js'
import { ReportRows } from './report-rows.js'
import { toAddressText, toCount, toDomainText, toLabel, toTime, toWord } from './report-values.js'
import type { ReportedDomain } from './reported-domain.js'
import { UnreadableReport } from './unreadable-report.js'
import { walkElements } from './xml-elements.js'

const MAX_SIGNATURES = 20
/** A message has as many reports at most as domains of it are filed. */
const MAX_REPORTS = 20
/** The elements of the published policy that are kept, in the order of RFC 7489 section 6.3. */
const policyTags = ['p', 'sp', 'np', 'adkim', 'aspf', 'pct', 'fo', 't', 'testing']

interface AuthResult {
  domain: string
  result: string
}

interface AggregateRecord {
  fields: Map<string, string>
  dkim: AuthResult[]
  spf: AuthResult[]
}

const ROOT = 'feedback'
const RECORD = `${ROOT}/record`

/** Returns one for each root element: files may have been joined. Throws `UnreadableReport`. */
export function readAggregates(document: string): readonly ReportedDomain[] {
  const reports: ReportedDomain[] = []
  let rows = startRows()
  let fields = new Map<string, string>()
  let record: AggregateRecord = startRecord()
  walkElements(document, {
    onOpen: (path) => {
      if (path === RECORD) record = startRecord()
      if (path === `${RECORD}/auth_results/dkim`) startResult(record.dkim)
      if (path === `${RECORD}/auth_results/spf`) startResult(record.spf)
    },
    onClose: (path, text) => {
      if (path === RECORD) addRecord(rows, record)
      else if (path.startsWith(`${RECORD}/`)) setRecordField(record, path.slice(RECORD.length + 1), text)
      else if (!fields.has(path)) fields.set(path, text)
      if (fields.size > 100) throw new UnreadableReport('an aggregate report with more than 100 kinds of elements')
      if (path !== ROOT) return
      if (reports.length === MAX_REPORTS) throw new UnreadableReport(`more than ${MAX_REPORTS} reports in a file`)
      reports.push(buildReport(fields, rows))
      rows = startRows()
      fields = new Map()
    },
  })
  if (reports.length === 0) throw new UnreadableReport('XML without the element feedback')
  return reports
}

function startRows(): ReportRows<DmarcRow> {
  return new ReportRows<DmarcRow>(buildRest, (row, messages) => ({ ...row, messages }))
}

function buildReport(fields: ReadonlyMap<string, string>, rows: ReportRows<DmarcRow>): ReportedDomain {
  const field = (name: string): string => fields.get(`feedback/${name}`) ?? ''
  const timeOf = (name: string): number | null => {
    const seconds = toCount(field(`report_metadata/date_range/${name}`))
    return seconds === null ? null : toTime(seconds * 1_000)
  }
  const domain = toDomainText(field('policy_published/domain'))
  const reportId = toLabel(field('report_metadata/report_id'))
  const [beginsAt, endsAt] = [timeOf('begin'), timeOf('end')]
  if (domain === '') throw new UnreadableReport('an aggregate report without the domain of the policy')
  if (reportId === '') throw new UnreadableReport('an aggregate report without an id')
  if (beginsAt === null || endsAt === null || endsAt < beginsAt) {
    throw new UnreadableReport('an aggregate report without its times')
  }
  const policy = policyTags.flatMap((tag) => {
    const value = toWord(field(`policy_published/${tag}`))
    return value === '' ? [] : [`${tag}=${value}`]
  })
  return {
    kind: 'dmarc_aggregate',
    domain,
    organization: toLabel(field('report_metadata/org_name')),
    reportId,
    policy: policy.join('; '),
    beginsAt,
    endsAt,
    ...rows.sum(),
    rows: rows.encode(),
  }
}

function startRecord(): AggregateRecord {
  return { fields: new Map(), dkim: [], spf: [] }
}

function startResult(results: AuthResult[]): void {
  if (results.length < MAX_SIGNATURES) results.push({ domain: '', result: '' })
}

function setRecordField(record: AggregateRecord, path: string, text: string): void {
  const [, mechanism, name] = /^auth_results\/(dkim|spf)\/(domain|result)$/.exec(path) ?? []
  if (mechanism === undefined) {
    if (record.fields.size < 30) record.fields.set(path, text)
    return
  }
  const result = (mechanism === 'dkim' ? record.dkim : record.spf).at(-1)
  if (result === undefined) return
  if (name === 'domain') result.domain = toDomainText(text)
  else result.result = toWord(text)
}

function addRecord(rows: ReportRows<DmarcRow>, { fields, dkim, spf }: AggregateRecord): void {
  const field = (name: string): string => fields.get(name) ?? ''
  const messages = toCount(field('row/count'))
  const source = toAddressText(field('row/source_ip'))
  if (messages === null || messages === 0 || source === '') return
  const headerFrom = toDomainText(field('identifiers/header_from'))
  const evaluated = {
    disposition: toWord(field('row/policy_evaluated/disposition')),
    dkim: toWord(field('row/policy_evaluated/dkim')),
    spf: toWord(field('row/policy_evaluated/spf')),
  }
  const [signature, sender] = [chooseResult(dkim, headerFrom), chooseResult(spf, headerFrom)]
  const row: DmarcRow = {
    source_ip: source,
    messages: 0,
    passed: evaluated.dkim === 'pass' || evaluated.spf === 'pass',
    ...evaluated,
    header_from: headerFrom,
    dkim_domain: signature.domain,
    dkim_result: signature.result,
    spf_domain: sender.domain,
    spf_result: sender.result,
  }
  rows.add(row, messages)
}

function chooseResult(results: readonly AuthResult[], headerFrom: string): AuthResult {
  const passed = results.filter(({ result }) => result === 'pass')
  const aligned = passed.find(({ domain }) => domain === headerFrom || headerFrom.endsWith(`.${domain}`))
  return aligned ?? passed[0] ?? results[0] ?? { domain: '', result: '' }
}

function buildRest(passed: boolean): DmarcRow {
  const evaluated = { disposition: '', dkim: '', spf: '' }
  const authenticated = { dkim_domain: '', dkim_result: '', spf_domain: '', spf_result: '' }
  return { source_ip: '', messages: 0, passed, ...evaluated, header_from: '', ...authenticated }
}
