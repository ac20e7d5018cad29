/**
 * Contacts out of a file: added where the audience does not have the address, else changed by
 * what the line says.
 *
 * The whole file is read through once before anything is changed, so that one that cannot be
 * read has changed nothing. Then it goes in by portions, each one commit in which everything
 * is asserted that it was planned on, with a note of how far it is
 * (`storage/import-journal.ts`); where the world has moved on meanwhile (another import,
 * somebody who unsubscribes) the portion is planned again. Nobody waits for it longer than a
 * portion takes.
 *
 * A line that says nothing of it leaves a subscription alone, and whoever has unsubscribed is
 * not subscribed again by a file that may be old, unless `resubscribe` says that it is meant.
 * Later lines count over earlier ones.
 */
import { Refusal } from '../mail/refusal.js'
import type { Clock } from '../platform/clock.js'
import { type RefusedLine, RefusedLines } from '../platform/csv/refused-lines.js'
import { type CsvBytes, CsvFault, type CsvRow, readCsvRows } from '../platform/csv/rows.js'
import type { Store } from '../storage/database.js'
import type { ImportJournal } from '../storage/import-journal.js'
import type { ContactImportReport } from '../storage/tables/content-tables.js'
import { ConstraintViolated, WriteConflict } from '../storage/writer/write.js'
import { assertAudienceExists, requireAudience } from './audiences.js'
import { type ContactColumn, isRefusedLine, parseContactColumns, parseContactLine } from './contact-columns.js'
import { ContactPlan, type PlannedLine } from './contact-plan.js'

/** Lines of a file, without that of the columns. */
export const MAX_LINES = 250_000
/** Lines of one commit: some ten milliseconds of the writer. */
const BATCH_SIZE = 200

export interface ContactImport {
  readonly workspaceId: string
  readonly audienceId: string
  readonly resubscribe: boolean
}

export interface ImportDeps extends Store {
  readonly clock: Clock
}

/**
 * The rows of a file that was read through (`countLines`), from where the journal says. Rejects with a
 * Refusal `audience-not-found`, or with what the journal throws.
 */
export async function importContacts(
  deps: ImportDeps,
  wanted: ContactImport,
  file: CsvBytes,
  journal: ImportJournal<ContactImportReport>,
): Promise<ContactImportReport> {
  const before = journal.resumeFrom
  let report = before?.report ?? EMPTY_REPORT
  let refusedLines: RefusedLine[] = []
  let batch: PlannedLine[] = []
  let rows = 0
  const flushBatch = async (): Promise<void> => {
    report = await commitBatch(deps, wanted, { lines: batch, refusedLines, rows, report }, journal)
    batch = []
    refusedLines = []
  }
  for await (const { row, columns } of readLines(file)) {
    rows += 1
    if (before !== null && rows <= before.rows) continue
    // Spreadsheets end in rows of nothing but commas.
    if (row.cells.some((cell) => cell !== '')) {
      const line = parseContactLine(columns, row)
      if (isRefusedLine(line)) refusedLines.push(line)
      else batch.push({ lineNumber: row.line, line })
    }
    if (rows % BATCH_SIZE === 0) await flushBatch()
  }
  await flushBatch()
  return report
}

const EMPTY_REPORT: ContactImportReport = {
  ...{ added: 0, updated: 0, unchanged: 0, still_unsubscribed: 0 },
  ...{ refused: 0, refusals: [] },
}

function withPlan(
  before: ContactImportReport,
  refused: readonly RefusedLine[],
  plan: ContactPlan,
): ContactImportReport {
  return {
    added: before.added + plan.counts.added,
    updated: before.updated + plan.counts.updated,
    unchanged: before.unchanged + plan.counts.unchanged,
    still_unsubscribed: before.still_unsubscribed + plan.counts.still_unsubscribed,
    ...RefusedLines.fromSummary(before).toSummary([...refused, ...plan.refusedLines]),
  }
}

/** Lines of the file, without that of the columns. Throws a Refusal for a file that is not to be begun with. */
export async function countLines(file: Buffer): Promise<number> {
  let lines = 0
  let columns: readonly ContactColumn[] | null = null
  try {
    for await (const [first, ...others] of readCsvRows(file)) {
      if (columns === null && first !== undefined) columns = parseContactColumns(first)
      else lines += 1
      lines += others.length
      if (lines > MAX_LINES) throw buildLimitRefusal()
    }
  } catch (error) {
    if (error instanceof CsvFault) throw buildCsvRefusal(error)
    throw error
  }
  if (columns === null) throw new Refusal('invalid-parameter', 'file: is empty', { field: 'file' })
  return lines
}

interface CsvLine {
  readonly row: CsvRow
  readonly columns: readonly ContactColumn[]
}

async function* readLines(file: CsvBytes): AsyncGenerator<CsvLine> {
  let columns: readonly ContactColumn[] | null = null
  for await (const rows of readCsvRows(file)) {
    for (const row of rows) {
      if (columns === null) columns = parseContactColumns(row)
      else yield { row, columns }
    }
  }
}

interface Batch {
  readonly lines: readonly PlannedLine[]
  /** Before they were planned. */
  readonly refusedLines: readonly RefusedLine[]
  /** Of the file, up to its end. */
  readonly rows: number
  /** On the rows before. */
  readonly report: ContactImportReport
}

/** Resolves to the report on all rows up to its end. */
async function commitBatch(
  { read, commit, clock }: ImportDeps,
  { workspaceId, audienceId, resubscribe }: ContactImport,
  { lines, refusedLines: refused, rows, report: before }: Batch,
  journal: ImportJournal<ContactImportReport>,
): Promise<ContactImportReport> {
  for (;;) {
    journal.assertMayContinue()
    requireAudience(read, workspaceId, audienceId)
    const plan = new ContactPlan({ read, workspaceId, audienceId, resubscribe, now: clock() })
    for (const { lineNumber, line } of lines) plan.addLine(lineNumber, line)
    const report = withPlan(before, refused, plan)
    const contacts = plan.toWrites()
    const stays = contacts.length > 0 ? [assertAudienceExists({ workspaceId, id: audienceId })] : []
    try {
      const writes = [...journal.recordProgress(rows, report), ...stays, ...contacts]
      if (writes.length > 0) await commit(writes)
      return report
    } catch (error) {
      if (!(error instanceof WriteConflict) && !(error instanceof ConstraintViolated)) throw error
    }
  }
}

function buildLimitRefusal(): Refusal {
  return new Refusal('too-large', `file: has more than ${MAX_LINES} lines`, { field: 'file', limit: MAX_LINES })
}

function buildCsvRefusal({ line, message }: CsvFault): Refusal {
  return new Refusal('invalid-parameter', `file: line ${line}: ${message}`, { field: 'file', line })
}
