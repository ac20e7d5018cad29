/** Reads a file of contacts without importing it: its columns, its first rows, and what an import would say of its lines. */
import { type Address, tryParseForeignAddress } from '../../base/mail/address.js'
import { Refusal } from '../../base/mail/refusal.js'
import { addRefusedLines, type RefusedLine, type RefusedSummary } from '../../base/platform/csv/refused-lines.js'
import { type CsvDelimiter, CsvFault, type CsvRow, detectDelimiter, readCsvRows } from '../../base/platform/csv/rows.js'
import { MAX_ROWS, refuseWorkbook, toFileRefusal } from '../../base/storage/db/csv-import.js'
import { waitForStep } from '../../base/storage/db/stepped-walk.js'
import type { ContactLayout, HintSummary } from '../../base/storage/tables/content-tables.js'
import { addHints, createHintFinder, type FindHints, noHints } from './address-hints.js'
import { type ContactColumn, isRefusedContactLine, parseContactLine } from './contact-columns.js'
import { type SuggestedField, suggestField, toHeader } from './contact-layout.js'

/** Rows that a preview shows. */
export const MAX_SHOWN = 10
/** Lines whose addresses and values it checks. */
export const MAX_CHECKED = 25_000
/** Rows that are checked before others have their turn: a few kilobytes of a file may have thousands. */
const CHECK_STEP = 250
/** Characters of a cell that it shows. */
const MAX_CELL = 200

interface PreviewColumn extends SuggestedField {
  /** The name in the file. Null if the file has no names. */
  readonly title: string | null
}

export interface ContactPreview extends RefusedSummary, HintSummary {
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

/** If `hasHeader` is null, the first row is data if it has an address. */
type PreviewLayout = Omit<ContactLayout, 'hasHeader'> & { readonly hasHeader: boolean | null }

/** Rejects with a Refusal for a file that is not CSV. */
export async function previewContacts(file: Buffer, layout: PreviewLayout): Promise<ContactPreview> {
  refuseWorkbook(file)
  const delimiter = layout.delimiter ?? detectDelimiter(file)
  const findHints = await createHintFinder()
  let reader: PreviewReader | null = null
  try {
    for await (const rows of readCsvRows(file, delimiter)) {
      for (const row of rows) {
        reader ??= new PreviewReader({ ...layout, delimiter }, row, findHints)
        reader.addRow(row)
        if (reader.isStepDone) await waitForStep()
      }
    }
  } catch (error) {
    throw error instanceof CsvFault ? toFileRefusal(error) : error
  }
  if (reader === null) throw new Refusal('invalid-parameter', 'file: is empty', { field: 'file' })
  return { ...reader.summarize(), delimiter }
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
  private refused: RefusedSummary = { refused: 0, refusals: [] }
  private hints: HintSummary = noHints

  constructor(
    layout: PreviewLayout,
    first: CsvRow,
    private readonly findHints: FindHints,
  ) {
    this.hasHeader = layout.hasHeader ?? !first.cells.some(isAddress)
    this.columns = suggestColumns(first, layout.columns, this.hasHeader)
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
    this.checked += 1
    const line = parseContactLine(this.parsed, row)
    if (isRefusedContactLine(line)) this.refuse(line)
    else this.addHintsOf(row.line, line.email)
  }

  /** True after each `CHECK_STEP` rows that may take time. */
  get isStepDone(): boolean {
    return !this.isFull && this.count % CHECK_STEP === 0
  }

  /** True if the rest of the file is only counted. */
  private get isFull(): boolean {
    return this.parsed === null ? this.rows.length >= MAX_SHOWN : this.checked >= MAX_CHECKED
  }

  private refuse(line: RefusedLine): void {
    this.refused = addRefusedLines(this.refused, [line])
  }

  private addHintsOf(line: number, email: Address): void {
    const found = this.findHints(email)
    if (found.length === 0) return
    this.hints = addHints(
      this.hints,
      found.map(({ hint, suggestion }) => ({ line, email, hint, suggestion })),
    )
  }

  summarize(): Omit<ContactPreview, 'delimiter'> {
    const rows = this.rows.map(({ line, cells }) => ({ line, cells: cells.map((cell) => cell.slice(0, MAX_CELL)) }))
    const { hasHeader, columns, count: total, checked, problem } = this
    return { hasHeader, columns, rows, total, checked, problem, ...this.refused, ...this.hints }
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
  return cells.map((cell, at) => {
    const title = hasHeader ? cell.slice(0, MAX_CELL) : null
    const suggested = title === null ? { field: at === address ? 'email' : null, problem: null } : suggestField(title)
    return { title, ...(fields === null ? suggested : { field: fields[at] ?? null, problem: null }) }
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
