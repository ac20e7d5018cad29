/**
 * The rows of a CSV file (RFC 4180) from any source, parsed by csv-parse in small portions, with a
 * yield to the event loop after each.
 *
 * Detected: UTF-8, or UTF-16 by its byte order mark (`encoding.ts` finds more); the delimiter that the first line has most of
 * (comma, semicolon, tab), or the one that Excel's `sep=` names. Lines end in CRLF, LF or CR. Blanks
 * around a cell are dropped, unless they are quoted; a quote within a cell is part of it. Empty lines
 * are skipped. Invalid bytes become U+FFFD (`REPLACEMENT_CHARACTER`).
 *
 * CsvFault ends the reading: an unclosed quote, text after a closing quote, too many bytes or cells
 * in a row.
 */
import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import { TextDecoder } from 'node:util'
import { CsvError, type Parser, parse } from 'csv-parse'
import { encodingOfMark, type TextEncoding } from './encoding.js'

export interface CsvRow {
  /** Number of the line where the row begins, from 1. */
  readonly line: number
  readonly cells: readonly string[]
}

/** The file cannot be read from this line on. */
export class CsvFault extends Error {
  override name = 'CsvFault'

  constructor(
    readonly line: number,
    message: string,
  ) {
    super(message)
  }
}

export const MAX_CELLS = 200
/** Bytes of all cells of a row. */
export const MAX_ROW_BYTES = 131_072
/** Bytes that are decoded and parsed at once, in a few milliseconds. */
const CHUNK_BYTES = 8_192

/** A file, complete or in pieces. The first piece has at least `CHUNK_BYTES`, or the complete file. */
export type CsvBytes = Buffer | AsyncIterable<Buffer>

/** What is known of a file before it is read. */
export interface CsvFormat {
  /** If it is absent, the first line decides. */
  readonly delimiter?: CsvDelimiter | undefined
  /** If it is absent, the byte order mark decides. */
  readonly encoding?: TextEncoding | undefined
}

/** Yields portions of at least one row. Throws CsvFault. */
export async function* readCsvRows(
  bytes: CsvBytes,
  { delimiter, encoding }: CsvFormat = {},
): AsyncGenerator<readonly CsvRow[]> {
  let open: { readonly decoder: TextDecoder; readonly reader: RowReader } | null = null
  for await (const piece of chunksOf(bytes)) {
    let skip = 0
    if (open === null) {
      const found = encoding ?? encodingOfMark(piece)
      const dialect = detectDialect(piece, found)
      skip = dialect.skippedCharacters
      const decoder = new TextDecoder(found)
      open = { decoder, reader: new RowReader(delimiter ?? dialect.delimiter, skip === 0 ? 1 : 2) }
    } else await yieldToEventLoop()
    const text = open.decoder.decode(piece, { stream: true })
    const rows = await open.reader.parseRows(text.slice(skip), false)
    if (rows.length > 0) yield rows
  }
  if (open === null) return
  const rows = await open.reader.parseRows(open.decoder.decode(), true)
  if (rows.length > 0) yield rows
}

async function* chunksOf(bytes: CsvBytes): AsyncGenerator<Buffer> {
  for await (const large of Buffer.isBuffer(bytes) ? [bytes] : bytes) {
    for (let at = 0; at < large.length; at += CHUNK_BYTES) yield large.subarray(at, at + CHUNK_BYTES)
  }
}

interface CsvDialect {
  readonly delimiter: CsvDelimiter
  /** Length of a first line that names the delimiter and is not a row. */
  readonly skippedCharacters: number
}

/** What separates the cells of a row. */
export type CsvDelimiter = ',' | ';' | '\t' | '|'

const DELIMITERS = [',', ';', '\t'] as const
/** Those that a file can name. */
const namedDelimiters: readonly CsvDelimiter[] = [...DELIMITERS, '|']

/** The delimiter that `readCsvRows` uses for a file with these first bytes. */
export function detectDelimiter(bytes: Buffer, encoding: TextEncoding): CsvDelimiter {
  return detectDialect(bytes, encoding).delimiter
}

function detectDialect(bytes: Buffer, encoding: TextEncoding): CsvDialect {
  const text = new TextDecoder(encoding).decode(bytes.subarray(0, CHUNK_BYTES))
  const [named = '', sep] = /^sep=([,;\t|])(?:\r\n|\r|\n|$)/i.exec(text) ?? []
  const found = namedDelimiters.find((delimiter) => delimiter === sep)
  if (found !== undefined) return { delimiter: found, skippedCharacters: named.length }
  const [line = ''] = text
    .replace(/"(?:[^"]|"")*(?:"|$)/g, '')
    .trimStart()
    .split(/[\r\n]/, 1)
  const counts = DELIMITERS.map((delimiter) => line.split(delimiter).length)
  return { delimiter: DELIMITERS[counts.indexOf(Math.max(...counts))] ?? ',', skippedCharacters: 0 }
}

class RowReader {
  private readonly parser: Parser
  private rows: CsvRow[] = []
  /** The line where the next row begins, if no empty lines precede it. */
  private line: number
  private emptyLines = 0

  constructor(delimiter: string, line: number) {
    this.line = line
    this.parser = parse({
      delimiter,
      record_delimiter: ['\r\n', '\n', '\r'],
      trim: true,
      relax_quotes: true,
      relax_column_count: true,
      skip_empty_lines: true,
      max_record_size: MAX_ROW_BYTES,
      // Empty cells have no size. Delimiters past the limit are kept as text, which has one.
      ignore_last_delimiters: MAX_CELLS + 1,
      on_record: (cells: string[], { empty_lines }) => this.addRow(cells, empty_lines),
    })
    // The callback of `write` gets the error.
    this.parser.on('error', () => undefined)
  }

  async parseRows(text: string, last: boolean): Promise<readonly CsvRow[]> {
    await new Promise<void>((resolve, reject) => {
      const done = (error?: Error | null): void => (error instanceof Error ? reject(this.toFault(error)) : resolve())
      if (last) this.parser.end(text, done)
      else this.parser.write(text, done)
    })
    const rows = this.rows
    this.rows = []
    return rows
  }

  /** Counts the lines itself, since the parser counts a CRLF within quotes twice. */
  private addRow(cells: readonly string[], emptyLines: number): null {
    this.countEmptyLines(emptyLines)
    if (cells.length > MAX_CELLS) throw new CsvFault(this.line, `a row has more than ${MAX_CELLS} cells`)
    this.rows.push({ line: this.line, cells })
    this.line += 1 + cells.reduce((sum, cell) => sum + countLineEnds(cell), 0)
    resetRecordCount(this.parser)
    return null
  }

  private countEmptyLines(emptyLines: number): void {
    this.line += emptyLines - this.emptyLines
    this.emptyLines = emptyLines
  }

  private toFault(error: Error): Error {
    if (!(error instanceof CsvError)) return error
    this.countEmptyLines(this.parser.info.empty_lines)
    return new CsvFault(this.line, reasonOf(error))
  }
}

/**
 * Makes the parser treat the next row as the first of its file. The parser compares the length of every other row with
 * the first, and makes an error with a stack trace if it differs, which `relax_column_count` then drops. That was
 * measured at 30 µs a row, ten times the rest of the parsing. No option turns that off, so this writes to a field that
 * csv-parse documents for reading only.
 */
function resetRecordCount({ info }: Parser): void {
  Object.assign(info, { records: 0 })
}

function countLineEnds(cell: string): number {
  return /[\r\n]/.test(cell) ? cell.split(/\r\n|\r|\n/).length - 1 : 0
}

function reasonOf({ code }: CsvError): string {
  switch (code) {
    case 'CSV_QUOTE_NOT_CLOSED':
      return 'a quote is opened and never closed'
    case 'CSV_NON_TRIMABLE_CHAR_AFTER_CLOSING_QUOTE':
      return 'a closing quote is followed by text in the same cell'
    default:
      return `a row is longer than ${MAX_ROW_BYTES} bytes, or a quote is opened and never closed`
  }
}
