/**
 * Finds the header fields of a raw message in one pass; nothing is decoded.
 *
 * Offsets are into the raw bytes: `raw[start, colon)` is the name, `raw[colon + 1, end)` the value with its
 * folded lines and its line end. So fields can be removed, added and signed while every other byte stays.
 *
 * RFC 5322 section 2.2: a name is printable ASCII without a colon. Blanks between name and colon are accepted
 * (section 4.5.8). A line of blanks only continues the field above it (section 4.2). A line that is no field
 * ends the header like an empty line and is the first line of the body, as in Postfix and OpenDKIM;
 * `spliceHeader` then adds the missing empty line, so that every later reader sees the same body.
 *
 * Limits: a bare LF ends a line too (`line-check.ts` finds such messages). More than 10,000 fields are
 * refused.
 */
import { isUtf8 } from 'node:buffer'
import { Refusal } from './refusal.js'

export interface HeaderField {
  /** Lower case. */
  readonly name: string
  readonly start: number
  readonly colon: number
  /** The offset after the line end of its last line. */
  readonly end: number
}

export interface Header {
  readonly fields: readonly HeaderField[]
  /** The offset after the last field. */
  readonly end: number
  /** The offset after the empty line. It equals `end` if there is none. */
  readonly bodyStart: number
}

const MAX_FIELDS = 10_000

const TAB = 0x09
const LF = 0x0a
const CR = 0x0d
const SPACE = 0x20
const COLON = 0x3a

export function scanHeader(raw: Buffer): Header {
  const fields: HeaderField[] = []
  let at = 0
  for (;;) {
    const colon = findColon(raw, at)
    if (colon === -1) return { fields, end: at, bodyStart: at + emptyLineLength(raw, at) }
    if (fields.length === MAX_FIELDS) {
      throw new Refusal('malformed-message', `more than ${MAX_FIELDS} header fields`)
    }
    const end = findFieldEnd(raw, colon + 1)
    fields.push({ name: readFieldName(raw, at, colon), start: at, colon, end })
    at = end
  }
}

/** The same as `scanHeader`; a header that exceeds its limit has no fields. */
export function scanHeaderOrEmpty(raw: Buffer): Header {
  try {
    return scanHeader(raw)
  } catch (error) {
    if (error instanceof Refusal) return { fields: [], end: 0, bodyStart: 0 }
    throw error
  }
}

/** Octets of a value that are read, folds included. To unfold megabytes would take hundreds of milliseconds. */
const MAX_VALUE = 131_072

/**
 * The unfolded, trimmed value, read as UTF-8, or as Latin-1 if it is not valid UTF-8. `max` is the number of octets
 * that are read.
 */
export function readFieldValue(raw: Buffer, field: HeaderField, max = MAX_VALUE): string {
  const start = field.colon + 1
  // Nearly all fields have one line. Without its line end there is nothing to unfold.
  const end = raw[field.end - 1] === LF ? field.end - 1 : field.end
  const bytes = raw.subarray(start, Math.min(end, start + max))
  const text = isUtf8(bytes) ? bytes.toString('utf8') : bytes.toString('latin1')
  return (text.includes('\n') ? text.replaceAll('\r\n', '').replaceAll('\n', '') : text).trim()
}

/** The fields named `name` (lower case), in order. */
export function findFields(header: Header, name: string): readonly HeaderField[] {
  return header.fields.filter((field) => field.name === name)
}

interface HeaderSplice {
  readonly remove?: readonly HeaderField[]
  /** Complete lines with CRLF, inserted on top. */
  readonly prepend?: string
  /** Complete lines with CRLF, inserted after the last field. */
  readonly append?: string
}

/** A new message with fields removed and lines inserted; all other bytes stay. */
export function spliceHeader(raw: Buffer, header: Header, splice: HeaderSplice): Buffer {
  return Buffer.concat(spliceToPieces(raw, header, splice))
}

/** The same in pieces; pieces of the message share its memory. */
export function spliceToPieces(raw: Buffer, header: Header, splice: HeaderSplice): readonly Buffer[] {
  const { remove = [], prepend = '', append = '' } = splice
  const pieces: Buffer[] = [Buffer.from(prepend)]
  let at = 0
  for (const field of remove.toSorted((a, b) => a.start - b.start)) {
    pieces.push(raw.subarray(at, field.start))
    at = field.end
  }
  pieces.push(raw.subarray(at, header.end))
  if (at < header.end && raw[header.end - 1] !== LF) pieces.push(Buffer.from('\r\n'))
  pieces.push(Buffer.from(append))
  if (header.bodyStart === header.end && header.end < raw.length) pieces.push(Buffer.from('\r\n'))
  pieces.push(raw.subarray(header.end))
  return pieces
}

/** Offset of the colon of the field that begins at `start`, or -1 if no field begins there. */
function findColon(raw: Buffer, start: number): number {
  let at = start
  let byte = raw[at] ?? 0
  while (byte > SPACE && byte < 0x7f && byte !== COLON) byte = raw[++at] ?? 0
  if (at === start) return -1
  while (byte === SPACE || byte === TAB) byte = raw[++at] ?? 0
  return byte === COLON ? at : -1
}

/** The offset after the field with a value that begins at `start`: before the first line that is no continuation. */
function findFieldEnd(raw: Buffer, start: number): number {
  let at = start
  for (;;) {
    const lf = findLf(raw, at)
    if (lf === -1) return raw.length
    at = lf + 1
    const next = raw[at]
    if (next !== SPACE && next !== TAB) return at
  }
}

/** Octets that are compared one by one. On short lines a call of a native function costs more. */
const NEAR_OCTETS = 32

function findLf(raw: Buffer, from: number): number {
  const far = Math.min(raw.length, from + NEAR_OCTETS)
  for (let at = from; at < far; at += 1) if (raw[at] === LF) return at
  return raw.indexOf(LF, far)
}

/** The names in lower case, by the names as written. */
const knownNames = new Map<string, string>()
const MAX_KNOWN_NAMES = 1_000
/** Octets of a name that is kept. */
const MAX_KNOWN_NAME = 40

function readFieldName(raw: Buffer, start: number, colon: number): string {
  const written = raw.toString('latin1', start, colon)
  const known = knownNames.get(written)
  if (known !== undefined) return known
  const name = written.trimEnd().toLowerCase()
  if (written.length <= MAX_KNOWN_NAME) {
    if (knownNames.size === MAX_KNOWN_NAMES) knownNames.clear()
    knownNames.set(written, name)
  }
  return name
}

/** Bytes of the empty line at `at`. 0 if there is none. */
function emptyLineLength(raw: Buffer, at: number): number {
  if (raw[at] === LF) return 1
  return raw[at] === CR && raw[at + 1] === LF ? 2 : 0
}
