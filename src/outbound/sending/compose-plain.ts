/**
 * Composes a message of text, HTML or both, without files. Most messages are of this kind. nodemailer's tree of parts
 * (`compose-message.ts`) costs eight times as much, which would be the largest share of a REST request. Tests compare
 * the results of both. The encodings are the same as nodemailer's.
 */
import { encode as encodeQuoted, wrap as wrapQuoted } from 'nodemailer/lib/qp'
import { encodeBase64Lines } from '../../base/mail/base64-lines.js'
import { formatMessageDate } from '../../base/mail/message-date.js'
import { wrapQuotedPrintable } from '../../base/mail/wrap-quoted-printable.js'
import { composeHeader } from './compose-header.js'
import type { MessageContent } from './message-content.js'
import type { BodyEncoding, EncodedBody } from './token-places.js'

/** The bytes of a message, and the places of its text and HTML. */
export interface ComposedMessage {
  readonly raw: Buffer
  readonly bodies: readonly EncodedBody[]
}

interface PlainMessage {
  /** The content, whose `fields` have no Message-ID. */
  readonly content: MessageContent
  readonly messageId: string
  /** Lines end with CRLF. Empty if there is no such part. */
  readonly text: string
  readonly html: string
  /** The boundary, which clients must not be able to predict. */
  readonly boundary: string
  readonly now: number
}

/** The most characters of a line that needs no encoding. */
const MAX_LINE = 76

const ascii = /^[\t\r\n\x20-\x7e]*$/

export function composePlain({ content, messageId, text, html, boundary, now }: PlainMessage): ComposedMessage {
  const top = `${composeHeader(content)}Message-ID: ${messageId}\r\nDate: ${formatMessageDate(now)}\r\nMIME-Version: 1.0\r\n`
  if (html === '') return joinSingle(top, composePart('plain', text))
  if (text === '') return joinSingle(top, composePart('html', html))
  const plain = composePart('plain', text)
  const rich = composePart('html', html)
  // No line of quoted-printable begins like this (RFC 2045 section 6.7).
  const line = `--=_${boundary}`
  const start = `${top}Content-Type: multipart/alternative;\r\n boundary="=_${boundary}"\r\n\r\n${line}\r\n`
  return joinParts(start + plain.header, [
    { ...plain, after: `\r\n${line}\r\n${rich.header}` },
    { ...rich, after: `\r\n${line}--\r\n` },
  ])
}

interface Part {
  readonly header: string
  readonly encoding: BodyEncoding
  /** The body in ASCII, as it is sent. */
  readonly body: string
}

function joinSingle(top: string, part: Part): ComposedMessage {
  return joinParts(top + part.header, [{ ...part, after: '\r\n' }])
}

/** Joins the parts. `after` follows a body and is ASCII, like the bodies; the header may have UTF-8. */
function joinParts(start: string, parts: readonly (Part & { readonly after: string })[]): ComposedMessage {
  let rest = 0
  const bodies = parts.toReversed().map(({ encoding, body, after }) => {
    const endFromEnd = rest + after.length
    rest = endFromEnd + body.length
    return { encoding, startFromEnd: rest, endFromEnd }
  })
  const text = parts.reduce((all, { body, after }) => all + body + after, start)
  return { raw: Buffer.from(text), bodies: bodies.reverse() }
}

function composePart(subtype: 'plain' | 'html', text: string): Part {
  const isAscii = ascii.test(text)
  const encoding = chooseEncoding(text, isAscii)
  const header = `Content-Type: text/${subtype}; charset=utf-8\r\nContent-Transfer-Encoding: ${encoding}\r\n\r\n`
  return { header, encoding, body: encodeBody(encoding, text, isAscii) }
}

function encodeBody(encoding: BodyEncoding, text: string, isAscii: boolean): string {
  switch (encoding) {
    case '7bit':
      return text
    case 'quoted-printable':
      return isAscii ? encodeAscii(text) : wrapQuoted(encodeQuoted(text))
    case 'base64':
      return encodeBase64Lines(Buffer.from(text)).toString('latin1')
  }
}

/**
 * Encodes printable ASCII, which needs few escapes, as quoted-printable (RFC 2045 section 6.7). Encoding it byte by
 * byte takes ten times as long. Lines of `text` end with CRLF.
 */
export function encodeAscii(text: string): string {
  const escaped = text.replaceAll('=', '=3D')
  if (!hasBlankLineEnd(escaped)) return wrapQuotedPrintable(escaped)
  return wrapQuotedPrintable(escaped.replace(/[\t ](?=\r|$)/g, (blank) => (blank === ' ' ? '=20' : '=09')))
}

function hasBlankLineEnd(text: string): boolean {
  return text.includes(' \r') || text.includes('\t\r') || text.endsWith(' ') || text.endsWith('\t')
}

/** Chooses quoted-printable for text that is mostly ASCII, because it stays readable. */
function chooseEncoding(text: string, isAscii: boolean): BodyEncoding {
  if (isAscii) return hasLongLine(text) ? 'quoted-printable' : '7bit'
  const escaped = text.replace(/[\t\r\n\x20-\x7e]+/g, '').length
  return escaped * 3 > text.length ? 'base64' : 'quoted-printable'
}

/** From this many characters on, the tree of parts encodes text without looking at its lines. */
const LONG_TEXT = 131_072

function hasLongLine(text: string): boolean {
  if (text.length > LONG_TEXT) return true
  for (let start = 0; start < text.length; ) {
    const lineEnd = text.indexOf('\r\n', start)
    const end = lineEnd === -1 ? text.length : lineEnd
    if (end - start > MAX_LINE) return true
    start = end + 2
  }
  return false
}
