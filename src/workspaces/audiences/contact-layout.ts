/** The columns of a file of contacts if the request names their fields, or if their names do. Pure. */
import { formatForDisplay } from '../../base/mail/address.js'
import { Refusal } from '../../base/mail/refusal.js'
import { unescapeFormula } from '../../base/platform/csv/cells.js'
import type { CsvRow } from '../../base/platform/csv/rows.js'
import type { CsvHeader } from '../../base/storage/db/csv-import.js'
import type { ContactLayout } from '../../base/storage/tables/content-tables.js'
import { findKnownKinds, type KnownKind } from './column-names.js'
import {
  type ContactColumn,
  checkKey,
  parseContactColumn,
  parseContactColumns,
  refuseRepetition,
} from './contact-columns.js'

/** The fields besides `metadata.KEY`. */
export const contactFields = [
  ...(['email', 'first_name', 'last_name', 'metadata'] as const),
  ...(['subscribed', 'consent', 'unsubscribed', 'state'] as const),
] as const

type ContactField = (typeof contactFields)[number]

const KEY_START = 'metadata.'

export function isContactField(text: string): boolean {
  return fieldOf(text) !== undefined || (text.startsWith(KEY_START) && text.length > KEY_START.length)
}

function fieldOf(text: string): ContactField | undefined {
  return contactFields.find((field) => field === text)
}

/** How the rows of a file with this layout are read. */
export function toHeader({
  columns,
  hasHeader,
  delimiter,
  encoding,
}: ContactLayout): CsvHeader<readonly ContactColumn[]> {
  return {
    parseColumns: (first) => (columns === null ? parseContactColumns(first) : nameColumns(columns, hasHeader, first)),
    hasHeader: () => hasHeader,
    delimiter: delimiter ?? undefined,
    encoding,
  }
}

function nameColumns(
  fields: readonly (string | null)[],
  hasHeader: boolean,
  { line, cells }: CsvRow,
): readonly ContactColumn[] {
  if (cells.length > fields.length || (hasHeader && cells.length < fields.length)) {
    const found = `names ${fields.length} columns, and line ${line} of the file has ${cells.length}`
    throw buildRefusal(`${found}: name each column, and use null for those that are not imported`)
  }
  if (!fields.includes('email')) throw buildRefusal('has no "email": name the column of the address')
  const columns = fields.map((field, at) => toColumn(field, hasHeader ? unescapeFormula(cells[at] ?? '') : '', line))
  refuseRepetition(columns, line)
  return columns
}

/** `title` is the name in the file, which says how some values of consent are meant. */
function toColumn(text: string | null, title: string, line: number): ContactColumn {
  if (text === null) return { kind: 'none' }
  const field = fieldOf(text)
  switch (field) {
    case undefined:
      return { kind: 'key', key: checkKey(text.slice(KEY_START.length), line), sure: true }
    case 'email':
    case 'first_name':
    case 'last_name':
    case 'metadata':
      return { kind: field }
    default:
      return { kind: field, name: title === '' ? field : title }
  }
}

function buildRefusal(rule: string): Refusal {
  return new Refusal('invalid-parameter', `columns: ${rule}`, { field: 'columns' })
}

/** The field that the name of a column stands for. `problem` says why a column cannot be read by its name. */
export interface SuggestedField {
  readonly field: string | null
  readonly problem: string | null
}

export function suggestFields(titles: readonly string[]): readonly SuggestedField[] {
  const names = titles.map(unescapeFormula)
  const kinds = findKnownKinds(names)
  return names.map((name, at) => suggestField(name, kinds[at]))
}

function suggestField(name: string, kind: KnownKind | undefined): SuggestedField {
  try {
    const column = parseContactColumn(name, kind, 1)
    if (column.kind === 'none') return { field: null, problem: null }
    return { field: column.kind === 'key' ? `${KEY_START}${column.key}` : column.kind, problem: null }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return { field: null, problem: formatForDisplay(error.message) }
  }
}
