/**
 * Relaxed canonicalization of DKIM (RFC 6376 sections 3.4.2 and 3.4.4) over bytes.
 *
 * Header: names in lower case, unfolded, each run of blanks one space, no blanks at the ends. Body: each run of blanks
 * one space, none before a CRLF, no empty lines at the end, one CRLF after the last line; an empty body stays empty.
 *
 * Only CRLF is a line end. Bare CR and LF are ordinary bytes here; `mail/line-check` refuses messages that contain
 * them, because verifiers disagree about them.
 *
 * The body is hashed in windows. `hashRelaxedBodyAsync` yields to the event loop between them, so that 15 MB do not
 * block the process.
 */
import { createHash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import type { HeaderField } from '../../../base/mail/header-fields.js'

/** Bytes that one turn hashes, which takes about a millisecond. */
const WINDOW_BYTES = 524_288

const TAB = 0x09
const LF = 0x0a
const CR = 0x0d
const SPACE = 0x20

/** Returns `name:value` and CRLF as Latin-1: each character is one byte of the message. */
export function canonicalizeField(raw: Buffer, field: HeaderField): string {
  const out = Buffer.allocUnsafe(field.end - field.colon)
  return `${field.name}:${out.toString('latin1', 0, unfold(raw, field.colon + 1, field.end, out))}\r\n`
}

/** SHA-256 of the canonical body, base64: the `bh=` tag. */
export function hashRelaxedBody(raw: Buffer, bodyStart: number): string {
  const steps = hashBodySteps(raw, bodyStart)
  let step = steps.next()
  while (step.done !== true) step = steps.next()
  return step.value
}

/** Does the same, but yields to the event loop between windows. The caller may choose another algorithm. */
export async function hashRelaxedBodyAsync(raw: Buffer, bodyStart: number, algorithm = 'sha256'): Promise<string> {
  const steps = hashBodySteps(raw, bodyStart, algorithm)
  let step = steps.next()
  while (step.done !== true) {
    await setImmediate()
    step = steps.next()
  }
  return step.value
}

/** Yields between two windows. */
function* hashBodySteps(raw: Buffer, bodyStart: number, algorithm = 'sha256'): Generator<void, string> {
  const hash = createHash(algorithm)
  const end = findContentEnd(raw, bodyStart)
  let at = bodyStart
  while (at < end) {
    const next = findWindowEnd(raw, at, end)
    hash.update(relaxWhitespace(raw, at, next))
    at = next
    if (at < end) yield
  }
  if (end > bodyStart) hash.update('\r\n')
  return hash.digest('base64')
}

/** Writes the value from `start` to `end` into `out`, unfolded and with single spaces. Returns its length. */
function unfold(raw: Buffer, start: number, end: number, out: Buffer): number {
  let size = 0
  let blank = false
  for (let at = start; at < end; at++) {
    const byte = raw[at] ?? 0
    if (byte === SPACE || byte === TAB) blank = true
    else if (byte !== LF && (byte !== CR || raw[at + 1] !== LF)) {
      if (blank && size > 0) out[size++] = SPACE
      blank = false
      out[size++] = byte
    }
  }
  return size
}

/** Offset after the last byte of the body that is neither blank nor part of a CRLF. */
function findContentEnd(raw: Buffer, bodyStart: number): number {
  let end = raw.length
  while (end > bodyStart) {
    const byte = raw[end - 1]
    if (byte === SPACE || byte === TAB) end--
    else if (byte === LF && end - 1 > bodyStart && raw[end - 2] === CR) end -= 2
    else break
  }
  return end
}

/** A window ends after a line feed, so no state crosses its end. */
function findWindowEnd(raw: Buffer, at: number, end: number): number {
  if (end - at <= WINDOW_BYTES) return end
  const lf = raw.indexOf(LF, at + WINDOW_BYTES)
  return lf === -1 || lf >= end ? end : lf + 1
}

/** The bytes from `start` to `end` with relaxed blanks. It is the same memory if nothing changes. */
function relaxWhitespace(raw: Buffer, start: number, end: number): Buffer {
  const part = raw.subarray(start, end)
  const dirty = findFirstChange(part)
  return dirty === -1 ? part : collapseWhitespace(part, dirty)
}

/** Offset of the first blank that changes, or -1 if none does. */
function findFirstChange(part: Buffer): number {
  const tab = part.indexOf(TAB)
  const end = tab === -1 ? part.length : tab
  // Base64 has no spaces. The native search finds that out much faster than the loop.
  for (let at = part.indexOf(SPACE); at < end && at !== -1; at++) {
    if (part[at] !== SPACE) continue
    const next = part[at + 1]
    if (next === SPACE || next === TAB || (next === CR && part[at + 2] === LF)) return at
  }
  return tab
}

function collapseWhitespace(part: Buffer, from: number): Buffer {
  const out = Buffer.allocUnsafe(part.length)
  part.copy(out, 0, 0, from)
  let size = from
  let blank = false
  for (let at = from; at < part.length; at++) {
    const byte = part[at] ?? 0
    if (byte === SPACE || byte === TAB) {
      blank = true
      continue
    }
    if (blank && (byte !== CR || part[at + 1] !== LF)) out[size++] = SPACE
    blank = false
    out[size++] = byte
  }
  return out.subarray(0, size)
}
