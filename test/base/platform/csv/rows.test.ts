/**
 * CSV files of any origin: their rows compared with another reader's, line numbers, bombs; formulas in both
 * directions.
 */
import { type Parser, parse as parseStream } from 'csv-parse'
import { parse } from 'csv-parse/sync'
import { stringify } from 'csv-stringify/sync'
import fc from 'fast-check'
import t from 'tap'
import { escapeFormula, formatCsvLine, unescapeFormula } from '../../../../src/base/platform/csv/cells.js'
import { CsvFault, type CsvRow, MAX_CELLS, MAX_ROW_BYTES, readCsvRows } from '../../../../src/base/platform/csv/rows.js'

async function rowsOf(content: string | Buffer): Promise<readonly CsvRow[]> {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content
  const rows: CsvRow[] = []
  for await (const portion of readCsvRows(bytes)) rows.push(...portion)
  return rows
}

const cellsOf = async (content: string | Buffer): Promise<readonly (readonly string[])[]> =>
  (await rowsOf(content)).map(({ cells }) => cells)

const utf16 = (text: string, littleEndian = true): Buffer => {
  const bytes = Buffer.from(`\ufeff${text}`, 'utf16le')
  return littleEndian ? bytes : bytes.swap16()
}

t.test('the rows of a file are those it was made with, in any dialect', async (t) => {
  const table: readonly (readonly [string, string | Buffer, readonly (readonly string[])[]])[] = [
    [
      'LF',
      'a,b\nc,d\n',
      [
        ['a', 'b'],
        ['c', 'd'],
      ],
    ],
    [
      'CRLF without a last one',
      'a,b\r\nc,d',
      [
        ['a', 'b'],
        ['c', 'd'],
      ],
    ],
    [
      'CR',
      'a,b\rc,d\r',
      [
        ['a', 'b'],
        ['c', 'd'],
      ],
    ],
    ['a byte order mark', '\ufeffa,b\n', [['a', 'b']]],
    [
      'UTF-16 of Excel',
      utf16('a\tä\r\nc\td'),
      [
        ['a', 'ä'],
        ['c', 'd'],
      ],
    ],
    ['UTF-16, big end first', utf16('a;🦊', false), [['a', '🦊']]],
    [
      'semicolons',
      'a;b,c;d\n1;2;3',
      [
        ['a', 'b,c', 'd'],
        ['1', '2', '3'],
      ],
    ],
    ['Excel names the sign', 'sep=|\r\na|b,c', [['a', 'b,c']]],
    ['quotes', '"a","b ""c""","d\r\ne"\n', [['a', 'b "c"', 'd\r\ne']]],
    ['quotes after a blank', 'a, "b, c" ,d', [['a', 'b, c', 'd']]],
    ['quotes in the middle', 'a,b"c"d,5"', [['a', 'b"c"d', '5"']]],
    ['blanks outside of quotes', ' a , " b "\n', [['a', ' b ']]],
    ['lines of nothing', '\n\na\n\n\nb\n\n', [['a'], ['b']]],
    [
      'cells of nothing',
      ',\n"",""\n',
      [
        ['', ''],
        ['', ''],
      ],
    ],
    ['no byte', '', []],
    ['bytes that mean nothing', Buffer.from([0x61, 0x2c, 0xe9, 0x0a]), [['a', '\ufffd']]],
  ]
  for (const [name, content, expected] of table) t.same(await cellsOf(content), expected, name)
})

t.test('a row knows the line on which it begins', async (t) => {
  const rows = await rowsOf('a\r\n\r\n"b\nc\r\nd",x\r\ne\rf')
  t.same(
    rows.map(({ line, cells }) => [line, cells[0]]),
    [
      [1, 'a'],
      [3, 'b\nc\r\nd'],
      [6, 'e'],
      [7, 'f'],
    ],
  )
  const named = await rowsOf('sep=,\na\n')
  t.equal(named[0]?.line, 2)
})

const cell = fc.oneof(
  fc.string({ unit: fc.constantFrom('a', '"', ',', ';', '\n', '\r', ' ', '\t', 'ü', '🦊', "'", '='), maxLength: 12 }),
  fc.string({ unit: 'grapheme', maxLength: 30 }),
)
const table = fc.array(fc.array(cell, { minLength: 2, maxLength: 6 }), { minLength: 1, maxLength: 40 })

t.test('files of other programs are read, and ours are read by them', async (t) => {
  const head = ['one', 'two', 'three']
  await fc.assert(
    fc.asyncProperty(table, fc.constantFrom(',', ';', '\t'), async (rows, delimiter) => {
      const text = stringify([head, ...rows], { delimiter, quoted: true, record_delimiter: 'windows' })
      // A file of more than one piece, so that rows cross the borders.
      const long =
        text +
        stringify(
          Array.from({ length: 500 }, () => ['aaaaaaaa', 'b"b', 'ä']),
          { delimiter },
        )
      const found = (await cellsOf(long)).slice(0, rows.length + 1)
      if (JSON.stringify(found) !== JSON.stringify([head, ...rows])) throw new Error(JSON.stringify(found))
      const ours = rows.map((row) => formatCsvLine(row)).join('')
      const theirs = parse(ours, { relax_column_count: true, record_delimiter: '\r\n' }) as string[][]
      const back = theirs.map((row) => row.map(unescapeFormula))
      if (JSON.stringify(back) !== JSON.stringify(rows)) throw new Error(JSON.stringify(back))
    }),
    { numRuns: 200 },
  )
  t.pass()
})

t.test('no bytes make the reader hang or throw, and it names the line from which on it cannot read', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 3_000 }), async (bytes) => {
      try {
        await rowsOf(Buffer.from(bytes))
      } catch (error) {
        if (!(error instanceof CsvFault)) throw error
      }
    }),
  )
  const fault = async (content: string): Promise<number> => {
    try {
      await rowsOf(content)
      return 0
    } catch (error) {
      if (error instanceof CsvFault) return error.line
      throw error
    }
  }
  t.equal(await fault('a\nb,"c\nd\n'), 2, 'a quote that is never closed')
  t.equal(await fault(`a\n${'x'.repeat(MAX_ROW_BYTES + 2)}\nb`), 2)
  t.equal(await fault(`a\n"${'x\n'.repeat(MAX_ROW_BYTES)}`), 2)
  t.equal(await fault(`a\n${','.repeat(MAX_ROW_BYTES + 1)}`), 2)
  t.equal(await fault(`a\n${'x'.repeat(MAX_ROW_BYTES - 10)}\nb`), 0)
  t.equal(await fault(`a\n\n${','.repeat(MAX_CELLS - 1)}\nb`), 0)
  t.equal(await fault(`a\n\n${','.repeat(MAX_CELLS)}\nb`), 3, 'too many cells')
  t.equal(await fault(`a\n"b\r\nc"\n"d" e`), 4, 'text behind closing quotes')
})

t.test('no cell that we write is a formula, and every text is read back unchanged', (t) => {
  for (const text of ['=1+1', '+49 30', '-x', '@sum', '\t=1', '\r=1', '\n=1', '＝1', "'=1", "''-1"]) {
    t.equal(escapeFormula(text), `'${text}`)
    t.equal(unescapeFormula(escapeFormula(text)), text)
  }
  for (const text of ['a=b', "it's", "'quoted'", '', ' =1', '1-1']) t.equal(escapeFormula(text), text)
  t.equal(formatCsvLine(['=HYPERLINK("x")', ' b ', 'c']), `"'=HYPERLINK(""x"")"," b ",c\r\n`)
  const odd = fc.string({ unit: fc.constantFrom("'", '=', '+', '-', '@', '\t', 'a', ' ') })
  fc.assert(
    fc.property(fc.oneof(odd, fc.string()), (text) => {
      const written = escapeFormula(text)
      return !/^[=+\-@\t\r\n＝＋－＠]/.test(written) && unescapeFormula(written) === text
    }),
  )
  t.end()
})

t.test('csv-parse compares lengths of rows by Parser.info.records, which rows.ts resets', async (t) => {
  const countLengthErrors = async (reset: boolean): Promise<number> => {
    const parser: Parser = parseStream({
      relax_column_count: true,
      on_record: () => {
        if (reset) Object.assign(parser.info, { records: 0 })
        return null
      },
    })
    await new Promise<void>((resolve) => parser.end('a\nb,c\nd\n', () => resolve()))
    return parser.info.invalid_field_length
  }
  t.equal(await countLengthErrors(false), 1, 'a row of another length than the first costs an error')
  t.equal(await countLengthErrors(true), 0, 'after a reset of Parser.info.records it does not')
})
