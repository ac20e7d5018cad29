/**
 * Encodes and decodes quoted-printable text (RFC 2045 section 6.7) strictly, from bytes to bytes in one pass.
 *
 * CRLF is a line end on both sides; CR or LF alone is encoded. Blanks at the end of an encoded line are deleted, as
 * the RFC asks.
 */

const TAB = 0x09
const LF = 0x0a
const CR = 0x0d
const SPACE = 0x20
const EQUALS = 0x3d
/** Characters of a line, including the `=` of a soft line break. */
const MAX_LINE = 76
const hexDigits = Buffer.from('0123456789ABCDEF')

/** Null if an `=` begins neither a byte nor a soft line break. */
export function decodeQuotedPrintable(encoded: Buffer): Buffer | null {
  const decoded = Buffer.allocUnsafe(encoded.length)
  let length = 0
  /** Length without the blanks that may turn out to end a line. */
  let solid = 0
  for (let at = 0; at < encoded.length; at += 1) {
    const byte = encoded[at] ?? 0
    if (byte === EQUALS) {
      const end = findSoftBreakEnd(encoded, at + 1)
      const value = end === -1 ? readHexByte(encoded, at + 1) : -1
      if (end === -1 && value === -1) return null
      if (value !== -1) decoded[length++] = value
      solid = length
      at = end === -1 ? at + 2 : end - 1
      continue
    }
    if (byte === LF || (byte === CR && encoded[at + 1] === LF)) length = solid
    decoded[length++] = byte
    if (byte !== SPACE && byte !== TAB) solid = length
  }
  return decoded.subarray(0, solid)
}

/** The offset after the line end, or the end of the input, if only blanks precede it. -1 if something else follows. */
function findSoftBreakEnd(encoded: Buffer, start: number): number {
  let at = start
  while (encoded[at] === SPACE || encoded[at] === TAB) at += 1
  if (at >= encoded.length) return at
  if (encoded[at] === LF) return at + 1
  return encoded[at] === CR && encoded[at + 1] === LF ? at + 2 : -1
}

function readHexByte(encoded: Buffer, at: number): number {
  const [high, low] = [hexValueOf(encoded[at] ?? 0), hexValueOf(encoded[at + 1] ?? 0)]
  return high === -1 || low === -1 ? -1 : high * 16 + low
}

function hexValueOf(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30
  const lower = code | 0x20
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1
}

/** `isContinued` says that a soft line break will follow; the last line has room for it. */
export function encodeQuotedPrintable(bytes: Buffer, isContinued = false): Buffer {
  const widest = bytes.length * 3
  const encoded = Buffer.allocUnsafe(widest + Math.ceil(widest / (MAX_LINE - 3)) * 3 + 3)
  let length = 0
  let width = 0
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0
    if (byte === CR && bytes[at + 1] === LF) {
      encoded[length++] = CR
      encoded[length++] = LF
      width = 0
      at += 1
      continue
    }
    const isLast = isLineEnd(bytes, at + 1) && !(isContinued && at + 1 === bytes.length)
    const isPlain = isLiteral(byte) || ((byte === SPACE || byte === TAB) && !isLast)
    const cost = isPlain ? 1 : 3
    if (width + cost > (isLast ? MAX_LINE : MAX_LINE - 1)) {
      length = writeSoftBreak(encoded, length)
      width = 0
    }
    if (isPlain) encoded[length++] = byte
    else length = writeEscape(encoded, length, byte)
    width += cost
  }
  return encoded.subarray(0, length)
}

function isLiteral(byte: number): boolean {
  return byte > SPACE && byte < 0x7f && byte !== EQUALS
}

function isLineEnd(bytes: Buffer, at: number): boolean {
  return at >= bytes.length || (bytes[at] === CR && bytes[at + 1] === LF)
}

function writeSoftBreak(encoded: Buffer, at: number): number {
  encoded[at] = EQUALS
  encoded[at + 1] = CR
  encoded[at + 2] = LF
  return at + 3
}

function writeEscape(encoded: Buffer, at: number, byte: number): number {
  encoded[at] = EQUALS
  encoded[at + 1] = hexDigits[byte >> 4] ?? 0
  encoded[at + 2] = hexDigits[byte & 15] ?? 0
  return at + 3
}
