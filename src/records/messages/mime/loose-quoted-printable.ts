/**
 * Decodes quoted-printable as mailparser does (RFC 2045 section 6.7), in two linear passes: what is no escape stays,
 * and blanks at the end of any line are dropped. An escape that a soft line break divides counts.
 */

const TAB = 0x09
const LF = 0x0a
const CR = 0x0d
const SPACE = 0x20
const EQUALS = 0x3d

/** Null: octets outside of ASCII, which the encoding does not allow. */
export function decodeLooseQuotedPrintable(encoded: Buffer): Buffer | null {
  const joined = joinLines(encoded)
  return joined === null ? null : decodeEscapes(joined)
}

/** Without blanks at the ends of lines and without soft line breaks. */
function joinLines(encoded: Buffer): Buffer | null {
  const joined = Buffer.allocUnsafe(encoded.length)
  let length = 0
  for (let at = 0; at < encoded.length; at += 1) {
    const byte = encoded[at] ?? 0
    if (byte > 0x7f) return null
    if (byte === SPACE || byte === TAB) {
      const end = skipBlanks(encoded, at)
      if (!endsLine(encoded, end)) length += encoded.copy(joined, length, at, end)
      at = end - 1
      continue
    }
    const lineEnd = byte === EQUALS ? softBreakEnd(encoded, at) : -1
    if (lineEnd === -1) joined[length++] = byte
    else at = lineEnd - 1
  }
  return joined.subarray(0, length)
}

function skipBlanks(encoded: Buffer, from: number): number {
  let at = from
  while (encoded[at] === SPACE || encoded[at] === TAB) at += 1
  return at
}

function endsLine(encoded: Buffer, at: number): boolean {
  return at >= encoded.length || encoded[at] === LF || encoded[at] === CR
}

/** After the soft line break that begins with this `=`; -1: there is none. */
function softBreakEnd(encoded: Buffer, equals: number): number {
  const at = skipBlanks(encoded, equals + 1)
  if (at >= encoded.length) return at
  if (encoded[at] === LF) return at + 1
  return encoded[at] === CR && encoded[at + 1] === LF ? at + 2 : -1
}

/** In place. */
function decodeEscapes(joined: Buffer): Buffer {
  let length = 0
  for (let at = 0; at < joined.length; at += 1) {
    const byte = joined[at] ?? 0
    const value = byte === EQUALS ? hexOctet(joined[at + 1] ?? 0, joined[at + 2] ?? 0) : -1
    joined[length++] = value === -1 ? byte : value
    if (value !== -1) at += 2
  }
  return joined.subarray(0, length)
}

function hexOctet(high: number, low: number): number {
  const [first, second] = [hexDigit(high), hexDigit(low)]
  return first === -1 || second === -1 ? -1 : first * 16 + second
}

function hexDigit(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30
  const lower = code | 0x20
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1
}
