/**
 * Tracks the HTML bodies of a MIME message as it was submitted. Each body is decoded, and encoded again in its charset
 * and transfer encoding; every other byte stays. If lines would become longer than 998 octets, the body becomes
 * quoted-printable, and its Content-Transfer-Encoding field changes.
 *
 * A message that cannot be taken apart safely stays unchanged as a whole.
 */
import { encodeBase64Lines } from '../../base/mail/base64-lines.js'
import { findFields, type Header, readFieldValue } from '../../base/mail/header-fields.js'
import { decodeQuotedPrintable, encodeQuotedPrintable } from '../../base/mail/quoted-printable.js'
import type { Part } from '../../records/messages/mime/structure/part-tree.js'
import { decodeBody } from './body-charset.js'
import { findHtmlParts } from './html-parts.js'
import type { EmailTracking, TrackingSkip } from './track-email.js'

/** The most octets of a line without its line end (RFC 5321 section 4.5.3.1.6). */
const MAX_LINE = 998
/** The most octets of all encoded HTML parts; more would take longer than 5 ms. */
const MAX_ENCODED = 1_048_576

/**
 * Returns the pieces of the message, of which the first has its whole header; unchanged pieces share the memory of
 * `raw`. Returns only `raw` if it has no HTML to track. Returns a reason if the message should be tracked but cannot
 * be.
 */
export function rewriteMessage(
  raw: Buffer,
  header: Header,
  trackHtml: EmailTracking['trackHtml'],
): readonly [Buffer, ...Buffer[]] | TrackingSkip {
  const parts = findHtmlParts(raw, header)
  if (typeof parts === 'string') return parts
  if (parts.reduce((sum, { start, end }) => sum + end - start, 0) > MAX_ENCODED) return 'too-large'
  const pieces: Buffer[] = []
  let at = 0
  for (const [place, part] of parts.entries()) {
    const rewritten = rewritePart(raw.subarray(part.start, part.end), part, (html) => trackHtml(html, place === 0))
    if (typeof rewritten === 'string') return rewritten
    pieces.push(raw.subarray(at, part.start), ...rewritten)
    at = part.end
  }
  const [first = raw, ...others] = [...pieces, raw.subarray(at)].filter(({ length }) => length > 0)
  return [first, ...others]
}

type TransferEncoding = 'identity' | 'quoted-printable' | 'base64'

/** `bytes` are the header and body of the part. */
function rewritePart(
  bytes: Buffer,
  { header, content: declared }: Part,
  trackHtml: (html: string) => string,
): readonly Buffer[] | TrackingSkip {
  const encoding = readTransferEncoding(bytes, header)
  if (encoding === null) return 'encoding'
  const body = bytes.subarray(header.bodyStart)
  const decoded = decodeTransfer(body, encoding)
  if (decoded === null) return 'encoding'
  const content = decodeBody(decoded, declared.parameter('charset'))
  if (content === null) return 'charset'
  const pgp = /-----BEGIN PGP (SIGNED )?MESSAGE-----/.exec(content.text)
  if (pgp !== null) return pgp[1] === undefined ? 'encrypted' : 'signed'
  const lastBreak = content.text.endsWith('\r\n') ? '\r\n' : ''
  const html = content.text.slice(0, content.text.length - lastBreak.length)
  const tracked = trackHtml(html)
  if (tracked === html) return [bytes]
  return encodePart(bytes, header, content.encode(tracked + lastBreak), encoding)
}

function encodePart(bytes: Buffer, header: Header, text: Buffer, encoding: TransferEncoding): readonly Buffer[] {
  const head = bytes.subarray(0, header.bodyStart)
  switch (encoding) {
    case 'base64':
      return [
        head,
        encodeBase64Lines(text),
        Buffer.from(bytes.subarray(-2).toString('latin1') === '\r\n' ? '\r\n' : ''),
      ]
    case 'quoted-printable':
      return [head, encodeQuotedPrintable(text)]
    case 'identity':
      return hasLongLine(text) ? [declareQuotedPrintable(bytes, header), encodeQuotedPrintable(text)] : [head, text]
  }
}

/** Returns null if the encoding is unknown. */
function readTransferEncoding(bytes: Buffer, header: Header): TransferEncoding | null {
  const [field] = findFields(header, 'content-transfer-encoding')
  const word = field === undefined ? '7bit' : readFieldValue(bytes, field).toLowerCase()
  if (word === 'quoted-printable' || word === 'base64') return word
  return word === '7bit' || word === '8bit' || word === 'binary' ? 'identity' : null
}

/** Returns null if the body is not valid in the encoding. */
function decodeTransfer(body: Buffer, encoding: TransferEncoding): Buffer | null {
  switch (encoding) {
    case 'identity':
      return body
    case 'quoted-printable':
      return decodeQuotedPrintable(body)
    case 'base64': {
      const text = body.toString('latin1').replace(/[\r\n\t ]+/g, '')
      return /^[A-Za-z0-9+/]*={0,2}$/.test(text) && text.length % 4 === 0 ? Buffer.from(text, 'base64') : null
    }
  }
}

function hasLongLine(text: Buffer): boolean {
  for (let at = 0; at < text.length; ) {
    const end = text.indexOf('\r\n', at, 'latin1')
    if ((end === -1 ? text.length : end) - at > MAX_LINE) return true
    if (end === -1) return false
    at = end + 2
  }
  return false
}

/** Returns the header of the part with the other encoding: in the present field, or in a new one after the others. */
function declareQuotedPrintable(bytes: Buffer, header: Header): Buffer {
  const [field] = findFields(header, 'content-transfer-encoding')
  const value = ' quoted-printable\r\n'
  const [before, after] = field === undefined ? [header.end, header.end] : [field.colon + 1, field.end]
  const text = field === undefined ? `Content-Transfer-Encoding:${value}` : value
  return Buffer.concat([bytes.subarray(0, before), Buffer.from(text), bytes.subarray(after, header.bodyStart)])
}
