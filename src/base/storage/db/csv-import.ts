/**
 * Imports CSV files into the database: the parts that are the same for all kinds of rows.
 *
 * `countRows` reads the complete file before anything is changed, so that a file that cannot be read changes nothing.
 * `importCsvRows` then imports it in batches. Each batch is one commit, which has a note of the progress: an import
 * that is cut off resumes after the last batch on disk, and no row is imported twice. The commit asserts what its batch
 * was planned on; if something else has changed it since, the batch is planned again.
 */
import { Refusal } from '../../mail/refusal.js'
import { addRefusedLines, type RefusedLine, type RefusedSummary } from '../../platform/csv/refused-lines.js'
import { type CsvBytes, CsvFault, type CsvFormat, type CsvRow, readCsvRows } from '../../platform/csv/rows.js'
import type { Commit, Write } from './write.js'

/** Rows of a file, without that of the column names. */
export const MAX_ROWS = 250_000
/** Rows of one commit. They take some ten milliseconds of the writer. */
const BATCH_ROWS = 200

/** What an import notes on disk, and whether it may go on. */
export interface ImportJournal<Report> {
  /** Where an earlier run has ended. Null if this is the first run. */
  readonly resumeFrom: { readonly rows: number; readonly report: Report } | null
  /**
   * The writes for the commit of the rows from `from` to `rows`, with the report on all up to there. They miss if the
   * import must not go on, or if another run has committed rows behind `from`.
   */
  readonly recordProgress: (step: { readonly from: number; readonly rows: number }, report: Report) => readonly Write[]
  /**
   * Throws when the import must not go on. `from` is the number of rows that this run and the one it resumes have
   * committed. Called before each batch, and again after each conflict.
   */
  readonly assertMayContinue: (from: number) => Promise<void>
}

/** The first row of a file. */
export interface CsvHeader<Columns> extends CsvFormat {
  /** Throws a Refusal `invalid-parameter` for a row that cannot be the column names. */
  readonly parseColumns: (first: CsvRow) => Columns
  /** False if the first row is data already. If it is absent, it is always the column names. */
  readonly hasHeader?: (columns: Columns) => boolean
}

export interface CsvImport<Columns, Item, Report extends RefusedSummary> extends CsvHeader<Columns> {
  readonly parseRow: (columns: Columns, row: CsvRow) => { readonly item: Item } | { readonly refused: RefusedLine }
  /** The report before the first row. `columns` is null if the file has no rows. */
  readonly emptyReport: (columns: Columns | null) => Report
  /** Plans the changes of a batch, and the report after it. It is called again after a conflict. */
  readonly planBatch: (items: readonly Item[], before: Report) => Promise<BatchPlan<Report>>
  /** The commit failed because something else has changed what the batch was planned on. */
  readonly isConflict: (error: unknown) => boolean
}

export interface BatchPlan<Report> {
  readonly report: Report
  readonly writes: readonly Write[]
}

interface CsvImportDeps<Report> {
  readonly commit: Commit
  readonly journal: ImportJournal<Report>
  /** Writes for the commit of the last batch of an import that cannot be resumed. */
  readonly noteEnd?: (report: Report) => readonly Write[]
}

/** The number of data rows. Rejects with a Refusal for a file that cannot be imported. */
export async function countRows<Columns>(file: Buffer, header: CsvHeader<Columns>): Promise<number> {
  refuseOtherFormats(file)
  let count = 0
  let isEmpty = true
  try {
    for await (const rows of readCsvRows(file, header)) {
      const [first] = rows
      if (isEmpty && first !== undefined && startsWithHeader(header, header.parseColumns(first))) count -= 1
      isEmpty = false
      count += rows.length
      if (count > MAX_ROWS) throw tooManyRowsRefusal()
    }
  } catch (error) {
    throw error instanceof CsvFault ? toFileRefusal(error) : error
  }
  if (isEmpty) throw new Refusal('invalid-parameter', 'file: is empty', { field: 'file' })
  return count
}

/**
 * Imports a file that `countRows` has accepted, from where the journal says, and resolves to the
 * report on all rows. Rejects with what `planBatch` or the journal throws.
 */
export async function importCsvRows<Columns, Item, Report extends RefusedSummary>(
  deps: CsvImportDeps<Report>,
  file: CsvBytes,
  spec: CsvImport<Columns, Item, Report>,
): Promise<Report> {
  const { resumeFrom } = deps.journal
  let report = resumeFrom?.report ?? null
  let rows = 0
  let from = resumeFrom?.rows ?? 0
  let items: Item[] = []
  let refused: RefusedLine[] = []
  const commitRows = async (columns: Columns | null, isLast: boolean): Promise<Report> => {
    const before = report ?? spec.emptyReport(columns)
    const batch = { items, from, rows, isLast, before: { ...before, ...addRefusedLines(before, refused) } }
    items = []
    refused = []
    const after = await commitBatch(deps, batch, spec)
    from = rows
    return after
  }
  let lastColumns: Columns | null = null
  for await (const { row, columns } of readDataRows(file, spec)) {
    lastColumns = columns
    rows += 1
    if (rows <= (resumeFrom?.rows ?? 0)) continue
    // Spreadsheets end in rows of nothing but commas.
    if (row.cells.some((cell) => cell !== '')) {
      const parsed = spec.parseRow(columns, row)
      if ('refused' in parsed) refused.push(parsed.refused)
      else items.push(parsed.item)
    }
    if (rows % BATCH_ROWS === 0) report = await commitRows(columns, false)
  }
  return commitRows(lastColumns, true)
}

async function* readDataRows<Columns>(
  file: CsvBytes,
  header: CsvHeader<Columns>,
): AsyncGenerator<{ readonly row: CsvRow; readonly columns: Columns }> {
  let columns: Columns | null = null
  for await (const rows of readCsvRows(file, header)) {
    for (const row of rows) {
      const isFirst = columns === null
      columns ??= header.parseColumns(row)
      if (!isFirst || !startsWithHeader(header, columns)) yield { row, columns }
    }
  }
}

function startsWithHeader<Columns>({ hasHeader }: CsvHeader<Columns>, columns: Columns): boolean {
  return hasHeader?.(columns) ?? true
}

interface Batch<Item, Report extends RefusedSummary> {
  readonly items: readonly Item[]
  /** Number of rows of the file before it. They are committed. */
  readonly from: number
  /** Number of rows of the file up to the end of the batch. */
  readonly rows: number
  readonly isLast: boolean
  /** The report on the rows before the batch, with the lines of the batch that were refused. */
  readonly before: Report
}

async function commitBatch<Item, Report extends RefusedSummary>(
  { commit, journal, noteEnd }: CsvImportDeps<Report>,
  { items, from, rows, isLast, before }: Batch<Item, Report>,
  { planBatch, isConflict }: Pick<CsvImport<never, Item, Report>, 'planBatch' | 'isConflict'>,
): Promise<Report> {
  for (;;) {
    await journal.assertMayContinue(from)
    const { report, writes } = await planBatch(items, before)
    const all = [
      ...journal.recordProgress({ from, rows }, report),
      ...writes,
      ...(isLast ? (noteEnd?.(report) ?? []) : []),
    ]
    try {
      if (all.length > 0) await commit(all)
      return report
    } catch (error) {
      if (!isConflict(error)) throw error
    }
  }
}

export function toFileRefusal({ line, message }: CsvFault): Refusal {
  return new Refusal('invalid-parameter', `file: line ${line}: ${message}`, { field: 'file', line })
}

/** The first bytes of workbooks: those of a ZIP archive, and those of older programs. */
const workbookStarts = ['504b0304', 'd0cf11e0']

/** The start of an answer of a provider's API, perhaps after a byte order mark. */
const jsonStart = /^(?:\xef\xbb\xbf)?\s*(?:\[\s*\{|\{\s*"|\[\s*\]\s*$)/

/** Throws a Refusal that says what to do for a workbook of a spreadsheet program, and for JSON. */
export function refuseOtherFormats(file: Buffer): void {
  if (workbookStarts.includes(file.subarray(0, 4).toString('hex'))) {
    const cure = 'save it as CSV (UTF-8) in the spreadsheet program, and upload that file'
    throw new Refusal('invalid-parameter', `file: is a workbook such as .xlsx, and not CSV: ${cure}`, { field: 'file' })
  }
  if (jsonStart.test(file.toString('latin1', 0, 100))) {
    const cure = 'convert it, for example with "jq -r ... | @csv", and upload that file'
    throw new Refusal('invalid-parameter', `file: is JSON, and not CSV: ${cure}`, { field: 'file' })
  }
}

function tooManyRowsRefusal(): Refusal {
  return new Refusal('too-large', `file: has more than ${MAX_ROWS} lines`, { field: 'file', limit: MAX_ROWS })
}
