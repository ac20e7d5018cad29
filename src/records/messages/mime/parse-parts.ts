/**
 * Parses a message into its bodies and attachments.
 *
 * Most messages are of a structure that is read in one pass (`simple-bodies.ts`); mailparser reads the others, in their
 * canonical form (`structure/`), because it does not see parts of messages that are written in an unusual way. It
 * converts nothing: HTML is not made into text, nor text into HTML or links, since hostile messages make such
 * conversions slow (a message of 900 KB took twelve seconds). A text of the HTML is made on request, within the limits
 * of `text-of-html.ts`.
 *
 * Limits: a header of more than 1 MB makes a message unreadable (mailparser). A multipart that has more parts than a message
 * may have, 1,000, is shown as one text. A header value is shown up to 8,192 characters.
 */
import { Readable } from 'node:stream'
import type { AttachmentStream, Headers } from 'mailparser'
import { type Header, readFieldValue } from '../../../base/mail/header-fields.js'
import { decodeHeaderText } from '../../../base/mail/header-text.js'
import type { MimeAttachment, MimeContent, MimeField, MimeParts } from './mime-parts-protocol.js'
import { type NamedText, PartParser } from './part-parser.js'
import type { JoinedBodies } from './simple-bodies.js'
import { parseSimpleContent, selectBodies } from './simple-content.js'
import { toCanonicalMessage } from './structure/canonical-message.js'

const contentTypePattern = /^[\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127}$/

const MAX_VALUE = 8_192

const options = { skipHtmlToText: true, skipTextToHtml: true, skipImageLinks: true, skipTextLinks: true }

const CHUNK_SIZE = 65_536

/** In chunks, because the parser makes many objects of each chunk and releases them before the next. */
function* chunksOf(pieces: readonly Buffer[]): Generator<Buffer> {
  for (const piece of pieces) {
    for (let at = 0; at < piece.length; at += CHUNK_SIZE) yield piece.subarray(at, at + CHUNK_SIZE)
  }
}

/** `onChunk` gets the content of each attachment, piece by piece, with the attachment's index. */
type OnChunk = (index: number, chunk: Buffer) => void

const noChunk: OnChunk = () => undefined

/** Bodies and attachments, without the header fields. */
export async function parseContent(raw: Buffer, header: Header, onChunk = noChunk): Promise<MimeContent> {
  return parseSimpleContent(raw, header) ?? parseByLibrary(raw, onChunk)
}

export async function parseParts(raw: Buffer, header: Header): Promise<MimeParts> {
  return { ...(await parseContent(raw, header)), headers: fieldsOf(raw, header) }
}

/** Exported for a comparison with `readSimpleBodies`. */
export function parseByLibrary(raw: Buffer, onChunk = noChunk): Promise<MimeContent> {
  const { pieces, ambiguous } = toCanonicalMessage(raw)
  return new Promise((resolve, reject) => {
    const attachments: MimeAttachment[] = []
    let places = 0
    const parser = new PartParser(options, (text) => collectNamedText(text, { attachments, onChunk, index: places++ }))
    let body: JoinedBodies | undefined
    let lastLineEnds = false
    parser.on('error', reject)
    parser.on('headers', (headers) => {
      lastLineEnds = endsWithMessage(headers)
    })
    parser.on('data', (part) => {
      if (part.type === 'text') body = { html: part.html || undefined, text: part.text }
      else collectAttachment(part, { attachments, onChunk, index: places++ })
    })
    parser.on('end', () => {
      const { html, text } = selectBodies(body, lastLineEnds)
      resolve({ html, text, attachments, ambiguous })
    })
    Readable.from(chunksOf(pieces)).pipe(parser)
  })
}

function contentTypeOf(headers: Headers): string | null {
  const declared = headers.get('content-type')
  return typeof declared === 'object' && 'value' in declared ? String(declared.value) : null
}

/** Where an attachment goes. Its index is known before its content, and a text may end after later ones have begun. */
interface AttachmentSink {
  readonly attachments: MimeAttachment[]
  readonly index: number
  readonly onChunk: (place: number, chunk: Buffer) => void
}

/** The parser continues when the content was read; here only its size is kept. */
function collectAttachment(part: AttachmentStream, goal: AttachmentSink): void {
  const described = {
    filename: part.filename || null,
    content_type: declaredTypeOf(part.headers, part.contentType),
    content_id: decodeHeaderText(part.cid ?? '') || null,
    disposition: part.contentDisposition?.toLowerCase() === 'inline' ? 'inline' : 'attachment',
  } as const
  const content = part.content as Readable
  collectContent(content, described, goal)
  content.on('end', () => part.release())
}

function collectNamedText({ filename, headers, content }: NamedText, goal: AttachmentSink): void {
  const id = String(headers.get('content-id') ?? '').replace(/[<>]/g, '')
  const described = {
    filename,
    content_type: declaredTypeOf(headers, 'text/plain'),
    content_id: decodeHeaderText(id) || null,
    disposition: 'inline',
  } as const
  collectContent(content, described, goal)
}

function collectContent(content: Readable, described: Omit<MimeAttachment, 'size'>, goal: AttachmentSink): void {
  const { attachments, index, onChunk } = goal
  let size = 0
  content.on('data', (chunk: Buffer) => {
    onChunk(index, chunk)
    size += chunk.length
  })
  content.on('end', () => {
    attachments[index] = { ...described, size }
  })
}

/** Finds the declared type, and not one guessed from the file name. */
function declaredTypeOf(headers: Headers, guessed: string): string {
  const type = (contentTypeOf(headers) ?? guessed).trim().toLowerCase()
  return contentTypePattern.test(type) ? type : 'application/octet-stream'
}

/**
 * The line end of a body's last line belongs to the boundary after it. If the body is the entire message, it
 * belongs to the message, and is no part of the text either.
 */
function endsWithMessage(headers: Headers): boolean {
  const type = contentTypeOf(headers) ?? ''
  const encoding = String(headers.get('content-transfer-encoding') ?? '')
  return !/^(multipart|message)\//i.test(type) && encoding.toLowerCase() !== 'base64'
}

function fieldsOf(raw: Buffer, { fields }: Header): MimeField[] {
  return fields.map((field) => ({
    name: raw.toString('latin1', field.start, field.colon).trimEnd(),
    value: decodeHeaderText(readFieldValue(raw, field), MAX_VALUE),
  }))
}
