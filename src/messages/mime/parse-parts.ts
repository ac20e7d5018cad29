/**
 * Parses a message into its bodies and attachments.
 *
 * Most messages are of a structure that is read in one pass (`simple-bodies.ts`); mailparser reads the others. It
 * converts nothing: HTML is not made into text, nor text into HTML or links, since hostile messages make such
 * conversions slow (a message of 900 KB took twelve seconds). A text of the HTML is made on request, within the limits
 * of `text-of-html.ts`.
 *
 * Limits, of mailparser: more than 1,000 parts or a header of more than 1 MB make a message unreadable. A header
 * value is shown up to 8,192 characters.
 */
import { isUtf8 } from 'node:buffer'
import { Readable } from 'node:stream'
import type { AttachmentStream, Headers } from 'mailparser'
import { type Header, readFieldValue } from '../../mail/header-fields.js'
import { decodeHeaderText } from '../../mail/header-text.js'
import type { MimeAttachment, MimeContent, MimeField, MimeParts } from './mime-parts-protocol.js'
import { type NamedText, PartParser } from './part-parser.js'
import type { JoinedBodies } from './simple-bodies.js'
import { parseSimpleContent, selectBodies } from './simple-content.js'

const contentTypePattern = /^[\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127}$/

const MAX_VALUE = 8_192

const options = { skipHtmlToText: true, skipTextToHtml: true, skipImageLinks: true, skipTextLinks: true }

const CHUNK_SIZE = 65_536

/** In chunks, because the parser makes many objects of each chunk and releases them before the next. */
function* chunksOf(raw: Buffer): Generator<Buffer> {
  for (let at = 0; at < raw.length; at += CHUNK_SIZE) yield raw.subarray(at, at + CHUNK_SIZE)
}

/** `onChunk` gets the content of each attachment, piece by piece, with the attachment's index. */
type OnChunk = (index: number, chunk: Buffer) => void

const noChunk: OnChunk = () => undefined

/** Bodies and attachments, without the header fields. */
export async function parseContent(raw: Buffer, header: Header, onChunk = noChunk): Promise<MimeContent> {
  return parseSimpleContent(raw, header) ?? parseByLibrary(raw, header, onChunk)
}

export async function parseParts(raw: Buffer, header: Header): Promise<MimeParts> {
  return { ...(await parseContent(raw, header)), headers: fieldsOf(raw, header) }
}

/** Exported for a comparison with `readSimpleBodies`. */
export function parseByLibrary(raw: Buffer, header: Header, onChunk = noChunk): Promise<MimeContent> {
  return new Promise((resolve, reject) => {
    const attachments: MimeAttachment[] = []
    let places = 0
    const parser = new PartParser(options, (text) => collectNamedText(text, { attachments, onChunk, index: places++ }))
    let body: JoinedBodies | undefined
    let declared: Headers | undefined
    let lastLineEnds = false
    parser.on('error', reject)
    parser.on('headers', (headers) => {
      declared = headers
      lastLineEnds = endsWithMessage(headers)
    })
    parser.on('data', (part) => {
      if (part.type === 'text') body = { html: part.html || undefined, text: part.text }
      else collectAttachment(part, { attachments, onChunk, index: places++ })
    })
    parser.on('end', () => {
      const { html, text } = selectBodies(body, lastLineEnds)
      resolve({ html, text: text ?? readUnsplitText(raw, header, declared), attachments })
    })
    Readable.from(chunksOf(raw)).pipe(parser)
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

/** As declared, not as guessed from the file name. */
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

/**
 * The content of a multipart whose boundary is missing or never comes: the parser finds no part in it, but people
 * should see what is there. Null if its parts begin.
 */
function readUnsplitText(raw: Buffer, { bodyStart }: Header, headers: Headers | undefined): string | null {
  const declared = headers?.get('content-type')
  if (typeof declared !== 'object' || !('params' in declared) || !/^multipart\//i.test(declared.value)) return null
  const { boundary = '' } = declared.params
  const body = raw.subarray(bodyStart)
  if (boundary !== '' && (body.includes(`\n--${boundary}`) || body.indexOf(`--${boundary}`) === 0)) return null
  const text = (isUtf8(body) ? body.toString() : body.toString('latin1')).replaceAll('\r\n', '\n')
  return text.trim() === '' ? null : text.replace(/\n$/, '')
}

function fieldsOf(raw: Buffer, { fields }: Header): MimeField[] {
  return fields.map((field) => ({
    name: raw.toString('latin1', field.start, field.colon).trimEnd(),
    value: decodeHeaderText(readFieldValue(raw, field), MAX_VALUE),
  }))
}
