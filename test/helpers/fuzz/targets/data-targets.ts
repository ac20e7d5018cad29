/** Files and settings of people: TOML, CSV, patterns, phone numbers, log lines. */
import { createSecretKey } from 'node:crypto'
import { parseConfig } from '../../../../src/base/config/load.js'
import { formatProblems } from '../../../../src/base/config/problems.js'
import { formatCsvLine, unescapeFormula } from '../../../../src/base/platform/csv/cells.js'
import { CsvFault, type CsvRow, MAX_CELLS, MAX_ROW_BYTES, readCsvRows } from '../../../../src/base/platform/csv/rows.js'
import { createLog } from '../../../../src/base/platform/log.js'
import { AddressHider } from '../../../../src/base/platform/log-privacy.js'
import { parseLogLine } from '../../../../src/base/platform/log-tail.js'
import { parsePhoneNumber } from '../../../../src/base/platform/phone-number.js'
import { matchesPieces } from '../../../../src/records/messages/queue/hold-rule-matcher.js'
import { parsePattern } from '../../../../src/records/messages/queue/hold-rules.js'
import {
  isRefusedLine,
  parseProviderColumns,
  parseProviderLine,
} from '../../../../src/records/suppressions/provider-files.js'
import {
  isRefusedContactLine as isRefusedContact,
  parseContactColumns,
  parseContactLine,
} from '../../../../src/workspaces/audiences/contact-columns.js'
import { check, checkEqual, type FuzzTarget } from '../target.js'
import { isRefusal } from './refusals.js'
import { tomlSeeds, tomlWords } from './toml-seeds.js'

const machine = { hostname: 'test', home: '/nonexistent', isRoot: false, stateHome: undefined }

function readConfiguration(input: Buffer): void {
  const text = input.toString()
  const loaded = parseConfig(text, null, machine)
  const again = parseConfig(text, null, machine)
  checkEqual(again.kind, loaded.kind, 'the same file gives the same result')
  if (loaded.kind !== 'problems') return
  check(loaded.problems.length > 0, 'a problem is named')
  for (const { key, message } of loaded.problems)
    check(message !== '' && message.length < 2_000 && key.length < 100_000, 'a problem is short')
  formatProblems(null, loaded.problems)
}

async function readCsv(input: Buffer): Promise<void> {
  const rows: CsvRow[] = []
  for await (const some of readCsvRows(input)) rows.push(...some)
  let line = 0
  for (const row of rows) {
    check(row.line > line, 'lines are numbered upwards')
    check(
      row.cells.length <= MAX_CELLS && row.cells.reduce((sum, cell) => sum + cell.length, 0) <= MAX_ROW_BYTES,
      'a row has its limits',
    )
    line = row.line
  }
  readColumns(rows)
  // What we write is read back as it was.
  const cells = rows[0]?.cells.map(unescapeFormula) ?? []
  if (cells.length < 2 || cells.some((cell) => cell.includes('\ufffd') || cell.startsWith('\ufeff'))) return
  const again: CsvRow[] = []
  for await (const some of readCsvRows(Buffer.from(`a,b\r\n${formatCsvLine(cells)}`))) again.push(...some)
  checkEqual(again[1]?.cells.map(unescapeFormula), cells, 'read(write(row)) = row')
}

function readColumns([first, ...others]: readonly CsvRow[]): void {
  if (first === undefined) return
  const columns = parseProviderColumns(first)
  for (const row of columns === null ? [] : others) {
    const line = columns === null ? null : parseProviderLine(columns, row)
    if (line !== null && !isRefusedLine(line))
      check(line.diagnostic === null || !/[\p{Cc}]/u.test(line.diagnostic), 'a diagnostic is printable')
  }
  const contacts = parseContactColumns(first)
  for (const row of others) {
    const line = parseContactLine(contacts, row)
    check(isRefusedContact(line) || !/[\r\n\0]/.test(line.email), 'an address has no line end')
  }
}

/** By dynamic programming, as the matcher does not. */
function matchesSlowly(pattern: string, text: string): boolean {
  let reached = new Set([0])
  for (const char of pattern) {
    const next = new Set<number>()
    for (const at of reached) {
      if (char === '*') for (let to = at; to <= text.length; to += 1) next.add(to)
      else if (text[at] === char) next.add(at + 1)
    }
    reached = next
  }
  return reached.has(text.length)
}

function matchPattern(input: Buffer): void {
  const [pattern = '', text = ''] = input.toString('latin1').split('\n', 2)
  const parsed = parsePattern(pattern)
  const address = text.toLowerCase().slice(0, 254)
  checkEqual(
    matchesPieces(parsed.split('*'), address),
    matchesSlowly(parsed, address),
    'a pattern matches as its stars say',
  )
}

const hider = new AddressHider(true)
hider.useKey(createSecretKey(Buffer.alloc(32)))

function writeLog(input: Buffer): void {
  const text = input.toString()
  const address = `secret-local@${text.replace(/[^a-z]/g, '').slice(0, 10)}.test`
  for (const format of ['json', 'pretty'] as const) {
    const lines: string[] = []
    const log = createLog(
      { write: (line: string) => void lines.push(line) },
      { level: 'info', format },
      { hide: (line) => hider.hide(line) },
    )
    log.info({ text, reply: `${text} <${address}> ${text}`, deep: { [text.slice(0, 20)]: [text] } }, text)
    check(lines.length === 1, 'a line is one line')
    const [line = ''] = lines
    check(line.endsWith('\n') && !line.slice(0, -1).includes('\n'), 'a text makes no second line')
    check(!/[^\P{Cc}\n]|[\u2028-\u202e]/u.test(line), 'a line has no control characters')
    if (!text.includes('secret')) check(!line.includes('secret-local'), 'a local part is hidden')
    if (format === 'json') check(parseLogLine(line) !== null, 'a hidden line is still JSON')
  }
  hider.hide(text)
}

function readPhone(input: Buffer): void {
  const number = parsePhoneNumber(input.toString())
  // A code is sent to valid numbers alone.
  if (number?.isValid === true) checkEqual(parsePhoneNumber(number.e164), number, 'a number parses as itself')
}

const csvSeeds = [
  'email,first name,subscribed,metadata,plan\r\nbob@b.test,"Bob, ""B""",yes,"{""a"":1}",pro\r\n',
  'EmailAddress;SuppressionReason;Origin;CreatedAt\nbob@b.test;HardBounce;Recipient;2026-01-01\n',
  'email\tstatus\treason\tcreated\na@b.test\t5.1.1\t"550 unknown\r\nuser"\t1\n',
  "sep=|\r\nemail|=1+1\r\n a@b.test |'=x\r\n",
  'bob@b.test,BOUNCE\nann@b.test,COMPLAINT\n',
]

export const dataTargets: readonly FuzzTarget[] = [
  {
    name: 'configuration',
    checks: 'a configuration or short problems, the same each time',
    seeds: tomlSeeds,
    words: tomlWords,
    maxSize: 32_768,
    run: readConfiguration,
  },
  {
    name: 'csv',
    checks: 'rows keep their limits; read(write(row)) = row',
    seeds: csvSeeds,
    words: [
      '"',
      '""',
      ',',
      ';',
      '\t',
      '\r\n',
      '\r',
      '\n',
      'sep=;',
      '\ufeff',
      'email',
      '=',
      "'=",
      '{"a":',
      'a@b.test',
      'metadata.x',
      'ÿþ',
    ],
    run: readCsv,
    refuses: (error) => isRefusal(error) || error instanceof CsvFault,
  },
  {
    name: 'hold-patterns',
    checks: 'a pattern matches as another algorithm says',
    seeds: ['news-*@example.org\nnews-1@example.org', '*@b.test\na@b.test', 'a*b*c*@d\nabcabc@d'],
    words: ['*', '**', '\n', '@', 'a', 'ab'],
    maxSize: 2_048,
    run: matchPattern,
    refuses: isRefusal,
  },
  {
    name: 'log-lines',
    checks: 'one line, no control characters, JSON; local parts are hidden',
    seeds: [
      '550 5.1.1 <bob@b.test>: user bob unknown',
      '"odd local"@b.test %40 https://b.test/?a=ann%40b.test',
      'a\r\nb\tc\u001b[31m',
      '{"level":30,"msg":"x@y.test"}',
    ],
    words: [
      '@',
      '%40',
      '"',
      '\\',
      '\r\n',
      '\u2028',
      '\u0085',
      '\u007f',
      '\u001b[',
      '__proto__',
      'İ',
      '<',
      '>',
      '{',
      '}',
    ],
    maxSize: 16_384,
    run: writeLog,
  },
  {
    name: 'phone-numbers',
    checks: 'a valid number parses as itself',
    seeds: ['+4915123456789', '+1 (212) 555-0123', '0049 151', 'tel:+44-20-7946-0958;ext=1'],
    words: ['+', '00', '(', ')', 'ext', ';', 'x', '٣', '-'],
    maxSize: 4_096,
    run: readPhone,
  },
]
