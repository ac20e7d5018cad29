/**
 * Decodes the content of a part from its transfer encoding (RFC 2045 section 6), in linear passes. Nothing is refused:
 * text that is no code stays or is skipped, as in other programs.
 */

/** Empty if the content is not encoded. */
export type TransferEncoding = '' | 'base64' | 'quoted-printable' | 'uuencode'

const encodings: ReadonlyMap<string, TransferEncoding> = new Map([
  ...(['base64', 'quoted-printable', 'uuencode'] as const).map((word) => [word, word] as const),
  ...['x-uuencode', 'x-uue', 'uue'].map((word) => [word, 'uuencode'] as const),
])

interface ReadEncoding {
  readonly encoding: TransferEncoding
  readonly ambiguous: boolean
}

/**
 * Reads the name of an encoding. An unknown word means that the content is not encoded; one that resembles a known one
 * is ambiguous.
 */
export function readTransferEncoding(written: string): ReadEncoding {
  const value = written.trim().toLowerCase()
  const word = /^[\s"';]*([\w!#$&^.+-]{1,60})/.exec(value)?.[1] ?? ''
  const ambiguous = encodings.get(value) === undefined && /64|quot|print|uu|yenc|hex/.test(value)
  return { encoding: encodings.get(word) ?? '', ambiguous }
}

/** Returns the body itself if it is not encoded. */
export function decodeTransfer(body: Buffer, encoding: TransferEncoding): Buffer {
  if (encoding === 'base64') return decodeBase64(body)
  if (encoding === 'quoted-printable') return decodeQuotedPrintable(body)
  return encoding === 'uuencode' ? (decodeUuencoded(body) ?? body) : body
}

/** Decodes up to the padding. Skips characters without meaning, and those of base64url, which Node.js accepts. */
function decodeBase64(body: Buffer): Buffer {
  const text = body.toString('latin1')
  return Buffer.from(body.includes('-') || body.includes('_') ? text.replace(/[-_]/g, '') : text, 'base64')
}

const TAB = 0x09
const LF = 0x0a
const CR = 0x0d
const SPACE = 0x20
const EQUALS = 0x3d

/** Decodes escapes, also across a soft line break. Other text stays, except for blanks at the ends of lines. */
function decodeQuotedPrintable(encoded: Buffer): Buffer {
  return decodeEscapes(joinLines(encoded))
}

/** Removes blanks at the ends of lines, and soft line breaks. */
function joinLines(encoded: Buffer): Buffer {
  const joined = Buffer.allocUnsafe(encoded.length)
  let length = 0
  for (let at = 0; at < encoded.length; at += 1) {
    const byte = encoded[at] ?? 0
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

/** Returns the place after the soft line break that begins with this `=`, or -1 if there is none. */
function softBreakEnd(encoded: Buffer, equals: number): number {
  const at = skipBlanks(encoded, equals + 1)
  if (at >= encoded.length) return at
  if (encoded[at] === LF) return at + 1
  return encoded[at] === CR && encoded[at + 1] === LF ? at + 2 : -1
}

/** Decodes escapes in place. */
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

/**
 * Returns null if there is no `begin` line. Blanks at the end of a line may be missing, so a line may stand for more
 * octets than it has.
 */
function decodeUuencoded(body: Buffer): Buffer | null {
  const lines = body.toString('latin1').split(/\r?\n/)
  const begin = lines.findIndex((line) => /^begin [0-7]{3,4} /.test(line))
  if (begin === -1) return null
  const decoded: Buffer[] = []
  let left = body.length
  for (const line of lines.slice(begin + 1)) {
    const octets = line === 'end' ? null : decodeUuencodedLine(line)
    left -= octets?.length ?? 0
    if (octets === null || left < 0) break
    decoded.push(octets)
  }
  return Buffer.concat(decoded)
}

/** Decodes a line. The first character is the number of octets; each of the others has six bits. */
function decodeUuencodedLine(line: string): Buffer {
  const valueAt = (at: number): number => (line.charCodeAt(at) - 0x20) & 0x3f
  const length = line === '' ? 0 : valueAt(0)
  const octets = Buffer.alloc(Math.ceil(length / 3) * 3)
  for (let at = 1, place = 0; place < length && at < line.length; at += 4, place += 3) {
    const bits = (valueAt(at) << 18) | (valueAt(at + 1) << 12) | (valueAt(at + 2) << 6) | valueAt(at + 3)
    octets.writeUIntBE(bits & 0xffffff, place, 3)
  }
  return octets.subarray(0, length)
}
