/**
 * From the parts of a message to its bytes (RFC 5322, 2045 to 2047, 2231, 2387).
 *
 * Encodings and the parameters of file names are nodemailer's. Its composer is not used:
 * it streams a message of a kilobyte in half a millisecond, this takes a twentieth of
 * that. Every line ends with CRLF and has at most 998 octets.
 *
 * Limits: whole in memory, and encoding some megabytes holds the event loop for tens of
 * milliseconds.
 */
import { encode as encodeBase64, wrap as wrapBase64 } from 'nodemailer/lib/base64'
import { hasLongerLines } from 'nodemailer/lib/mime-funcs'
import MimeNode from 'nodemailer/lib/mime-node'
import { encode as encodeQuoted, wrap as wrapQuoted } from 'nodemailer/lib/qp'
import { messageDate } from '../mail/message-date.js'
import { newMessageId } from '../mail/message-id.js'
import { headerLines, isMostlyAscii } from './compose-header.js'
import { textOfHtml } from './compose-text.js'
import type { Attachment, InlineImage, MessageContent } from './message-content.js'

export interface Composing {
  /** Nobody can know it before: boundaries are made of it. */
  readonly emailId: string
  readonly hostname: string
  readonly now: number
}

export function composeMessage(content: MessageContent, { emailId, hostname, now }: Composing): Buffer {
  const ownId = content.fields.some(({ name }) => name.toLowerCase() === 'message-id')
  const messageId = ownId ? '' : `Message-ID: ${newMessageId(emailId, hostname)}\r\n`
  const { header, body } = partOf(content, emailId)
  const fields = `${headerLines(content)}Date: ${messageDate(now)}\r\n${messageId}MIME-Version: 1.0\r\n${header}\r\n`
  return Buffer.concat([Buffer.from(fields), ...body, Buffer.from('\r\n')])
}

interface Part {
  /** Lines with CRLF at their ends. */
  readonly header: string
  readonly body: readonly Buffer[]
}

/** Mixed of what is read and the attachments; alternative of text and HTML; HTML related to its images. */
function partOf({ html, text, attachments, inlineImages }: MessageContent, emailId: string): Part {
  const plain = text ?? (html === null ? '' : textOfHtml(html))
  const images = inlineImages.map(inlinePart)
  const read = plain !== '' || html === null ? [textPart('plain', plain)] : []
  if (html !== null) read.push(multipart('related', [textPart('html', html), ...images], emailId))
  const attached = [...(html === null ? images : []), ...attachments.map(attachedPart)]
  return multipart('mixed', [multipart('alternative', read, emailId), ...attached], emailId)
}

/** One part alone stays what it is. */
function multipart(kind: 'mixed' | 'alternative' | 'related', parts: readonly Part[], emailId: string): Part {
  const [first, second] = parts
  if (first !== undefined && second === undefined) return first
  // No line of base64 or quoted-printable begins so (RFC 2045 section 6.7).
  const boundary = `=_${kind}_${emailId}`
  const type = kind === 'related' ? 'multipart/related; type="text/html"' : `multipart/${kind}`
  const body = parts.flatMap((part) => [Buffer.from(`--${boundary}\r\n${part.header}\r\n`), ...part.body, lineEnd])
  return {
    header: `Content-Type: ${type};\r\n boundary="${boundary}"\r\n`,
    body: [...body, Buffer.from(`--${boundary}--`)],
  }
}

const lineEnd = Buffer.from('\r\n')

type Encoding = '7bit' | 'quoted-printable' | 'base64'

function textPart(subtype: 'plain' | 'html', given: string): Part {
  const text = given.replace(/\r\n|\r|\n/g, '\r\n')
  const encoding = encodingOf(text)
  return {
    header: `Content-Type: text/${subtype}; charset=utf-8\r\nContent-Transfer-Encoding: ${encoding}\r\n`,
    body: [encoded(text, encoding)],
  }
}

/** In characters. Quoted-printable of megabytes takes a second, base64 a tenth of it. */
const LARGE_TEXT = 262_144

function encodingOf(text: string): Encoding {
  if (text.length > LARGE_TEXT) return 'base64'
  if (/^[\t\r\n\x20-\x7e]*$/.test(text)) return hasLongerLines(text, 76) ? 'quoted-printable' : '7bit'
  return isMostlyAscii(text) ? 'quoted-printable' : 'base64'
}

function encoded(content: string | Buffer, encoding: Encoding): Buffer {
  switch (encoding) {
    case '7bit':
      return Buffer.from(content)
    case 'quoted-printable':
      return Buffer.from(wrapQuoted(encodeQuoted(content)), 'latin1')
    case 'base64':
      return Buffer.from(wrapBase64(encodeBase64(content)), 'latin1')
  }
}

function attachedPart({ filename, content, contentType }: Attachment): Part {
  // A message in a message must not be in base64 (RFC 2046 section 5.2.1), and may have any lines.
  const type = /^message\//i.test(contentType) ? 'application/octet-stream' : contentType
  return filePart(newNode(type, filename).setHeader('Content-Disposition', 'attachment'), content)
}

function inlinePart({ cid, filename, content, contentType }: InlineImage): Part {
  const node = newNode(contentType, filename).setHeader('Content-ID', `<${cid}>`)
  return filePart(node.setHeader('Content-Disposition', 'inline'), content)
}

/** Never written itself: a node without one above it adds fields of a whole message. */
const above = new MimeNode()

function newNode(contentType: string, filename: string | null): MimeNode {
  const options = { rootNode: above, disableFileAccess: true, disableUrlAccess: true }
  // Folded, a long run of blanks would be a line of blanks alone.
  return new MimeNode(
    contentType,
    filename === null ? options : { ...options, filename: filename.replace(/\s+/g, ' ') },
  )
}

function filePart(node: MimeNode, content: Buffer): Part {
  const header = node.setHeader('Content-Transfer-Encoding', 'base64').buildHeaders()
  return { header: `${header}\r\n`, body: [encoded(content, 'base64')] }
}
