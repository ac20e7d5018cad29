/**
 * Sums up the reports about a domain: who sends in its name and passes or fails, and how connections to its hosts went.
 *
 * Aggregate reports alone are counted as messages: failure reports tell of the same ones again. It reads one report in a
 * step, so that the event loop is free in between, and picks the largest numbers in steps too: reports come from outside.
 */
import type { Read } from '../../storage/prepared.js'
import { waitForStep } from '../../storage/stepped-walk.js'
import { parseJson } from '../../storage/tables/columns.js'
import type { DmarcRow, DomainReportRow, TlsRow } from '../../storage/tables/domain-report-tables.js'
import { type DomainReport, type ReportPage, reportsBefore, rowsOfReport } from './report-records.js'

/** Sources, domains and results of an answer: those with the most messages. */
const MAX_SHOWN = 50
const PAGE_SIZE = 100
/** Entries that one step sorts. */
const SORTED_AT_ONCE = 2_000

interface Counts {
  messages: number
  passed: number
}

interface ShownCounts {
  readonly messages: number
  readonly passed: number
  readonly failed: number
}

export interface ReportSummary {
  readonly dmarc: ShownCounts & {
    readonly reports: number
    /** By the address that sent. */
    readonly sources: readonly (ShownCounts & { readonly source_ip: string })[]
    /** By the domain that DKIM or SPF authenticated; null: none was. */
    readonly authenticated: readonly (ShownCounts & { readonly domain: string | null })[]
  }
  readonly tls: {
    readonly reports: number
    readonly sessions: number
    readonly passed: number
    readonly failed: number
    readonly failures: readonly { readonly result: string; readonly sessions: number }[]
  }
}

class Summing {
  private readonly sources = new Map<string, Counts>()
  private readonly domains = new Map<string, Counts>()
  private readonly failures = new Map<string, Counts>()
  private readonly dmarc = { reports: 0, messages: 0, passed: 0 }
  private readonly tls = { reports: 0, messages: 0, passed: 0 }

  add({ kind, messages, passed }: DomainReport, rows: readonly DomainReportRow[]): void {
    const total = kind === 'tls' ? this.tls : this.dmarc
    total.reports += 1
    total.messages += messages
    total.passed += passed
    for (const row of rows) {
      if ('policy_type' in row) this.addSessions(row)
      else this.addMessages(row)
    }
  }

  async toSummary(): Promise<ReportSummary> {
    const { messages: sessions, ...tls } = this.tls
    return {
      dmarc: {
        ...this.dmarc,
        failed: this.dmarc.messages - this.dmarc.passed,
        sources: await listLargest(this.sources, (source_ip, counts) => ({ source_ip, ...counts })),
        authenticated: await listLargest(this.domains, (domain, counts) => ({
          domain: domain === '' ? null : domain,
          ...counts,
        })),
      },
      tls: {
        ...tls,
        sessions,
        failed: sessions - tls.passed,
        failures: await listLargest(this.failures, (result, { messages }) => ({ result, sessions: messages })),
      },
    }
  }

  private addMessages(row: DmarcRow): void {
    count(this.sources, row.source_ip, row.messages, row.passed)
    const signer = row.dkim_result === 'pass' ? row.dkim_domain : ''
    const sender = row.spf_result === 'pass' ? row.spf_domain : ''
    count(this.domains, signer || sender, row.messages, row.passed)
  }

  private addSessions({ result, sessions, passed }: TlsRow): void {
    if (!passed) count(this.failures, result, sessions, false)
  }
}

/** `page`: its `before` and `limit` have no effect. */
export async function summarizeReports(read: Read, page: ReportPage): Promise<ReportSummary> {
  const summing = new Summing()
  let { before } = page
  for (;;) {
    const reports = reportsBefore(read, { ...page, before, limit: PAGE_SIZE })
    for (const report of reports.filter(({ kind }) => kind !== 'dmarc_failure')) {
      await waitForStep()
      const [stored] = rowsOfReport(read, { workspaceId: report.workspace_id, id: report.id })
      summing.add(report, stored === undefined ? [] : parseJson(stored.rows))
    }
    const last = reports.at(-1)
    if (last === undefined || reports.length < PAGE_SIZE) return summing.toSummary()
    before = last.id
  }
}

function count(counts: Map<string, Counts>, key: string, messages: number, passed: boolean): void {
  const known = counts.get(key) ?? { messages: 0, passed: 0 }
  counts.set(key, known)
  known.messages += messages
  if (passed) known.passed += messages
}

async function listLargest<Shown>(
  counts: ReadonlyMap<string, Counts>,
  show: (key: string, counts: ShownCounts) => Shown,
): Promise<readonly Shown[]> {
  let some: [string, Counts][] = []
  for (const entry of counts) {
    some.push(entry)
    if (some.length < SORTED_AT_ONCE) continue
    some = keepLargest(some)
    await waitForStep()
  }
  return keepLargest(some).map(([key, { messages, passed }]) =>
    show(key, { messages, passed, failed: messages - passed }),
  )
}

function keepLargest(entries: [string, Counts][]): [string, Counts][] {
  return entries.sort(([, one], [, other]) => other.messages - one.messages).slice(0, MAX_SHOWN)
}
