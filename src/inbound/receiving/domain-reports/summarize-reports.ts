/**
 * Sums up the reports about a domain: who sends in its name and passes or fails, and how connections to its hosts went.
 *
 * Anyone can report about any domain. Only reporters that received mail of the domain (`mail-receivers.ts`) count in
 * the totals and lists; the others have separate sums.
 *
 * Aggregate reports alone are counted as messages, because failure reports are about the same messages. It reads one
 * report in a step, so that the event loop is free in between, and picks the largest numbers in steps too: reports come
 * from outside.
 */
import { formatTimestamp } from '../../../base/platform/clock.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { waitForStep } from '../../../base/storage/db/stepped-walk.js'
import { parseJson } from '../../../base/storage/tables/columns.js'
import type { DmarcRow, DomainReportRow, TlsRow } from '../../../base/storage/tables/domain-report-tables.js'
import { rememberReceivers } from './mail-receivers.js'
import { type DomainReport, type ReportPage, reportsBefore, rowsOfReport } from './report-records.js'

/** Sources, domains and results of an answer. Those with the most messages are shown. */
const MAX_SHOWN = 50
const PAGE_SIZE = 100
/** Days of an answer: as long as reports are kept. Those whose reports arrived last are shown. */
const MAX_DAYS = 400
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

interface ShownSessions {
  readonly sessions: number
  readonly passed: number
  readonly failed: number
}

/** What the counted reports say about one day in UTC: the one on which their time begins. */
interface OfDay {
  /** The form is `2026-11-02`. */
  readonly date: string
}

/** What all reports of one reporter say. */
interface OfReporter {
  readonly reporter: string
  /** It received mail of the domain. Otherwise its reports are not counted. */
  readonly known: boolean
  readonly reports: number
}

export interface ReportSummary {
  readonly dmarc: ShownCounts & {
    readonly reports: number
    /** Grouped by the address that sent. */
    readonly sources: readonly (ShownCounts & { readonly source_ip: string })[]
    /** `domain` is the one that DKIM or SPF authenticated. Null if none was. */
    readonly authenticated: readonly (ShownCounts & { readonly domain: string | null })[]
    readonly reporters: readonly (ShownCounts & OfReporter)[]
    /** They are in order. Days without reports are left out. */
    readonly days: readonly (ShownCounts & OfDay)[]
    /** Reports that are not counted above. */
    readonly uncounted: ShownCounts & { readonly reports: number }
  }
  readonly tls: ShownSessions & {
    readonly reports: number
    readonly failures: readonly { readonly result: string; readonly sessions: number }[]
    readonly reporters: readonly (ShownSessions & OfReporter)[]
    readonly days: readonly (ShownSessions & OfDay)[]
    readonly uncounted: ShownSessions & { readonly reports: number }
  }
}

interface ReporterCounts extends Counts {
  readonly known: boolean
  reports: number
}

/** The reports of one kind. */
class Totals {
  private readonly known = { reports: 0, messages: 0, passed: 0 }
  private readonly strange = { reports: 0, messages: 0, passed: 0 }
  private readonly reporters = new Map<string, ReporterCounts>()
  private readonly days = new Map<string, Counts>()

  add({ reporter, messages, passed, begins_at: beginsAt }: DomainReport, known: boolean): void {
    if (known) this.addToDay(formatTimestamp(beginsAt).slice(0, 'yyyy-mm-dd'.length), messages, passed)
    const ofReporter = this.reporters.get(reporter) ?? { known, reports: 0, messages: 0, passed: 0 }
    this.reporters.set(reporter, ofReporter)
    for (const total of [known ? this.known : this.strange, ofReporter]) {
      total.reports += 1
      total.messages += messages
      total.passed += passed
    }
  }

  async show() {
    return {
      ...showReports(this.known),
      reporters: await listLargest(this.reporters, (reporter, { known, ...counts }) => ({
        ...{ reporter, known },
        ...showReports(counts),
      })),
      uncounted: showReports(this.strange),
      days: [...this.days]
        .sort(([one], [other]) => (one < other ? -1 : 1))
        .map(([date, counts]) => ({ date, ...showCounts(counts) })),
    }
  }

  private addToDay(date: string, messages: number, passed: number): void {
    const before = this.days.get(date)
    if (before === undefined && this.days.size === MAX_DAYS) return
    const { messages: earlier, passed: passedEarlier } = before ?? { messages: 0, passed: 0 }
    this.days.set(date, { messages: earlier + messages, passed: passedEarlier + passed })
  }
}

function showReports({ reports, messages, passed }: Counts & { readonly reports: number }) {
  return { reports, messages, passed, failed: messages - passed }
}

function toSessions<Shown extends { readonly messages: number }>({ messages: sessions, ...others }: Shown) {
  return { ...others, sessions }
}

class Summing {
  private readonly sources = new Map<string, Counts>()
  private readonly domains = new Map<string, Counts>()
  private readonly failures = new Map<string, Counts>()
  private readonly dmarc = new Totals()
  private readonly tls = new Totals()

  add(report: DomainReport, isKnown: boolean, rows: readonly DomainReportRow[]): void {
    const totals = report.kind === 'tls' ? this.tls : this.dmarc
    totals.add(report, isKnown)
    if (!isKnown) return
    for (const row of rows) {
      if ('policy_type' in row) this.addSessions(row)
      else this.addMessages(row)
    }
  }

  async toSummary(): Promise<ReportSummary> {
    const { reporters, uncounted, days, ...tls } = await this.tls.show()
    return {
      dmarc: {
        ...(await this.dmarc.show()),
        sources: await listLargest(this.sources, (source_ip, counts) => ({ source_ip, ...showCounts(counts) })),
        authenticated: await listLargest(this.domains, (domain, counts) => ({
          domain: domain === '' ? null : domain,
          ...showCounts(counts),
        })),
      },
      tls: {
        ...toSessions(tls),
        failures: await listLargest(this.failures, (result, { messages }) => ({ result, sessions: messages })),
        reporters: reporters.map(toSessions),
        uncounted: toSessions(uncounted),
        days: days.map(toSessions),
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

/** `before` and `limit` of `page` have no effect. */
export async function summarizeReports(read: Read, page: ReportPage): Promise<ReportSummary> {
  const summing = new Summing()
  const isKnown = rememberReceivers(read)
  let { before } = page
  for (;;) {
    const reports = await reportsBefore(read, { ...page, before, limit: PAGE_SIZE })
    for (const report of reports.filter(({ kind }) => kind !== 'dmarc_failure')) {
      await waitForStep()
      const [stored] = await rowsOfReport(read, { workspaceId: report.workspace_id, id: report.id })
      summing.add(report, await isKnown(report), stored === undefined ? [] : parseJson(stored.rows))
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

function showCounts({ messages, passed }: Counts): ShownCounts {
  return { messages, passed, failed: messages - passed }
}

async function listLargest<Counted extends Counts, Shown>(
  counts: ReadonlyMap<string, Counted>,
  show: (key: string, counts: Counted) => Shown,
): Promise<readonly Shown[]> {
  let some: [string, Counted][] = []
  for (const entry of counts) {
    some.push(entry)
    if (some.length < SORTED_AT_ONCE) continue
    some = keepLargest(some)
    await waitForStep()
  }
  return keepLargest(some).map(([key, counted]) => show(key, counted))
}

function keepLargest<Counted extends Counts>(entries: [string, Counted][]): [string, Counted][] {
  return entries.sort(([, one], [, other]) => other.messages - one.messages).slice(0, MAX_SHOWN)
}
