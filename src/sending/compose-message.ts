/**
 * From the parts of a message to its bytes (RFC 5322, 2045 to 2047, 2231, 2387).
 *
 * nodemailer's MailComposer makes the tree of parts, with encodings, boundaries and the
 * parameters of file names; it is given text and bytes alone, and may open neither files
 * nor URLs. The tree is written out in one go, because its streams cost ten times as
 * much. Every line ends with CRLF and has at most 998 octets.
 *
 * Limits: whole in memory; encoding a message of the largest size holds the event loop for
 * some tenths of a second.
 */
import MailComposer from 'nodemailer/lib/mail-composer'
import type MimeNode from 'nodemailer/lib/mime-node'
import { encode as encodeQuoted, wrap as wrapQuoted } from 'nodemailer/lib/qp'
import { withCrlf } from '../mail/line-ends.js'
import { createMessageId } from '../mail/message-id.js'
import { textOfHtml } from '../messages/mime/text-of-html.js'
import { encodeBase64Lines } from './base64-lines.js'
import { composeHeader } from './compose-header.js'
import { composePlain } from './compose-plain.js'
import type { Attachment, InlineImage, MessageContent } from './message-content.js'

export interface ComposeContext {
  readonly emailId: string
  readonly hostname: string
  readonly now: number
}

export function composeMessage(content: MessageContent, { emailId, hostname, now }: ComposeContext): Buffer {
  const isMessageId = ({ name }: { readonly name: string }): boolean => name.toLowerCase() === 'message-id'
  const messageId = content.fields.find(isMessageId)?.value ?? createMessageId(emailId, hostname)
  const fields = content.fields.filter((field) => !isMessageId(field))
  const whole = { ...content, fields }
  const { text, html } = buildBodies(content)
  const isPlain = content.attachments.length + content.inlineImages.length === 0
  if (isPlain && typeof text === 'string' && typeof html === 'string') {
    return composePlain({ content: whole, messageId, text, html, boundary: emailId, now })
  }
  return composeMimeTree(whole, { text, html, messageId, date: new Date(now), baseBoundary: emailId })
}

interface Bodies {
  readonly text: Body
  readonly html: Body
}

/** The general way. Its boundaries are made of the id, which nobody can know before. */
export function composeMimeTree(content: MessageContent, rest: Bodies & Mail): Buffer {
  const tree = new MailComposer({
    ...rest,
    attachments: [...content.inlineImages.map(toInlinePart), ...content.attachments.map(toAttachmentPart)],
    disableFileAccess: true,
    disableUrlAccess: true,
  }).compile()
  const pieces = [Buffer.from(composeHeader(content))]
  writeNode(tree, pieces)
  pieces.push(Buffer.from('\r\n'))
  return Buffer.concat(pieces)
}

/** Line ends are CRLF, so that quoted-printable keeps them. */
function buildBodies({ html, text }: MessageContent): Bodies {
  const plain = text ?? (html === null ? '' : textOfHtml(html))
  return { text: buildBody(plain), html: buildBody(html ?? '') }
}

type Body = string | { readonly content: Buffer; readonly contentTransferEncoding: 'base64' }

/** In characters. Quoted-printable of megabytes takes a second, base64 a tenth of it. */
const LARGE_TEXT = 262_144

function buildBody(text: string): Body {
  if (text.length <= LARGE_TEXT) return text.replace(/\r\n|\r|\n/g, '\r\n')
  return { content: withCrlf(Buffer.from(text)), contentTransferEncoding: 'base64' }
}

type Options = NonNullable<ConstructorParameters<typeof MailComposer>[0]>
type Mail = Pick<Options, 'messageId' | 'date' | 'baseBoundary'>
type Part = Options['attachments'] extends readonly (infer One)[] | undefined ? One : never

function toAttachmentPart({ filename, content, contentType }: Attachment): Part {
  // A message in a message must not be in base64 (RFC 2046 section 5.2.1), and may have any lines.
  const type = /^message\//i.test(contentType) ? 'application/octet-stream' : contentType
  return { filename: collapseBlanks(filename), content, contentType: type, contentDisposition: 'attachment' }
}

function toInlinePart({ cid, filename, content, contentType }: InlineImage): Part {
  const name = filename === null ? false : collapseBlanks(filename)
  return { cid, filename: name, content, contentType, contentDisposition: 'inline' }
}

/** Folded, a long run of blanks would be a line of blanks alone. */
function collapseBlanks(filename: string): string {
  return filename.replace(/\s+/g, ' ')
}

/** A part with all that is in it. */
function writeNode(node: MimeNode, pieces: Buffer[]): void {
  pieces.push(Buffer.from(`${node.buildHeaders()}\r\n\r\n`))
  if (node.childNodes.length === 0) {
    pieces.push(encodeContent(node))
    return
  }
  for (const child of node.childNodes) {
    pieces.push(Buffer.from(`--${String(node.boundary)}\r\n`))
    writeNode(child, pieces)
    pieces.push(Buffer.from('\r\n'))
  }
  pieces.push(Buffer.from(`--${String(node.boundary)}--`))
}

/** Says 7bit of text alone, and all of that is ASCII in short lines. */
function encodeContent(node: MimeNode): Buffer {
  const { content = '' } = node
  if (typeof content !== 'string' && !Buffer.isBuffer(content)) throw new Error('a part that is no text and no bytes')
  switch (node.getTransferEncoding()) {
    case 'base64':
      return encodeBase64Lines(typeof content === 'string' ? Buffer.from(content) : content)
    case 'quoted-printable':
      return Buffer.from(wrapQuoted(encodeQuoted(content)), 'latin1')
    default:
      return Buffer.from(content)
  }
}
