/**
 * Reads a file of contacts without importing it: its encoding, its columns, its first rows, and what an import would do
 * with its lines.
 */
import { tryParseForeignAddress } from '../../base/mail/address.js'
import { Refusal } from '../../base/mail/refusal.js'
import { detectEncoding } from '../../base/platform/csv/encoding.js'
import { addRefusedLines, type RefusedLine } from '../../base/platform/csv/refused-lines.js'
import { type CsvDelimiter, CsvFault, type CsvRow, detectDelimiter, readCsvRows } from '../../base/platform/csv/rows.js'
import { MAX_ROWS, refuseOtherFormats, toFileRefusal } from '../../base/storage/db/csv-import.js'
import { waitForStep } from '../../base/storage/db/stepped-walk.js'
import type { AddressHint, ContactImportReport, ContactLayout } from '../../base/storage/tables/content-tables.js'
import { addHints, createHintFinder, type FindHints } from './address-hints.js'
import { type ContactColumn, isRefusedContactLine, parseContactLine } from './contact-columns.js'
import { type SuggestedField, suggestFields, toHeader } from './contact-layout.js'
import { ContactPlan, type PlanContext, type PlannedLine } from './contact-plan.js'
import { EarlierLines } from './earlier-lines.js'
import { addCounts, emptyReportOf } from './import-contacts.js'

/** Rows that a preview shows. */
export const MAX_SHOWN = 10
/** Lines whose addresses and values it checks. */
export const MAX_CHECKED = 25_000
/** Cells of the lines that it checks. Wide files have fewer lines checked. */
export const MAX_CHECKED_CELLS = 250_000
/** Characters of these cells. What the lines say is held until the preview is made. */
export const MAX_CHECKED_TEXT = 8 * 1_048_576
/** Rows and cells that are checked before others have their turn: a few kilobytes of a file may have thousands. */
const STEP_ROWS = 250
const STEP_CELLS = 2_500
/** Characters that are checked before others have their turn: a few rows may have a megabyte. */
const STEP_TEXT = 65_536
/** Characters of a cell that it shows. */
const MAX_CELL = 200

interface PreviewColumn extends SuggestedField {
  /** The name in the file. Null if the file has no names. */
  readonly title: string | null
}

/** The counts of the report are those of the checked lines. */
export interface ContactPreview extends ContactImportReport {
  readonly hasHeader: boolean
  readonly delimiter: CsvDelimiter
  readonly columns: readonly PreviewColumn[]
  readonly rows: readonly { readonly line: number; readonly cells: readonly string[] }[]
  /** Data rows of the file. */
  readonly total: number
  readonly checked: number
  /** Why the file cannot be imported with these columns. Null if it can. */
  readonly problem: string | null
}

interface PreviewLayout extends Omit<ContactLayout, 'hasHeader' | 'encoding'> {
  /** If it is null, the first row is data if it has an address. */
  readonly hasHeader: boolean | null
  /** If it is null, the bytes decide. */
  readonly encoding: ContactLayout['encoding'] | null
}

interface PreviewRequest {
  readonly layout: PreviewLayout
  readonly leaveOut: readonly AddressHint['hint'][]
  /** Belongs to the import that the preview stands for. */
  readonly about: PlanContext
}

/** Rejects with a Refusal for a file that is not CSV. */
export async function previewContacts(file: Buffer, request: PreviewRequest): Promise<ContactPreview> {
  refuseOtherFormats(file)
  const encoding = request.layout.encoding ?? (await detectEncoding(file))
  const delimiter = request.layout.delimiter ?? detectDelimiter(file, encoding)
  const layout = { ...request.layout, delimiter, encoding }
  const findHints = await createHintFinder()
  let reader: PreviewReader | null = null
  try {
    for await (const rows of readCsvRows(file, layout)) {
      for (const row of rows) {
        reader ??= new PreviewReader({ ...request, layout }, row, findHints)
        reader.addRow(row)
        if (reader.isStepDone) await reader.check()
      }
    }
  } catch (error) {
    throw error instanceof CsvFault ? toFileRefusal(error) : error
  }
  if (reader === null) throw new Refusal('invalid-parameter', 'file: is empty', { field: 'file' })
  await reader.check()
  return { ...reader.summarize(), delimiter }
}

type ReaderRequest = Omit<PreviewRequest, 'layout'> & {
  readonly layout: Omit<ContactLayout, 'hasHeader'> & Pick<PreviewLayout, 'hasHeader'>
}

class PreviewReader {
  private readonly hasHeader: boolean
  private readonly columns: readonly PreviewColumn[]
  /** Null if the rows cannot be read as contacts. */
  private readonly parsed: readonly ContactColumn[] | null
  private readonly problem: string | null
  private readonly rows: CsvRow[] = []
  private count = 0
  private checked = 0
  private readonly maxChecked: number
  private readonly stepRows: number
  /** Rows that wait for their check. */
  private waiting: CsvRow[] = []
  private waitingText = 0
  private checkedText = 0
  private readonly earlier = new EarlierLines()
  private report: ContactImportReport

  constructor(
    private readonly request: ReaderRequest,
    first: CsvRow,
    private readonly findHints: FindHints,
  ) {
    const { layout } = request
    this.report = emptyReportOf(layout.encoding)
    this.hasHeader = layout.hasHeader ?? !first.cells.some(isAddress)
    this.columns = suggestColumns(first, layout.columns, this.hasHeader)
    this.maxChecked = Math.min(MAX_CHECKED, Math.floor(MAX_CHECKED_CELLS / this.columns.length))
    this.stepRows = Math.min(STEP_ROWS, Math.ceil(STEP_CELLS / this.columns.length))
    const fields = layout.columns ?? (this.hasHeader ? null : this.columns.map(({ field }) => field))
    const { parsed, problem } = tryParse({ ...layout, columns: fields, hasHeader: this.hasHeader }, first)
    this.parsed = parsed
    this.problem = problem
    if (this.hasHeader) this.count = -1
  }

  addRow(row: CsvRow): void {
    this.count += 1
    if (this.count > MAX_ROWS) {
      throw new Refusal('too-large', `file: has more than ${MAX_ROWS} lines`, { field: 'file', limit: MAX_ROWS })
    }
    if (this.isFull || this.count === 0 || row.cells.every((cell) => cell === '')) return
    if (this.rows.length < MAX_SHOWN) this.rows.push(row)
    if (this.parsed === null) return
    const text = row.cells.reduce((sum, cell) => sum + cell.length, 0)
    this.checked += 1
    this.checkedText += text
    this.waitingText += text
    this.waiting.push(row)
  }

  /** True if so many rows wait that others should have their turn. */
  get isStepDone(): boolean {
    return this.waiting.length >= this.stepRows || this.waitingText >= STEP_TEXT
  }

  /** True if the rest of the file is only counted. */
  private get isFull(): boolean {
    if (this.parsed === null) return this.rows.length >= MAX_SHOWN
    return this.checked >= this.maxChecked || this.checkedText >= MAX_CHECKED_TEXT
  }

  /** Checks the rows that wait. */
  async check(): Promise<void> {
    const { parsed, waiting: rows, report } = this
    if (parsed === null || rows.length === 0) return
    this.waiting = []
    this.waitingText = 0
    const refused: RefusedLine[] = []
    const lines: PlannedLine[] = []
    for (const row of rows) {
      const line = parseContactLine(parsed, row)
      if (isRefusedContactLine(line)) refused.push(line)
      else lines.push({ lineNumber: row.line, line })
    }
    this.report = { ...report, ...addRefusedLines(report, refused) }
    await this.plan(lines)
    await waitForStep()
  }

  private async plan(lines: readonly PlannedLine[]): Promise<void> {
    const { about, leaveOut } = this.request
    const plan = new ContactPlan(about, this.earlier)
    const hinted = lines.map((line) => ({ ...line, hints: this.findHints(line.line.email) }))
    const kept = hinted.filter(({ hints }) => !hints.some(({ hint }) => leaveOut.includes(hint)))
    await plan.addLines(kept)
    const { report } = this
    this.report = {
      ...report,
      ...addCounts(report, plan),
      left_out: report.left_out + hinted.length - kept.length,
      ...addHints(
        report,
        hinted.flatMap(({ lineNumber, line: { email }, hints }) =>
          hints.map(({ hint, suggestion }) => ({ line: lineNumber, email, hint, suggestion })),
        ),
      ),
    }
  }

  summarize(): Omit<ContactPreview, 'delimiter'> {
    const rows = this.rows.map(({ line, cells }) => ({ line, cells: cells.map((cell) => cell.slice(0, MAX_CELL)) }))
    const { hasHeader, columns, count: total, checked, problem } = this
    return { hasHeader, columns, rows, total, checked, problem, ...this.report }
  }
}

function isAddress(cell: string): boolean {
  return cell.includes('@') && tryParseForeignAddress(cell.trim()) !== null
}

function suggestColumns(
  { cells }: CsvRow,
  fields: ContactLayout['columns'],
  hasHeader: boolean,
): readonly PreviewColumn[] {
  const address = cells.findIndex(isAddress)
  const titles = cells.map((cell) => cell.slice(0, MAX_CELL))
  const suggested: readonly SuggestedField[] = hasHeader
    ? suggestFields(titles)
    : cells.map((_, at) => ({ field: at === address ? 'email' : null, problem: null }))
  return titles.map((title, at) => {
    const { field = null, problem = null } = fields === null ? (suggested[at] ?? {}) : { field: fields[at] }
    return { title: hasHeader ? title : null, field, problem }
  })
}

function tryParse(
  layout: ContactLayout,
  first: CsvRow,
): { readonly parsed: readonly ContactColumn[] | null; readonly problem: string | null } {
  try {
    return { parsed: toHeader(layout).parseColumns(first), problem: null }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return { parsed: null, problem: error.message }
  }
}
