/**
 * From the parts of a message to its bytes (RFC 5322, 2045 to 2047, 2231, 2387).
 *
 * The tree of parts is nodemailer's MimeNode, which knows encodings, boundaries and the
 * parameters of file names; it is written out in one go, because its streams cost ten
 * times as much. It is given text and bytes alone, never a path or URL. Every line ends
 * with CRLF and has at most 998 octets.
 *
 * Limits: whole in memory, and encoding some megabytes holds the event loop for tens of
 * milliseconds.
 */
import { encode as encodeBase64, wrap as wrapBase64 } from 'nodemailer/lib/base64'
import MimeNode from 'nodemailer/lib/mime-node'
import { encode as encodeQuoted, wrap as wrapQuoted } from 'nodemailer/lib/qp'
import { messageDate } from '../mail/message-date.js'
import { newMessageId } from '../mail/message-id.js'
import { headerLines } from './compose-header.js'
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
  const header = `${headerLines(content)}Date: ${messageDate(now)}\r\n${messageId}MIME-Version: 1.0\r\n`
  const pieces = [Buffer.from(header)]
  write(partsOf(content, partsOfOne(emailId)), pieces)
  pieces.push(Buffer.from('\r\n'))
  return Buffer.concat(pieces)
}

type NewPart = (contentType: string, filename?: string | null) => MimeNode

/** Makes parts of one message. The root above them is never written: it would add fields of its own. */
function partsOfOne(baseBoundary: string): NewPart {
  const rootNode = new MimeNode(false, { baseBoundary })
  const options = { rootNode, baseBoundary, disableFileAccess: true, disableUrlAccess: true }
  return (contentType, filename = null) => {
    if (filename === null) return new MimeNode(contentType, options)
    // Folded, a long run of blanks would be a line of blanks alone.
    return new MimeNode(contentType, { ...options, filename: filename.replace(/\s+/g, ' ') })
  }
}

/** Mixed of what is read and the attachments; alternative of text and HTML; HTML related to its images. */
function partsOf({ html, text, attachments, inlineImages }: MessageContent, newPart: NewPart): MimeNode {
  const plain = text ?? (html === null ? '' : textOfHtml(html))
  const images = inlineImages.map((image) => inlinePart(image, newPart))
  const read: MimeNode[] = []
  if (plain !== '' || html === null) read.push(textPart('plain', plain, newPart))
  if (html !== null) {
    read.push(multipart('multipart/related; type="text/html"', [textPart('html', html, newPart), ...images], newPart))
  }
  const mixed = [
    multipart('multipart/alternative', read, newPart),
    ...(html === null ? images : []),
    ...attachments.map((attachment) => attachedPart(attachment, newPart)),
  ]
  return multipart('multipart/mixed', mixed, newPart)
}

/** One part alone stays what it is. */
function multipart(contentType: string, parts: readonly MimeNode[], newPart: NewPart): MimeNode {
  const [first, second] = parts
  if (first !== undefined && second === undefined) return first
  const node = newPart(contentType)
  for (const part of parts) node.appendChild(part)
  return node
}

function textPart(subtype: 'plain' | 'html', text: string, newPart: NewPart): MimeNode {
  return newPart(`text/${subtype}; charset=utf-8`).setContent(text.replace(/\r\n|\r|\n/g, '\r\n'))
}

function attachedPart({ filename, content, contentType }: Attachment, newPart: NewPart): MimeNode {
  // A message in a message must not be in base64 (RFC 2046 section 5.2.1), and may have any lines.
  const type = /^message\//i.test(contentType) ? 'application/octet-stream' : contentType
  return inBase64(newPart(type, filename), content).setHeader('Content-Disposition', 'attachment')
}

function inlinePart({ cid, filename, content, contentType }: InlineImage, newPart: NewPart): MimeNode {
  const part = inBase64(newPart(contentType, filename), content)
  return part.setHeader('Content-ID', `<${cid}>`).setHeader('Content-Disposition', 'inline')
}

function inBase64(part: MimeNode, content: Buffer): MimeNode {
  return part.setContent(content).setHeader('Content-Transfer-Encoding', 'base64')
}

/** A part with all that is in it. */
function write(node: MimeNode, pieces: Buffer[]): void {
  pieces.push(Buffer.from(`${node.buildHeaders()}\r\n\r\n`))
  if (node.childNodes.length === 0) {
    pieces.push(encodedContent(node))
    return
  }
  for (const child of node.childNodes) {
    pieces.push(Buffer.from(`--${String(node.boundary)}\r\n`))
    write(child, pieces)
    pieces.push(Buffer.from('\r\n'))
  }
  pieces.push(Buffer.from(`--${String(node.boundary)}--`))
}

/** Says 7bit of text alone, and all of that is ASCII in short lines. */
function encodedContent(node: MimeNode): Buffer {
  const { content = '' } = node
  if (typeof content !== 'string' && !Buffer.isBuffer(content)) throw new Error('a part that is no text and no bytes')
  switch (node.getTransferEncoding()) {
    case 'base64':
      return Buffer.from(wrapBase64(encodeBase64(content)), 'latin1')
    case 'quoted-printable':
      return Buffer.from(wrapQuoted(encodeQuoted(content)), 'latin1')
    default:
      return Buffer.from(content)
  }
}
