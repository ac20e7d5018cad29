/**
 * The rows of a CSV file (RFC 4180) that anybody may have made, by csv-parse, in small portions
 * with a breath between them.
 *
 * Told from the file itself: UTF-8 or, by its byte order mark, UTF-16; comma, semicolon or tab,
 * whichever the first line has most of, or the one that Excel's `sep=` names. Line ends are
 * CRLF, LF or CR. Blanks around a cell do not count, but inside its quotes they do; a quote in
 * the middle of a cell is part of it. Lines without anything in them are passed over. Bytes
 * that mean nothing in the encoding become U+FFFD: `UNREADABLE`.
 *
 * What cannot be read ends the reading with a CsvFault: quotes that are never closed, text
 * behind closing quotes, a row with too many bytes or cells.
 */
import { setImmediate as breath } from 'node:timers/promises'
import { TextDecoder } from 'node:util'
import { CsvError, type Parser, parse } from 'csv-parse'

export interface CsvRow {
  /** In the file, where the row begins; the first is 1. */
  readonly line: number
  readonly cells: readonly string[]
}

/** From there on the file cannot be read. */
export class CsvFault extends Error {
  override name = 'CsvFault'

  constructor(
    readonly line: number,
    message: string,
  ) {
    super(message)
  }
}

export const REPLACEMENT_CHARACTER = '\ufffd'
export const MAX_CELLS = 200
/** Bytes of the cells of a row. */
export const MAX_ROW_BYTES = 131_072
/** Bytes that are decoded and taken apart at once: a few milliseconds. */
const CHUNK_BYTES = 8_192

/** A file, whole or in pieces. The first has at least `PIECE` bytes, or all there are. */
export type CsvBytes = Buffer | AsyncIterable<Buffer>

/** Throws CsvFault. Every portion has at least one row. */
export async function* readCsvRows(bytes: CsvBytes): AsyncGenerator<readonly CsvRow[]> {
  let open: { readonly decoder: TextDecoder; readonly reader: RowReader } | null = null
  for await (const piece of chunksOf(bytes)) {
    let behind = 0
    if (open === null) {
      const head = detectDialect(piece)
      behind = head.skippedCharacters
      const decoder = new TextDecoder(encodingOf(piece))
      open = { decoder, reader: new RowReader(head.delimiter, behind === 0 ? 1 : 2) }
    } else await breath()
    const text = open.decoder.decode(piece, { stream: true })
    const rows = await open.reader.parseRows(text.slice(behind), false)
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

function encodingOf(bytes: Buffer): string {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le'
  return bytes[0] === 0xfe && bytes[1] === 0xff ? 'utf-16be' : 'utf-8'
}

interface CsvDialect {
  readonly delimiter: string
  /** Characters of a first line that names the delimiter and is no row. */
  readonly skippedCharacters: number
}

const DELIMITERS = [',', ';', '\t'] as const

function detectDialect(bytes: Buffer): CsvDialect {
  const text = new TextDecoder(encodingOf(bytes)).decode(bytes.subarray(0, CHUNK_BYTES))
  const [named = '', sep] = /^sep=([,;\t|])(?:\r\n|\r|\n|$)/i.exec(text) ?? []
  if (sep !== undefined) return { delimiter: sep, skippedCharacters: named.length }
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
  /** Where the next row begins, if no empty lines come before it. */
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
      // Cells of nothing have no size: those past the limit count as one, so that they have.
      ignore_last_delimiters: MAX_CELLS + 1,
      on_record: (cells: string[], { empty_lines }) => this.addRow(cells, empty_lines),
    })
    // Whoever writes is told.
    this.parser.on('error', () => undefined)
  }

  async parseRows(text: string, last: boolean): Promise<readonly CsvRow[]> {
    await new Promise<void>((resolve, reject) => {
      const done = (error?: Error | null): void => (error instanceof Error ? reject(this.faultOf(error)) : resolve())
      if (last) this.parser.end(text, done)
      else this.parser.write(text, done)
    })
    const rows = this.rows
    this.rows = []
    return rows
  }

  /** Counts lines itself: the parser takes a CRLF inside of quotes for two. */
  private addRow(cells: readonly string[], emptyLines: number): null {
    this.countEmptyLines(emptyLines)
    if (cells.length > MAX_CELLS) throw new CsvFault(this.line, `a row has more than ${MAX_CELLS} cells`)
    this.rows.push({ line: this.line, cells })
    this.line += 1 + cells.reduce((sum, cell) => sum + countLineEnds(cell), 0)
    // A row that is longer or shorter than the first has it make an error for nobody, at ten times the cost: so each is the first.
    Object.assign(this.parser.info, { records: 0 })
    return null
  }

  private countEmptyLines(emptyLines: number): void {
    this.line += emptyLines - this.emptyLines
    this.emptyLines = emptyLines
  }

  private faultOf(error: Error): Error {
    if (!(error instanceof CsvError)) return error
    this.countEmptyLines(this.parser.info.empty_lines)
    return new CsvFault(this.line, reasonOf(error))
  }
}

function countLineEnds(cell: string): number {
  return /[\r\n]/.test(cell) ? cell.split(/\r\n|\r|\n/).length - 1 : 0
}

function reasonOf({ code }: CsvError): string {
  switch (code) {
    case 'CSV_QUOTE_NOT_CLOSED':
      return 'a quote is opened and never closed'
    case 'CSV_NON_TRIMABLE_CHAR_AFTER_CLOSING_QUOTE':
      return 'behind closing quotes stands something else than the end of the cell'
    default:
      return `a row is longer than ${MAX_ROW_BYTES} bytes, or a quote is opened and never closed`
  }
}
