/** Values on their way to PostgreSQL and back: which parameters can be sent, and what its types become here. */
import { MessageBytes } from '../db/message-bytes.js'
import type { Sendable } from './message-writer.js'

/** Parameters that one statement can have by the protocol. */
export const MAX_PARAMETERS = 65_535

/** A value that cannot be sent, with the rule that it breaks. */
export class Unsendable {
  constructor(readonly rule: string) {}
}

/** A boolean is 0 or 1, which both types of column take. */
export function toSendable(value: unknown): Sendable | Unsendable {
  switch (typeof value) {
    case 'string':
      return checkText(value)
    case 'number':
      return Number.isFinite(value) ? String(value) : new Unsendable(`is ${value}: pass a finite number`)
    case 'boolean':
      return value ? '1' : '0'
    case 'bigint':
      return String(value)
    default:
      return value === null ? null : checkBytes(value)
  }
}

function checkText(text: string): string | Unsendable {
  if (text.includes('\0')) return new Unsendable('has a NUL character, which PostgreSQL cannot store: remove it before')
  if (!text.isWellFormed()) return new Unsendable('has half of a surrogate pair, which UTF-8 cannot hold: replace it')
  return text
}

/**
 * A parameter of a read as it can be sent. No stored text has a NUL character or half of a surrogate pair. A request may
 * look for one that does, and find no more than with U+FFFD in its place.
 */
export function toSought(value: unknown): unknown {
  return typeof value === 'string' ? value.toWellFormed().replaceAll('\0', '\ufffd') : value
}

function checkBytes(value: unknown): Sendable | Unsendable {
  if (value instanceof Uint8Array) return value
  if (!(value instanceof MessageBytes)) {
    return new Unsendable(`is of the type ${typeof value}: pass text, a number, a boolean, bytes or null`)
  }
  return value.isGone ? new Unsendable('has bytes that another thread has: keep them until the answer') : value
}

type ReadValue = (text: string) => unknown

/** Types by their numbers in pg_type. Any other type is read as text. */
const readers: ReadonlyMap<number, ReadValue> = new Map<number, ReadValue>([
  [16, (text) => (text === 't' ? 1 : 0)],
  [17, (text) => Buffer.from(text.slice(2), 'hex')],
  [20, readWhole],
  [21, Number],
  [23, Number],
  [26, Number],
  [700, Number],
  [701, Number],
  [1700, Number],
])

function readWhole(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new RangeError(`${text} is beyond the whole numbers of JavaScript`)
  return value
}

export interface Column {
  readonly name: string
  readonly read: ReadValue
}

export function toColumn({ name, dataTypeID }: { readonly name: string; readonly dataTypeID: number }): Column {
  return { name, read: readers.get(dataTypeID) ?? String }
}

export type Row = Record<string, unknown>

export function readRow(columns: readonly Column[], texts: readonly (string | null)[]): Row {
  const row: Row = {}
  columns.forEach(({ name, read }, index) => {
    const text = texts[index] ?? null
    row[name] = text === null ? null : read(text)
  })
  return row
}
