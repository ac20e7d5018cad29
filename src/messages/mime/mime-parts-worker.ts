/**
 * The process that takes messages apart (RFC 2045 to 2047, 2231). It reads untrusted bytes: it may be slow, run
 * out of memory or die, and only its own message is affected.
 *
 * It sends `ready` once, then a result for each request. It ends with its parent: a busy event loop would not
 * notice that, so a thread watches (`mime-parts-watch-worker.ts`).
 *
 * The parser converts nothing: HTML is not made into text, nor text into HTML or links, since hostile messages
 * make such conversions slow (a message of 900 KB took twelve seconds). A text of the HTML is made on request,
 * within the limits of `text-of-html.ts`.
 *
 * The header is scanned once for parts, fields and everything that is made of the message.
 *
 * Limits, of mailparser: more than 1,000 parts or a header of more than 1 MB make a message unreadable. A header
 * value is shown up to 8,192 characters.
 */
import { isUtf8 } from 'node:buffer'
import { Readable } from 'node:stream'
import { Worker } from 'node:worker_threads'
import type { AttachmentStream, Headers, MessageText } from 'mailparser'
import { type Header, readFieldValue, scanHeader } from '../../mail/header-fields.js'
import { decodeHeaderText } from '../../mail/header-text.js'
import { freeMemory } from '../../platform/memory/free-memory.js'
import { createFrameReader, writeFrame } from '../../platform/processes/byte-frames.js'
import { openParentStream, raiseOomScore } from '../../platform/processes/child-process.js'
import type {
  ContentAnalyzer,
  FromMimeProcess,
  MessageDigester,
  MimeAttachment,
  MimeField,
  MimeParts,
  MimeRequest,
  ParsedMessage,
  ProcessData,
  ToMimeProcess,
} from './mime-parts-protocol.js'
import { type NamedText, PartParser } from './part-parser.js'
import { textOfHtml } from './text-of-html.js'

const contentTypePattern = /^[\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127}$/

const MAX_VALUE = 8_192

const options = { skipHtmlToText: true, skipTextToHtml: true, skipImageLinks: true, skipTextLinks: true }

const CHUNK_SIZE = 65_536

/** In chunks, because the parser makes many objects of each chunk and releases them before the next. */
function* chunksOf(raw: Buffer): Generator<Buffer> {
  for (let at = 0; at < raw.length; at += CHUNK_SIZE) yield raw.subarray(at, at + CHUNK_SIZE)
}

/** `onChunk` gets the content of each attachment, piece by piece, with the attachment's index. */
function parseParts(raw: Buffer, header: Header, onChunk: (index: number, chunk: Buffer) => void): Promise<MimeParts> {
  return new Promise((resolve, reject) => {
    const attachments: MimeAttachment[] = []
    let places = 0
    const parser = new PartParser(options, (text) => collectNamedText(text, { attachments, onChunk, index: places++ }))
    let body: MessageText | undefined
    let declared: Headers | undefined
    let lastLineEnds = false
    parser.on('error', reject)
    parser.on('headers', (headers) => {
      declared = headers
      lastLineEnds = endsWithMessage(headers)
    })
    parser.on('data', (part) => {
      if (part.type === 'text') body = part
      else collectAttachment(part, { attachments, onChunk, index: places++ })
    })
    parser.on('end', () => {
      const { html, text } = selectBodies(body, lastLineEnds)
      resolve({
        html,
        text: text ?? readUnsplitText(raw, header, declared),
        headers: fieldsOf(raw, header),
        attachments,
      })
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

/** A body is null if the message has only the other one, or if it is blank. */
function selectBodies(body: MessageText | undefined, lastLineEnds: boolean): Pick<MimeParts, 'html' | 'text'> {
  const toBody = (text: string | boolean | undefined): string | null => {
    if (typeof text !== 'string' || text.trim() === '') return null
    return lastLineEnds ? text.replace(/\n$/, '') : text
  }
  return { html: toBody(body?.html), text: toBody(body?.text) }
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

/** A message to the parent, with the bytes of its frame. */
interface OutgoingFrame {
  readonly message: FromMimeProcess<unknown, unknown>
  readonly bytes?: readonly Buffer[]
}

/**
 * The bytes of one attachment, in one piece. No encoding makes bytes of fewer characters, so a buffer of the
 * message's size is enough; pages that are not written to take no memory.
 */
async function readAttachment(raw: Buffer, header: Header, index: number): Promise<OutgoingFrame> {
  const bytes = Buffer.allocUnsafeSlow(raw.length)
  let size = 0
  const parts = await parseParts(raw, header, (place, chunk) => {
    if (place === index) size += chunk.copy(bytes, size)
  })
  const attachment = parts.attachments[index]
  if (attachment === undefined) return { message: { kind: 'none' } }
  if (attachment.size !== size) throw new Error('an attachment is larger than its message')
  return { message: { kind: 'attachment', attachment }, bytes: [bytes.subarray(0, size)] }
}

type SendFrame = (frame: OutgoingFrame) => void

async function runRequest(raw: Buffer, request: MimeRequest, sendFrame: SendFrame): Promise<OutgoingFrame> {
  if (request.kind === 'digested') {
    const { messageDigester } = (await import(request.module)) as DigesterModule
    return { message: { kind: 'digested', digest: messageDigester.digest(raw, request.facts) } }
  }
  const header = scanHeader(raw)
  if (request.kind === 'attachment') return readAttachment(raw, header, request.index)
  const parts = await parseParts(raw, header, () => undefined)
  if (request.kind === 'analyzed') return analyze({ raw, header, parts }, request.facts, sendFrame)
  return request.kind === 'readable'
    ? toPartsFrame('readable', withTextOfHtml(parts), encodeJson)
    : toPartsFrame('parts', parts, encodeUtf8)
}

interface AnalyzerModule {
  readonly contentAnalyzer: ContentAnalyzer<unknown, unknown, unknown>
}
interface DigesterModule {
  readonly messageDigester: MessageDigester<unknown, unknown>
}

/** An analysis that throws costs the message its analysis, not its summary. */
async function analyze(message: ParsedMessage, facts: unknown, sendFrame: SendFrame): Promise<OutgoingFrame> {
  const { analysisModule } = data
  if (analysisModule === null) throw new Error('this process was given no analyzer')
  const { contentAnalyzer } = (await import(analysisModule)) as AnalyzerModule
  sendFrame({ message: { kind: 'summarized', summary: contentAnalyzer.summarize(message) } })
  try {
    return { message: { kind: 'analyzed', analysis: contentAnalyzer.analyze(message, facts) } }
  } catch {
    return { message: { kind: 'analyzed', analysis: null } }
  }
}

function toPartsFrame(
  kind: 'parts' | 'readable',
  parts: MimeParts,
  encode: (body: string) => readonly Buffer[],
): OutgoingFrame {
  const { headers, attachments } = parts
  const [html, text] = [parts.html, parts.text].map((body) => (body === null ? null : encode(body)))
  const bodies = { html: lengthOf(html), text: lengthOf(text) }
  return { message: { kind, parts: { headers, attachments }, bodies }, bytes: [...(html ?? []), ...(text ?? [])] }
}

function lengthOf(pieces: readonly Buffer[] | null | undefined): number | null {
  return pieces?.reduce((sum, { length }) => sum + length, 0) ?? null
}

function encodeUtf8(body: string): readonly Buffer[] {
  return [Buffer.from(body)]
}

/** Characters that are encoded at once, so that the heap does not hold a large body twice. */
const JSON_CHUNK = 65_536

/** As a JSON text. A surrogate pair that two pieces share becomes two escapes, which are one character to a reader. */
function encodeJson(body: string): readonly Buffer[] {
  const pieces = Array.from({ length: Math.ceil(body.length / JSON_CHUNK) }, (_, place) => {
    const piece = body.slice(place * JSON_CHUNK, (place + 1) * JSON_CHUNK)
    return Buffer.from(JSON.stringify(piece).slice(1, -1))
  })
  return [QUOTE, ...pieces, QUOTE]
}

const QUOTE = Buffer.from('"')

function withTextOfHtml(parts: MimeParts): MimeParts {
  const { html, text } = parts
  return text === null && html !== null ? { ...parts, text: textOfHtml(html) || null } : parts
}

async function handleMessage(raw: Buffer, { request }: ToMimeProcess, sendFrame: SendFrame): Promise<void> {
  try {
    sendFrame(await runRequest(raw, request, sendFrame))
    freeMemory(raw)
  } catch (error) {
    sendFrame({ message: { kind: 'broken', message: error instanceof Error ? error.message : String(error) } })
  }
}

raiseOomScore()
const data = JSON.parse(process.argv[2] ?? '') as ProcessData
new Worker(new URL('./mime-parts-watch-worker.js', import.meta.url), {
  workerData: { parent: process.ppid, resident: data.resident },
  resourceLimits: { maxOldGenerationSizeMb: 8, maxYoungGenerationSizeMb: 1, stackSizeMb: 1 },
}).unref()
if (data.analysisModule !== null) await import(data.analysisModule)
const stream = openParentStream()
const say: SendFrame = ({ message, bytes }) => writeFrame(stream, message, bytes)
const frameLimits = { value: 16_777_216, bytes: 1_073_741_824 }
const read = createFrameReader<ToMimeProcess>(frameLimits, (message, raw) => void handleMessage(raw, message, say))
stream.on('data', read)
stream.on('error', () => process.exit(0))
stream.on('close', () => process.exit(0))
say({ message: { kind: 'ready' } })
