/**
 * The rows of a CSV file (RFC 4180) that anybody may have made, in small portions with a breath
 * between them.
 *
 * Told from the file itself: UTF-8 or, by its byte order mark, UTF-16; comma, semicolon or tab,
 * whichever the first line has most of, or the one that Excel's `sep=` names. Line ends are
 * CRLF, LF or CR. Blanks around a cell that has no quotes do not count, and quotes in the
 * middle of a cell are part of it. Lines without anything in them are passed over. Bytes that
 * mean nothing in the encoding become U+FFFD: `UNREADABLE`.
 *
 * A row has a limit of characters and one of cells, so that no file can make a row of
 * everything; cells past the limit are dropped, and the row is told to be `cut`. A cell whose
 * quotes are never closed ends the reading with a CsvFault.
 */
import { setImmediate as breath } from 'node:timers/promises'
import { TextDecoder } from 'node:util'

export interface CsvRow {
  /** In the file, where the row begins; the first is 1. */
  readonly line: number
  readonly cells: readonly string[]
  /** It has more cells than are read. */
  readonly cut: boolean
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

export const UNREADABLE = '\ufffd'
export const MAX_CELLS = 200
/** Characters of a row. */
export const MAX_ROW = 131_072
/** Bytes that are decoded and taken apart at once: a few milliseconds. */
const PIECE = 8_192

/** Throws CsvFault. Every portion has at least one row. */
export async function* csvRows(bytes: Buffer): AsyncGenerator<readonly CsvRow[]> {
  const decoder = new TextDecoder(encodingOf(bytes))
  const head = headOf(bytes)
  const reader = new RowReader(head.delimiter)
  let first = true
  for (let at = 0; at < bytes.length || first; at += PIECE) {
    if (!first) await breath()
    const last = at + PIECE >= bytes.length
    const text = decoder.decode(bytes.subarray(at, at + PIECE), { stream: !last })
    const rows = reader.rowsOf(text, last)
    const wanted = first && head.named ? rows.slice(1) : rows
    if (wanted.length > 0) yield wanted
    first = false
  }
}

function encodingOf(bytes: Buffer): string {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le'
  return bytes[0] === 0xfe && bytes[1] === 0xff ? 'utf-16be' : 'utf-8'
}

interface Head {
  readonly delimiter: string
  /** The first line names the delimiter and is no row. */
  readonly named: boolean
}

const DELIMITERS = [',', ';', '\t'] as const

function headOf(bytes: Buffer): Head {
  const text = new TextDecoder(encodingOf(bytes)).decode(bytes.subarray(0, PIECE))
  const sep = /^sep=([,;\t|])(?:\r|\n|$)/i.exec(text)?.[1]
  if (sep !== undefined) return { delimiter: sep, named: true }
  const [line = ''] = text
    .replace(/"(?:[^"]|"")*(?:"|$)/g, '')
    .trimStart()
    .split(/[\r\n]/, 1)
  const counts = DELIMITERS.map((delimiter) => line.split(delimiter).length)
  return { delimiter: DELIMITERS[counts.indexOf(Math.max(...counts))] ?? ',', named: false }
}

const QUOTE = '"'

/** Where a cell or a row ends, and what was in it. */
interface Cell {
  readonly value: string
  /** The place of the delimiter, of the line end, or the end of the text. */
  readonly end: number
}

class RowReader {
  /** The beginning of a row whose end is not there yet. */
  #rest = ''
  #line = 1

  constructor(readonly delimiter: string) {}

  rowsOf(more: string, last: boolean): readonly CsvRow[] {
    const text = this.#rest + more
    const rows: CsvRow[] = []
    let at = 0
    while (at < text.length) {
      const end = this.#row(text, at, last, rows)
      if (end === null) break
      at = end
    }
    this.#rest = text.slice(at)
    if (this.#rest.length > MAX_ROW) throw tooLong(this.#line)
    return rows
  }

  /** The place behind the row; null: its end is not there yet. */
  #row(text: string, start: number, last: boolean, rows: CsvRow[]): number | null {
    const cells: string[] = []
    let count = 0
    let at = start
    for (;;) {
      const cell = this.#cell(text, at, last)
      if (cell === null) return null
      count += 1
      if (count <= MAX_CELLS) cells.push(cell.value)
      at = cell.end + 1
      if (text[cell.end] === this.delimiter) continue
      const end = behindLine(text, cell.end, last)
      if (end === null) return null
      if (end - start > MAX_ROW) throw tooLong(this.#line)
      if (count > 1 || cells[0] !== '') rows.push({ line: this.#line, cells, cut: count > MAX_CELLS })
      this.#line += linesIn(text, start, end)
      return end
    }
  }

  /** Null: its end is not there yet. */
  #cell(text: string, start: number, last: boolean): Cell | null {
    const open = this.#pastBlanks(text, start)
    if (text[open] !== QUOTE) {
      const end = this.#endOfCell(text, open)
      return end === text.length && !last ? null : { value: text.slice(open, end).trim(), end }
    }
    let value = ''
    for (let from = open + 1; ; ) {
      const quote = text.indexOf(QUOTE, from)
      if (quote === -1 && last) throw new CsvFault(this.#line, 'a quote is opened and never closed')
      if (quote === -1 || (quote + 1 === text.length && !last)) return null
      value += text.slice(from, quote)
      if (text[quote + 1] === QUOTE) {
        value += QUOTE
        from = quote + 2
        continue
      }
      const end = this.#endOfCell(text, quote + 1)
      // What stands behind the quotes, though nothing should, is part of it.
      return end === text.length && !last ? null : { value: value + text.slice(quote + 1, end).trimEnd(), end }
    }
  }

  #pastBlanks(text: string, start: number): number {
    let at = start
    while (text[at] === ' ' || (text[at] === '\t' && this.delimiter !== '\t')) at += 1
    return at
  }

  #endOfCell(text: string, start: number): number {
    for (let at = start; at < text.length; at += 1) {
      const char = text[at]
      if (char === this.delimiter || char === '\n' || char === '\r') return at
    }
    return text.length
  }
}

/** The place behind the line end at `at`; null: nobody knows yet whether a line feed follows. */
function behindLine(text: string, at: number, last: boolean): number | null {
  if (text[at] !== '\r') return Math.min(at + 1, text.length)
  if (at + 1 === text.length && !last) return null
  return text[at + 1] === '\n' ? at + 2 : at + 1
}

function linesIn(text: string, start: number, end: number): number {
  let lines = 0
  for (let at = start; at < end; at += 1) {
    if (text[at] === '\n' || (text[at] === '\r' && text[at + 1] !== '\n')) lines += 1
  }
  return lines
}

function tooLong(line: number): CsvFault {
  return new CsvFault(line, `a row is longer than ${MAX_ROW} characters, or a quote is opened and never closed`)
}
