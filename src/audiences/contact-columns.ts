/**
 * What the columns of a file of contacts mean, and what a line of it says. Pure.
 *
 * Known by their names, whatever their case and whichever blanks, dots, hyphens or underscores
 * are in them: the address, the names, whether somebody is subscribed. `metadata` is an object
 * in JSON; any other column is one key of the metadata, under its own name (without
 * `metadata.` before it). What an export of ours holds beyond that (`id`, the moments) is
 * passed over, and so are columns without a name. An empty cell says nothing.
 */
import { type Address, addressOrNull, shown } from '../mail/address.js'
import { Refusal } from '../mail/refusal.js'
import { unguarded } from '../platform/csv/cells.js'
import type { RefusedLine } from '../platform/csv/refused-lines.js'
import { type CsvRow, UNREADABLE } from '../platform/csv/rows.js'
import { MAX_METADATA, MAX_METADATA_DEPTH, MAX_NAME, type Metadata } from './contacts.js'

export type ContactColumn =
  | { readonly kind: 'email' | 'first_name' | 'last_name' | 'subscribed' | 'unsubscribed' | 'metadata' | 'none' }
  | { readonly kind: 'key'; readonly key: string }

/** What a line says of a contact; undefined: nothing. */
export interface ContactLine {
  readonly email: Address
  readonly first_name?: string
  readonly last_name?: string
  readonly subscribed?: boolean
  readonly metadata?: Metadata
}

const names: Readonly<Record<Exclude<ContactColumn['kind'], 'key'>, readonly string[]>> = {
  email: ['email', 'emailaddress', 'mail', 'mailaddress', 'subscriberemail'],
  first_name: ['firstname', 'fname', 'givenname', 'forename'],
  last_name: ['lastname', 'lname', 'surname', 'familyname'],
  subscribed: ['subscribed', 'issubscribed', 'subscriptionstatus', 'optedin'],
  unsubscribed: ['unsubscribed', 'isunsubscribed', 'optedout'],
  metadata: ['metadata'],
  none: ['', 'id', 'contactid', 'audienceid', 'createdat', 'updatedat'],
}

const kindOf = new Map(
  Object.entries(names).flatMap(([kind, list]) =>
    list.map((name) => [name, kind as Exclude<ContactColumn['kind'], 'key'>] as const),
  ),
)

/** Throws a Refusal `invalid-parameter` for a first line that cannot be the names of columns. */
export function contactColumns({ line, cells }: CsvRow): readonly ContactColumn[] {
  if (!cells.some((cell) => kindOfName(cell) === 'email')) {
    throw wrongHeader(line, `has no column for the address, such as "email": ${shown(cells.join(', '))}`)
  }
  const columns = cells.map((cell) => columnOf(unguarded(cell), line))
  const seen = new Set<string>()
  for (const column of columns) {
    const name = column.kind === 'key' ? `metadata.${column.key}` : column.kind
    if (name === 'none') continue
    if (seen.has(name)) throw wrongHeader(line, `has the column ${shown(name)} twice`)
    seen.add(name)
  }
  return columns
}

function kindOfName(name: string): Exclude<ContactColumn['kind'], 'key'> | undefined {
  return kindOf.get(name.toLowerCase().replace(/[\s._-]/g, ''))
}

const LONGEST_KEY = 255

function columnOf(name: string, line: number): ContactColumn {
  const kind = kindOfName(name)
  if (kind !== undefined) return { kind }
  const key = name.trim().replace(/^metadata\./i, '')
  if (key === '__proto__' || key.length > LONGEST_KEY || /\p{Cc}/u.test(key) || key.includes(UNREADABLE)) {
    throw wrongHeader(line, `has a column that cannot be a key of metadata: ${shown(key)}`)
  }
  return key === '' ? { kind: 'none' } : { kind: 'key', key }
}

function wrongHeader(line: number, what: string): Refusal {
  return new Refusal('invalid-parameter', `file: line ${line}, the names of the columns, ${what}`, {
    field: 'file',
    line,
  })
}

/** Why a line is refused. */
class Unfit extends Error {
  constructor(
    readonly field: string | null,
    message: string,
    readonly value: string | null,
  ) {
    super(message)
  }
}

/** What is wrong with a line is a value: files are full of it. */
export function contactLine(columns: readonly ContactColumn[], row: CsvRow): ContactLine | RefusedLine {
  try {
    return lineOf(columns, row)
  } catch (error) {
    if (!(error instanceof Unfit)) throw error
    const { field, message: reason, value } = error
    return { line: row.line, field, reason, value: value === null ? null : shown(value) }
  }
}

export function isRefused(line: ContactLine | RefusedLine): line is RefusedLine {
  return 'reason' in line
}

type Draft = { -readonly [Field in keyof ContactLine]: ContactLine[Field] }

function lineOf(columns: readonly ContactColumn[], { cells }: CsvRow): ContactLine {
  if (cells.slice(columns.length).some((cell) => cell !== '')) {
    throw new Unfit(null, 'has more cells than there are columns', null)
  }
  const said: Partial<Draft> = {}
  const metadata: Record<string, unknown> = {}
  for (const [at, column] of columns.entries()) {
    const cell = cells[at] ?? ''
    if (cell === '' || column.kind === 'none') continue
    if (cell.includes(UNREADABLE)) throw new Unfit(fieldOf(column), 'is not in UTF-8: save the file as CSV UTF-8', cell)
    say(said, metadata, column, unguarded(cell))
  }
  const { email } = said
  if (email === undefined) throw new Unfit('email', 'is required', null)
  if (Object.keys(metadata).length === 0) return { ...said, email }
  refuseLarge(metadata)
  return { ...said, email, metadata }
}

function say(said: Partial<Draft>, metadata: Record<string, unknown>, column: ContactColumn, text: string): void {
  switch (column.kind) {
    case 'email':
      said.email = emailOf(text)
      return
    case 'first_name':
    case 'last_name':
      said[column.kind] = nameOf(column.kind, text)
      return
    case 'subscribed':
      said.subscribed = truthOf(column.kind, text)
      return
    case 'unsubscribed':
      said.subscribed = !truthOf(column.kind, text)
      return
    case 'metadata':
      Object.assign(metadata, objectOf(text))
      return
    case 'key':
      metadata[column.key] = text
      return
    case 'none':
      return
  }
}

function fieldOf(column: ContactColumn): string {
  return column.kind === 'key' ? `metadata.${column.key}` : column.kind
}

function emailOf(text: string): Address {
  const address = addressOrNull(text.trim())
  if (address === null) throw new Unfit('email', 'is no mail address, local@domain', text)
  return address
}

function nameOf(field: string, text: string): string {
  if (text.length > MAX_NAME) throw new Unfit(field, `is longer than ${MAX_NAME} characters`, text)
  if (/[\p{Cc}\p{Zl}\p{Zp}]/u.test(text)) throw new Unfit(field, 'has control characters', text)
  return text
}

const truths: Readonly<Record<string, boolean>> = {
  true: true,
  yes: true,
  y: true,
  '1': true,
  subscribed: true,
  active: true,
  false: false,
  no: false,
  n: false,
  '0': false,
  unsubscribed: false,
  inactive: false,
}

function truthOf(field: 'subscribed' | 'unsubscribed', text: string): boolean {
  const word = text.trim().toLowerCase()
  // Whoever is `unsubscribed` in the column of that name is so.
  if (field === 'unsubscribed' && /^(?:un)?subscribed$/.test(word)) return word === 'unsubscribed'
  const truth = Object.hasOwn(truths, word) ? truths[word] : undefined
  if (truth === undefined) throw new Unfit(field, 'is neither true nor false, yes nor no, 1 nor 0', text)
  return truth
}

function objectOf(text: string): Metadata {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    value = null
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value) || Object.hasOwn(value, '__proto__')) {
    throw new Unfit('metadata', 'is no object in JSON', text)
  }
  if (isDeeper(value, MAX_METADATA_DEPTH)) {
    throw new Unfit('metadata', `nests deeper than ${MAX_METADATA_DEPTH} levels`, text)
  }
  return value as Metadata
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1))
}

function refuseLarge(metadata: Metadata): void {
  if (isTooLarge(metadata)) throw new Unfit('metadata', TOO_LARGE, null)
}

export const TOO_LARGE = `is more than ${MAX_METADATA} bytes of JSON`

export function isTooLarge(metadata: Metadata): boolean {
  return Buffer.byteLength(JSON.stringify(metadata)) > MAX_METADATA
}
