/**
 * Wraps the lines of a message that are longer than a limit, without a change of what readers see. Pure. Every line of
 * the message ends with CRLF.
 *
 * Header fields are folded at blanks. A body with such a line becomes quoted-printable if it is text, and base64 if
 * not. Lines before the first and after the last part of a multipart, which no reader shows, are dropped. All other
 * bytes stay.
 *
 * Not every message can be wrapped: a signed or encrypted part must not be changed, an unknown transfer encoding cannot
 * be decoded, and a field without blanks cannot be folded.
 */
import { isAscii, isUtf8 } from 'node:buffer'
import { encodeBase64Lines } from '../../base/mail/base64-lines.js'
import { findFields, readFieldValue, scanHeader, spliceHeader } from '../../base/mail/header-fields.js'
import { encodeQuotedPrintable } from '../../base/mail/quoted-printable.js'
import { concatWithHeadroom } from '../../base/platform/memory/byte-pieces.js'
import { isMessage, type Part, PartWalker } from '../../records/messages/mime/structure/part-tree.js'
import { decodeTransfer } from '../../records/messages/mime/structure/transfer-encoding.js'
import { foldLongLines } from './fold-long-lines.js'

/** Returns null if the message cannot be wrapped. */
export function wrapLongLines(raw: Buffer, maxLineOctets: number): Buffer | null {
  const wrapping = new Wrapping(new PartWalker(raw), maxLineOctets)
  const { root } = wrapping.walker
  try {
    wrapping.pieces.push(raw.subarray(0, root.start))
    wrapping.wrapPart(root)
  } catch (error) {
    if (error instanceof Unwrappable) return null
    throw error
  }
  return concatWithHeadroom(wrapping.pieces)
}

/** Thrown to end the work, because the message cannot be wrapped. */
class Unwrappable extends Error {}

const LF = 0x0a
const CRLF = '\r\n'

/** Places in the message, without the line end: that of the last line of a part belongs to the delimiter. */
interface Line {
  readonly start: number
  readonly end: number
}

/** Parts that a signature or an encryption covers. */
const sealedTypes = /^(?:multipart\/(?:signed|encrypted)|application\/(?:x-)?pkcs7-|application\/pgp)/
/** Parts whose body has the form of header fields. */
const fieldTypes = /^message\/(?:(?:global-)?delivery-status|(?:global-)?disposition-notification|feedback-report)$/

/** `pieces` is what the parts became so far, in the order of the message. */
class Wrapping {
  readonly pieces: Buffer[] = []
  private readonly raw: Buffer
  private readonly longLines: readonly Line[]
  private nextLine = 0

  constructor(
    readonly walker: PartWalker,
    private readonly maxLineOctets: number,
  ) {
    this.raw = walker.raw
    this.longLines = findLongLines(walker.raw, maxLineOctets)
  }

  wrapPart(part: Part): void {
    const { type, header, start, bodyStart, end, content } = part
    const head = this.foldFields(start, bodyStart)
    if (!this.hasLongLine(bodyStart, end)) {
      this.pieces.push(head, this.raw.subarray(bodyStart, end))
      return
    }
    const hasNoEnd = header.bodyStart === header.end
    if (hasNoEnd || sealedTypes.test(type) || content.ambiguous) throw new Unwrappable()
    if (type.startsWith('multipart/') || isMessage(type)) {
      this.pieces.push(head)
      this.wrapInside(part)
    } else if (fieldTypes.test(type)) this.pieces.push(head, this.foldFields(bodyStart, end))
    else if (type.startsWith('message/')) throw new Unwrappable()
    else this.pieces.push(...this.encodeBody(part, head))
  }

  private wrapInside(part: Part): void {
    const opened = isMessage(part.type) ? this.walker.openMessage(part) : this.walker.open(part)
    if (opened === null || part.content.encoding !== '') throw new Unwrappable()
    let at = part.bodyStart
    for (const inner of opened.parts) {
      this.pieces.push(...this.withoutLongLines(at, inner.start))
      this.wrapPart(inner)
      at = inner.end
    }
    this.pieces.push(...this.withoutLongLines(at, part.end))
  }

  /** Returns the header of the part with its new encoding, and its body. */
  private encodeBody({ bodyStart, end, content, type, depth }: Part, head: Buffer): readonly Buffer[] {
    const { encoding } = content
    if (encoding === 'uuencode' || (encoding === '' && !isPlain(head))) throw new Unwrappable()
    const body = decodeTransfer(this.raw.subarray(bodyStart, end), encoding)
    const asText = encoding === '' ? type.startsWith('text/') : encoding === 'quoted-printable'
    const lastBreak = !asText && this.raw[end - 1] === LF ? CRLF : ''
    const encoded = asText ? encodeQuotedPrintable(body) : encodeBase64Lines(body)
    const declared = declareEncoding(head, asText ? 'quoted-printable' : 'base64', depth === 0 ? body : null)
    return [declared, encoded, Buffer.from(lastBreak)]
  }

  /** Returns the lines with those folded that are too long. */
  private foldFields(start: number, end: number): Buffer {
    const bytes = this.raw.subarray(start, end)
    if (!this.hasLongLine(start, end)) return bytes
    const folded = foldLongLines(bytes, this.maxLineOctets)
    if (folded === null) throw new Unwrappable()
    return folded
  }

  private withoutLongLines(start: number, end: number): readonly Buffer[] {
    const kept: Buffer[] = []
    let at = start
    while (this.hasLongLine(at, end)) {
      const line = this.longLines[this.nextLine]
      if (line === undefined) break
      kept.push(this.raw.subarray(at, Math.max(at, line.start)))
      at = Math.min(end, line.end + CRLF.length)
    }
    return [...kept, this.raw.subarray(at, end)]
  }

  /** Asks in the order of the message, so all questions together visit each line once. */
  private hasLongLine(start: number, end: number): boolean {
    let line = this.longLines[this.nextLine]
    while (line !== undefined && line.end <= start) line = this.longLines[++this.nextLine]
    return line !== undefined && line.start < end
  }
}

function findLongLines(raw: Buffer, maxLineOctets: number): readonly Line[] {
  const found: Line[] = []
  for (let start = 0; start < raw.length; ) {
    const lf = raw.indexOf(LF, start)
    const end = lf === -1 ? raw.length : lf - 1
    if (end - start > maxLineOctets) found.push({ start, end })
    start = lf === -1 ? raw.length : lf + 1
  }
  return found
}

/** Tells whether the header names no transfer encoding but one of those that leave the body as it is. */
function isPlain(head: Buffer): boolean {
  return findFields(scanHeader(head), 'content-transfer-encoding').every((field) =>
    /^(?:7bit|8bit|binary)?$/i.test(readFieldValue(head, field, 100)),
  )
}

/**
 * Returns the header with the other encoding. The header of the message itself also gets what MIME requires; `body` is
 * given for it alone.
 */
function declareEncoding(head: Buffer, name: string, body: Buffer | null): Buffer {
  const header = scanHeader(head)
  const lacks = (field: string): boolean => body !== null && findFields(header, field).length === 0
  const version = lacks('mime-version') ? `MIME-Version: 1.0${CRLF}` : ''
  const isUtf8Text = lacks('content-type') && body !== null && !isAscii(body) && isUtf8(body)
  const type = isUtf8Text ? `Content-Type: text/plain; charset=utf-8${CRLF}` : ''
  const remove = findFields(header, 'content-transfer-encoding')
  return spliceHeader(head, header, {
    remove,
    append: `${version}${type}Content-Transfer-Encoding: ${name}${CRLF}`,
  })
}
