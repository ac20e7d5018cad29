/**
 * The columns of a CSV file of contacts, and the parsing of its lines. Pure.
 *
 * We recognise the columns for the address, the names (`column-names`) and the subscription (`consent-columns`) by
 * name, whatever their case and punctuation. `metadata` is a JSON object. Any other column is one key of the metadata, under its
 * own name without the prefix `metadata.`, which also keeps a column from being read as consent. We ignore the other
 * columns of our exports (`id`, times) and columns without a name. An empty cell means that there is no value.
 */
import { type Address, explainAddress, formatForDisplay, tryParseForeignAddress } from '../../base/mail/address.js'
import { Refusal } from '../../base/mail/refusal.js'
import { explainUnstorable, toStorableJson } from '../../base/mail/storable-text.js'
import { unescapeFormula } from '../../base/platform/csv/cells.js'
import { REPLACEMENT_CHARACTER, UNREADABLE } from '../../base/platform/csv/encoding.js'
import type { RefusedLine } from '../../base/platform/csv/refused-lines.js'
import type { CsvRow } from '../../base/platform/csv/rows.js'
import { isRecord } from '../../base/platform/records.js'
import { findKnownKinds, type KnownKind } from './column-names.js'
import { type ConsentKind, consentKindOf, isPlainRefusal, joinAnswers, readConsent } from './consent-columns.js'
import { MAX_METADATA, MAX_METADATA_DEPTH, MAX_NAME, type Metadata } from './contacts.js'

export type ContactColumn =
  | { readonly kind: KnownKind }
  | { readonly kind: ConsentKind; readonly name: string }
  /** With `sure`, the values of the column are never consent. */
  | { readonly kind: 'key'; readonly key: string; readonly sure: boolean }

/** The values of a line. An undefined field has no value. */
export interface ContactLine {
  readonly email: Address
  readonly first_name?: string
  readonly last_name?: string
  readonly subscribed?: boolean
  /** The file has a column for consent, and the line gives none. So a new contact is not subscribed. */
  readonly withoutConsent?: true
  readonly metadata?: Metadata
}

/** Throws a Refusal `invalid-parameter` for a first line that cannot be the column names. */
export function parseContactColumns({ line, cells }: CsvRow): readonly ContactColumn[] {
  const names = cells.map(unescapeFormula)
  const kinds = findKnownKinds(names)
  if (!kinds.includes('email')) {
    throw buildHeaderRefusal(
      line,
      `has no column for the address, such as "email": ${formatForDisplay(cells.join(', '))}; name it so, or say with the field columns of the query what each column is`,
    )
  }
  if (isSuppressionList(cells)) throw buildHeaderRefusal(line, suppressionListRule)
  const columns = names.map((name, at) => parseContactColumn(name, kinds[at], line))
  refuseRepetition(columns, line)
  return columns
}

/** Throws a Refusal if two columns have the same field. */
export function refuseRepetition(columns: readonly ContactColumn[], line: number): void {
  const seen = new Set<string>()
  for (const column of columns) {
    const name = fieldOf(column)
    if (name === 'none') continue
    if (seen.has(name)) throw buildHeaderRefusal(line, `has the column ${formatForDisplay(name)} twice`)
    seen.add(name)
  }
}

/**
 * Recognises SendGrid's lists of unsubscribes (also those of a group), spam reports and invalid addresses: they have
 * only these columns.
 */
function isSuppressionList(cells: readonly string[]): boolean {
  const names = cells.map((cell) => cell.trim().toLowerCase())
  return names.includes('created') && names.every((name) => suppressionColumns.has(name))
}

const suppressionColumns: ReadonlySet<string> = new Set([
  ...['ip', 'email', 'created', 'reason', 'status', 'group_id', 'group_name'],
])

const suppressionListRule =
  'are those of a list of suppressed addresses at SendGrid: import it with POST /v1/suppressions/import, or, if its addresses are contacts who gave consent, rename the column "created" to "metadata.created"'

const MAX_KEY_LENGTH = 255

/** The column of a name. Throws a Refusal for a name that no column can have. */
export function parseContactColumn(name: string, kind: KnownKind | undefined, line: number): ContactColumn {
  if (kind !== undefined) return { kind }
  const key = name.trim().replace(/^metadata\./i, '')
  const consent = key === name.trim() ? consentKindOf(key) : 'data'
  if (consent === 'unclear')
    throw buildHeaderRefusal(line, `has the column ${formatForDisplay(key)}, which ${unclearRule}`)
  if (consent !== null && consent !== 'data') return { kind: consent, name: key }
  return key === '' ? { kind: 'none' } : { kind: 'key', key: checkKey(key, line), sure: consent === 'data' }
}

/** Throws a Refusal for a text that cannot be a key of metadata. */
export function checkKey(key: string, line: number): string {
  if (key.includes(REPLACEMENT_CHARACTER)) {
    throw buildHeaderRefusal(line, `has the column ${formatForDisplay(key)}, whose name ${UNREADABLE}`)
  }
  if (key === '__proto__' || key.length > MAX_KEY_LENGTH || /\p{Cc}/u.test(key)) {
    throw buildHeaderRefusal(line, `has a column that cannot be a key of metadata: ${formatForDisplay(key)}`)
  }
  return key
}

const unclearRule =
  'seems to speak of consent, but its values are not known: rename it to "subscribed" or "unsubscribed" (yes or no), or to "metadata.…" if it does not'

function buildHeaderRefusal(line: number, what: string): Refusal {
  return new Refusal('invalid-parameter', `file: line ${line}, the column names, ${what}`, {
    field: 'file',
    line,
  })
}

/** Says why a line is refused. It is no Error, because an Error takes its stack, and a file may have many faults. */
class LineFault {
  constructor(
    readonly field: string | null,
    readonly reason: string,
    readonly value: string | null,
  ) {}
}

/** Returns a fault as a value, because a file may have many. */
export function parseContactLine(columns: readonly ContactColumn[], row: CsvRow): ContactLine | RefusedLine {
  try {
    return parseCells(columns, row)
  } catch (error) {
    if (!(error instanceof LineFault)) throw error
    const { field, reason, value } = error
    return { line: row.line, field, reason, value: value === null ? null : formatForDisplay(value) }
  }
}

export function isRefusedContactLine(line: ContactLine | RefusedLine): line is RefusedLine {
  return 'reason' in line
}

type Draft = { -readonly [Field in keyof ContactLine]: ContactLine[Field] }

function parseCells(columns: readonly ContactColumn[], { cells }: CsvRow): ContactLine {
  if (cells.slice(columns.length).some((cell) => cell !== '')) {
    throw new LineFault(null, 'has more cells than there are columns', null)
  }
  const parsedLine: Partial<Draft> = {}
  const metadata: Record<string, unknown> = {}
  for (const [at, column] of columns.entries()) {
    const cell = cells[at] ?? ''
    if (cell === '' || column.kind === 'none') continue
    if (cell.includes(REPLACEMENT_CHARACTER)) throw new LineFault(fieldOf(column), UNREADABLE, cell)
    const fault = explainUnstorable(cell)
    if (fault !== null) throw new LineFault(fieldOf(column), fault, cell)
    setField(parsedLine, metadata, column, unescapeFormula(cell))
  }
  Object.assign(parsedLine, parseConsent(columns, cells))
  const { email } = parsedLine
  if (email === undefined) throw new LineFault('email', 'is required', null)
  if (Object.keys(metadata).length === 0) return { ...parsedLine, email }
  checkMetadataSize(metadata)
  return { ...parsedLine, email, metadata }
}

function setField(line: Partial<Draft>, metadata: Record<string, unknown>, column: ContactColumn, text: string): void {
  switch (column.kind) {
    case 'email':
      line.email = parseEmail(text)
      return
    case 'first_name':
    case 'last_name':
      line[column.kind] = parseName(column.kind, text)
      return
    case 'metadata':
      Object.assign(metadata, parseMetadata(text))
      return
    case 'key':
      if (!column.sure && isPlainRefusal(text)) throw new LineFault(fieldOf(column), refusalElsewhere, text)
      metadata[column.key] = text
      return
    case 'state':
      metadata[column.name] = text
      return
    default:
      return
  }
}

const refusalElsewhere =
  'seems to say that the contact is not subscribed: name the column "status" if it does, "metadata.…" if it does not'

/** Joins what the columns of consent say. If no column knows the value of a cell, the line is refused. */
function parseConsent(
  columns: readonly ContactColumn[],
  cells: readonly string[],
): Pick<ContactLine, 'subscribed' | 'withoutConsent'> {
  let withoutConsent = false
  const answers = columns.map((column, at) => {
    if (!('name' in column)) return null
    const text = unescapeFormula(cells[at] ?? '').trim()
    if (text === '' && column.kind === 'consent') withoutConsent = true
    return text === '' ? null : parseAnswer(column, text)
  })
  const subscribed = joinAnswers(answers)
  if (subscribed !== null) return { subscribed }
  return withoutConsent ? { withoutConsent } : {}
}

function parseAnswer({ kind, name }: { kind: ConsentKind; name: string }, text: string): boolean | null {
  const answer = readConsent(kind, name, text)
  if (answer === undefined) throw new LineFault(name, answerRule, text)
  return answer
}

const answerRule =
  'must be true or false, yes or no, 1 or 0, or a status such as subscribed, active, unsubscribed or bounced: name the column "metadata.…" if it does not say whether the contact is subscribed'

function fieldOf(column: ContactColumn): string {
  if (column.kind === 'key') return `metadata.${column.key}`
  return 'name' in column ? column.name.toLowerCase() : column.kind
}

function parseEmail(text: string): Address {
  const address = tryParseForeignAddress(text.trim())
  if (address === null) throw new LineFault('email', explainAddress(text, 'is not a mail address, local@domain'), text)
  return address
}

function parseName(field: string, text: string): string {
  if (text.length > MAX_NAME) throw new LineFault(field, `is longer than ${MAX_NAME} characters`, text)
  if (/[\p{Cc}\p{Zl}\p{Zp}]/u.test(text)) throw new LineFault(field, 'has control characters', text)
  return text
}

/** Refuses a text that is far too long before it is parsed, because parsing a long one blocks others. */
function parseMetadata(text: string): Metadata {
  if (Buffer.byteLength(text) > MAX_METADATA_TEXT) throw new LineFault('metadata', METADATA_TEXT_TOO_LARGE, null)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    value = null
  }
  if (!isRecord(value) || Object.hasOwn(value, '__proto__')) {
    throw new LineFault('metadata', 'is not a JSON object', text)
  }
  if (isDeeperThan(value, MAX_METADATA_DEPTH)) {
    throw new LineFault('metadata', `nests deeper than ${MAX_METADATA_DEPTH} levels`, text)
  }
  const json = JSON.stringify(value)
  if (toStorableJson(json) !== json) {
    throw new LineFault('metadata', 'has text with NUL (U+0000) or half of a surrogate pair', text)
  }
  return value
}

function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((inner) => isDeeperThan(inner, levels - 1))
}

function checkMetadataSize(metadata: Metadata): void {
  if (isMetadataTooLarge(metadata)) throw new LineFault('metadata', METADATA_TOO_LARGE, null)
}

/** Bytes of a cell with metadata. Blanks and escapes make it longer than the JSON that is stored. */
const MAX_METADATA_TEXT = 4 * MAX_METADATA
const METADATA_TEXT_TOO_LARGE = `is longer than ${MAX_METADATA_TEXT} bytes, and its JSON may have ${MAX_METADATA}`

export const METADATA_TOO_LARGE = `is more than ${MAX_METADATA} bytes of JSON`

function isMetadataTooLarge(metadata: Metadata): boolean {
  return Buffer.byteLength(JSON.stringify(metadata)) > MAX_METADATA
}
