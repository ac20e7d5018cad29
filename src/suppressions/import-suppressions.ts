/**
 * Suppressions out of a file, of another provider or of ours: what is not on the list yet comes
 * on it, what is on it keeps its first reason.
 *
 * The whole file is read through before anything is changed, then goes in by portions of one
 * commit each, with a note of how far it is (`storage/import-journal.ts`). What counts as new is asserted in the commit: an address that somebody else adds
 * meanwhile is known, not added. Two lines with one address are one new address and one that
 * is known.
 */
import { formatForDisplay } from '../mail/address.js'
import { Refusal } from '../mail/refusal.js'
import { type Clock, formatTimestamp } from '../platform/clock.js'
import { type RefusedLine, RefusedLines } from '../platform/csv/refused-lines.js'
import { type CsvBytes, CsvFault, type CsvRow, readCsvRows } from '../platform/csv/rows.js'
import type { ImportJournal } from '../storage/import-journal.js'
import type { Read } from '../storage/prepared.js'
import type {
  SuppressionImportReport,
  SuppressionProvider,
  SuppressionReason,
} from '../storage/tables/content-tables.js'
import { type Commit, type Write, WriteConflict } from '../storage/writer/write.js'
import {
  isRefusedLine,
  type ProviderColumns,
  type ProviderLine,
  parseProviderColumns,
  parseProviderLine,
} from './provider-columns.js'
import { addNewSuppression, findSuppression, type NewSuppression } from './suppressions.js'

/** Lines of a file. */
export const MAX_LINES = 250_000
/** Lines of one commit: some ten milliseconds of the writer. */
const BATCH_SIZE = 200

export interface SuppressionImport {
  readonly workspaceId: string
  /** Of lines that do not say theirs. */
  readonly reason: SuppressionReason
}

interface ImportDeps {
  readonly read: Read
  /** Whoever remembers lists hears of it. */
  readonly commit: Commit
  /** Asked for each line: ids that grow with it are quickly stored. */
  readonly clock: Clock
}

/**
 * For the commit of the last portion, told what was done: the first run alone knows it to be the
 * last, so an import that may be cut off notes its end itself.
 */
type NoteEnd = (report: SuppressionImportReport) => readonly Write[]

/** The rows of a file that was read through (`countLines`), from where the journal says. Rejects with what the journal throws. */
export async function importSuppressions(
  deps: ImportDeps,
  wanted: SuppressionImport,
  file: CsvBytes,
  journal: ImportJournal<SuppressionImportReport>,
  noteEnd: NoteEnd = () => [],
): Promise<SuppressionImportReport> {
  const before = journal.resumeFrom
  let report = before?.report ?? EMPTY_REPORT
  let refusedLines: RefusedLine[] = []
  let batch: NewSuppression[] = []
  let rows = 0
  const flushBatch = async (end: NoteEnd): Promise<void> => {
    const so = { ...report, ...RefusedLines.fromSummary(report).toSummary(refusedLines) }
    report = await commitBatch(deps, { suppressions: batch, rows, report: so }, journal, end)
    batch = []
    refusedLines = []
  }
  for await (const { row, columns } of readLines(file)) {
    rows += 1
    if (before !== null && rows <= before.rows) continue
    report = { ...report, provider: columns.provider }
    if (row.cells.some((cell) => cell !== '')) {
      const line = parseProviderLine(columns, row)
      if (isRefusedLine(line)) refusedLines.push(line)
      else batch.push(toSuppression(line, columns.provider, wanted, deps.clock()))
    }
    if (rows % BATCH_SIZE === 0) await flushBatch(() => [])
  }
  await flushBatch(noteEnd)
  return report
}

const EMPTY_REPORT: SuppressionImportReport = { provider: 'list', added: 0, known: 0, refused: 0, refusals: [] }

/** Lines of the file, without that of the columns. Throws a Refusal for a file that is not to be begun with. */
export async function countLines(file: Buffer): Promise<number> {
  let lines = 0
  let columns: ProviderColumns | null = null
  try {
    for await (const rows of readCsvRows(file)) {
      const [first] = rows
      if (columns === null && first !== undefined) {
        columns = parseColumns(first)
        lines -= columns.hasHeader ? 1 : 0
      }
      lines += rows.length
      if (lines > MAX_LINES) throw buildLimitRefusal()
    }
  } catch (error) {
    if (!(error instanceof CsvFault)) throw error
    const { line, message } = error
    throw new Refusal('invalid-parameter', `file: line ${line}: ${message}`, { field: 'file', line })
  }
  if (columns === null) throw new Refusal('invalid-parameter', 'file: is empty', { field: 'file' })
  return lines
}

function parseColumns(first: CsvRow): ProviderColumns {
  const columns = parseProviderColumns(first)
  if (columns !== null) return columns
  const names = formatForDisplay(first.cells.join(', '))
  const rule = 'must be the names of the columns, with one for the address, such as "email"'
  throw new Refusal('invalid-parameter', `file: line ${first.line} ${rule}, not ${names}`, {
    field: 'file',
    line: first.line,
  })
}

interface CsvLine {
  readonly row: CsvRow
  readonly columns: ProviderColumns
}

async function* readLines(file: CsvBytes): AsyncGenerator<CsvLine> {
  let columns: ProviderColumns | null = null
  for await (const rows of readCsvRows(file)) {
    for (const row of rows) {
      const isFirst = columns === null
      columns ??= parseColumns(row)
      if (!isFirst || !columns.hasHeader) yield { row, columns }
    }
  }
}

function toSuppression(
  line: ProviderLine,
  provider: SuppressionProvider,
  { workspaceId, reason }: SuppressionImport,
  now: number,
): NewSuppression {
  const why = line.reason ?? reason
  const metadata = {
    ...(why === 'hard_bounce' ? { bounce_type: 'hard', bounce_subtype: 'imported' } : {}),
    ...(why === 'hard_bounce' && line.diagnostic !== null ? { diagnostic_code: line.diagnostic } : {}),
    ...(why === 'spam_complaint' ? { feedback_type: 'abuse' } : {}),
    imported_from: provider,
    ...(line.moment === null ? {} : { suppressed_at: formatMoment(line.moment) }),
  }
  return { workspaceId, email: line.email, reason: why, sourceEmailId: null, metadata, at: now }
}

/** Seconds since 1970, or whatever dates are written like; what is neither stays as it is. */
function formatMoment(text: string): string {
  const at = /^\d{9,10}(?:\.\d+)?$/.test(text) ? Number(text) * 1000 : Date.parse(text)
  return Number.isFinite(at) && Math.abs(at) < 8.64e15 ? formatTimestamp(Math.floor(at)) : formatForDisplay(text)
}

interface Batch {
  readonly suppressions: readonly NewSuppression[]
  /** Of the file, up to its end. */
  readonly rows: number
  /** On the rows before, and what was refused up to its end. */
  readonly report: SuppressionImportReport
}

/** Resolves to the report on all rows up to its end. */
async function commitBatch(
  { read, commit }: ImportDeps,
  { suppressions, rows, report: before }: Batch,
  journal: ImportJournal<SuppressionImportReport>,
  noteEnd: NoteEnd,
): Promise<SuppressionImportReport> {
  for (;;) {
    journal.assertMayContinue()
    const newWrites = addNewSuppressions(read, suppressions)
    const known = before.known + suppressions.length - newWrites.length
    const report = { ...before, added: before.added + newWrites.length, known }
    const writes = [...journal.recordProgress(rows, report), ...newWrites, ...(report.added > 0 ? noteEnd(report) : [])]
    try {
      if (writes.length > 0) await commit(writes)
      return report
    } catch (error) {
      if (!(error instanceof WriteConflict)) throw error
      // Another request has added one of them meanwhile, or the import must not go on.
    }
  }
}

function addNewSuppressions(read: Read, portion: readonly NewSuppression[]): readonly Write[] {
  const seen = new Set<string>()
  return portion.flatMap((suppression) => {
    const key = suppression.email.toLowerCase()
    if (seen.has(key)) return []
    seen.add(key)
    const there = findSuppression(read, suppression.workspaceId, suppression.email)
    return there === undefined ? [addNewSuppression(suppression)] : []
  })
}

function buildLimitRefusal(): Refusal {
  return new Refusal('too-large', `file: has more than ${MAX_LINES} lines`, { field: 'file', limit: MAX_LINES })
}
