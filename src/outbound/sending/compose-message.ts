/**
 * Composes the bytes of a message from its parts (RFC 5322, 2045 to 2047, 2231, 2387).
 *
 * nodemailer's MailComposer makes the tree of parts, with encodings, boundaries and file name parameters. It gets only
 * text and bytes, and may open neither files nor URLs. The tree is written at once, because its streams cost ten times
 * as much (docs/decisions/composing.md). Every line ends with CRLF and has at most 998 octets.
 *
 * Limits: the whole message is in memory. One of the largest size takes some tenths of a second, so large content is
 * composed on a thread (`compose-thread`).
 */
import MailComposer from 'nodemailer/lib/mail-composer'
import type MimeNode from 'nodemailer/lib/mime-node'
import { encode as encodeQuoted, wrap as wrapQuoted } from 'nodemailer/lib/qp'
import { encodeBase64Lines } from '../../base/mail/base64-lines.js'
import { checkLinesInSteps } from '../../base/mail/line-check.js'
import { withCrlf } from '../../base/mail/line-ends.js'
import { createMessageId } from '../../base/mail/message-id.js'
import { concatWithHeadroom } from '../../base/platform/memory/byte-pieces.js'
import { freeMemory } from '../../base/platform/memory/free-memory.js'
import { textOfHtml } from '../../records/messages/mime/text-of-html.js'
import { composeHeader } from './compose-header.js'
import { type ComposedMessage, composePlain } from './compose-plain.js'
import type { Attachment, InlineImage, MessageContent } from './message-content.js'
import type { BodyEncoding, EncodedBody } from './token-places.js'

interface ComposeContext {
  readonly emailId: string
  readonly hostname: string
  readonly now: number
}

export function composeMessage(content: MessageContent, { emailId, hostname, now }: ComposeContext): ComposedMessage {
  const isMessageId = ({ name }: { readonly name: string }): boolean => name.toLowerCase() === 'message-id'
  const messageId = content.fields.find(isMessageId)?.value ?? createMessageId(emailId, hostname)
  const fields = content.fields.filter((field) => !isMessageId(field))
  const body = fields.length === content.fields.length ? content : { ...content, fields }
  const { text, html } = buildBodies(content)
  const isPlain = content.attachments.length + content.inlineImages.length === 0
  if (isPlain && typeof text === 'string' && typeof html === 'string') {
    return composePlain({ content: body, messageId, text, html, boundary: emailId, now })
  }
  return composeMimeTree(body, { text, html, messageId, date: new Date(now), baseBoundary: emailId })
}

interface Bodies {
  readonly text: Body
  readonly html: Body
}

/** Composes any message. The boundaries contain the email's id, which a client cannot predict. */
export function composeMimeTree(content: MessageContent, rest: Bodies & Mail): ComposedMessage {
  const tree = new MailComposer({
    ...rest,
    attachments: [...content.inlineImages.map(toInlinePart), ...content.attachments.map(toAttachmentPart)],
    disableFileAccess: true,
    disableUrlAccess: true,
  }).compile()
  const pieces: Piece[] = [{ bytes: Buffer.from(composeHeader(content)), encoding: null }]
  writeNode(tree, pieces)
  pieces.push(toPiece('\r\n'))
  const parts = pieces.map(({ bytes }) => bytes)
  const composed = { raw: concatWithHeadroom(parts), bodies: findBodies(pieces, countBodies(rest)) }
  freeMemory(...parts)
  return composed
}

interface Piece {
  readonly bytes: Buffer
  /** The encoding of a part's content. Null if the part has no content. */
  readonly encoding: BodyEncoding | null
}

function toPiece(text: string): Piece {
  return { bytes: Buffer.from(text), encoding: null }
}

/** Finds text and HTML, which are the first parts of the tree, before all files. */
function findBodies(pieces: readonly Piece[], count: number): readonly EncodedBody[] {
  let startFromEnd = pieces.reduce((sum, { bytes }) => sum + bytes.length, 0)
  const bodies: EncodedBody[] = []
  for (const { bytes, encoding } of pieces) {
    const endFromEnd = startFromEnd - bytes.length
    if (encoding !== null && bodies.length < count) bodies.push({ encoding, startFromEnd, endFromEnd })
    startFromEnd = endFromEnd
  }
  return bodies
}

function countBodies({ text, html }: Bodies): number {
  return [text, html].filter((body) => body !== '').length
}

/** Makes the bodies. Line ends become CRLF, which quoted-printable keeps. */
function buildBodies({ html, text }: MessageContent): Bodies {
  const plain = text ?? (html === null ? '' : textOfHtml(html))
  return { text: buildBody(plain), html: buildBody(html ?? '') }
}

type Body = string | { readonly content: Buffer; readonly contentTransferEncoding: 'base64' }

/** Longer text is sent in base64, because quoted-printable of megabytes takes a second, and base64 a tenth. */
const LARGE_TEXT = 262_144

function buildBody(text: string): Body {
  if (text.length <= LARGE_TEXT) return text.replace(/\r\n|\r|\n/g, '\r\n')
  return { content: withCrlf(Buffer.from(text)), contentTransferEncoding: 'base64' }
}

type Options = NonNullable<ConstructorParameters<typeof MailComposer>[0]>
type Mail = Pick<Options, 'messageId' | 'date' | 'baseBoundary'>
type Part = Options['attachments'] extends readonly (infer One)[] | undefined ? One : never

function toAttachmentPart({ filename, content, contentType }: Attachment): Part {
  const part = { filename: collapseBlanks(filename), contentDisposition: 'attachment' } as const
  if (!/^message\//i.test(contentType)) return { ...part, content, contentType }
  const message = /^message\/rfc822$/i.test(contentType) ? withCrlf(content) : null
  const encoding = message === null ? null : findPlainEncoding(message)
  if (message === null || encoding === null) return { ...part, content, contentType: 'application/octet-stream' }
  return { ...part, content: message, contentType, contentTransferEncoding: encoding }
}

/**
 * Finds the encoding of a message/* part, which must not be in base64 (RFC 2046 section 5.2.1). Returns null if its
 * lines fit no other encoding.
 */
function findPlainEncoding(bytes: Buffer): '7bit' | '8bit' | null {
  const steps = checkLinesInSteps(bytes, { maxLineOctets: 998 })
  let step = steps.next()
  while (step.done !== true) step = steps.next()
  return step.value.kind !== 'ok' ? null : step.value.has8bit ? '8bit' : '7bit'
}

function toInlinePart({ cid, filename, content, contentType }: InlineImage): Part {
  const name = filename === null ? false : collapseBlanks(filename)
  return { cid, filename: name, content, contentType, contentDisposition: 'inline' }
}

/** Makes each run of blanks one blank, because a long run would be folded into a line of only blanks. */
function collapseBlanks(filename: string): string {
  return filename.replace(/\s+/g, ' ')
}

/** Writes a part with its children. No two pieces share memory. */
function writeNode(node: MimeNode, pieces: Piece[]): void {
  pieces.push(toPiece(`${node.buildHeaders()}\r\n\r\n`))
  if (node.childNodes.length === 0) {
    pieces.push(encodeContent(node))
    return
  }
  for (const child of node.childNodes) {
    pieces.push(toPiece(`--${String(node.boundary)}\r\n`))
    writeNode(child, pieces)
    pieces.push(toPiece('\r\n'))
  }
  pieces.push(toPiece(`--${String(node.boundary)}--`))
}

/** Encodes the content of a part. 7bit occurs only for text, which is ASCII in short lines then. */
function encodeContent(node: MimeNode): Piece {
  const { content = '' } = node
  if (typeof content !== 'string' && !Buffer.isBuffer(content))
    throw new Error('the content of a part is neither text nor bytes')
  switch (node.getTransferEncoding()) {
    case 'base64':
      return {
        bytes: encodeBase64Lines(typeof content === 'string' ? Buffer.from(content) : content),
        encoding: 'base64',
      }
    case 'quoted-printable':
      return { bytes: Buffer.from(wrapQuoted(encodeQuoted(content)), 'latin1'), encoding: 'quoted-printable' }
    default:
      return { bytes: Buffer.from(content), encoding: '7bit' }
  }
}
