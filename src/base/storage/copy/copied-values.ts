/**
 * Makes values of SQLite such as PostgreSQL takes, and sums up rows in a way that both engines can.
 *
 * The sum of a table is that of the SHA-256 of each row, so it does not depend on the order of the rows.
 */
import { hash } from 'node:crypto'
import { toStorableText } from '../../mail/storable-text.js'

/** The types of a strict table that the schema uses. */
export type ColumnType = 'INTEGER' | 'TEXT' | 'BLOB'

export interface CopiedColumn {
  readonly name: string
  readonly type: ColumnType
}

export type CopiedValue = number | string | Buffer | null

/** Text as `storage/db/prepared` binds it. An integer that JavaScript cannot hold is refused: none of ours is so large. */
export function toCopiedValue({ name, type }: CopiedColumn, value: unknown): CopiedValue {
  if (value === null) return null
  if (typeof value === 'string' && type === 'TEXT') return toStorableText(value)
  if (typeof value === 'number' && type === 'INTEGER' && Number.isSafeInteger(value)) return value
  if (Buffer.isBuffer(value) && type === 'BLOB') return value
  throw new TypeError(`${name}: found a ${typeof value} where the schema says ${type}`)
}

/** The memory that a value takes, about. */
export function sizeOf(value: CopiedValue): number {
  return value === null || typeof value === 'number' ? 8 : value.length
}

/** The SHA-256 of a row. `digestExpression` is the same in the words of PostgreSQL. */
export function digestRow(values: readonly CopiedValue[]): Buffer {
  return hash('sha256', values.map(toDigested).join(','), 'buffer')
}

function toDigested(value: CopiedValue): string {
  if (value === null) return ''
  if (typeof value === 'number') return String(value)
  return typeof value === 'string' ? `${Buffer.byteLength(value)}:${value}` : hash('sha256', value, 'hex')
}

export function digestExpression(columns: readonly CopiedColumn[]): string {
  const parts = columns.map(({ name, type }) => `coalesce(${digestedIn[type](`"${name}"`)}, '')`)
  return `sha256(convert_to(${parts.join(` || ',' || `)}, 'UTF8'))`
}

const digestedIn: Readonly<Record<ColumnType, (column: string) => string>> = {
  INTEGER: (column) => `${column}::text`,
  TEXT: (column) => `octet_length(${column}) || ':' || ${column}`,
  BLOB: (column) => `encode(sha256(${column}), 'hex')`,
}

const WORDS = 8

/** Adds up rows: their number, and each of the eight words of their digests. */
export class RowSum {
  private rows = 0
  private readonly words = new Uint32Array(WORDS)

  get count(): number {
    return this.rows
  }

  /** `digest` is that of a row. */
  add(digest: Buffer): void {
    this.rows += 1
    for (let at = 0; at < WORDS; at++) this.words[at] = (this.words[at] ?? 0) + digest.readUInt32BE(at * 4)
  }

  toText(): string {
    return [...this.words].map((word) => word.toString(16).padStart(8, '0')).join('')
  }

  isSame(other: RowSum): boolean {
    return this.rows === other.rows && this.toText() === other.toText()
  }
}
