/**
 * The process that takes messages apart (RFC 2045 to 2047, 2231). It reads strangers' bytes: it
 * may be slow, run out of memory or die, and only its own message suffers.
 *
 * Once it says `ready`; then to each message `parts` or `broken`; where the bytes of one attachment
 * are asked for, `attachment` or `none`. It ends when its parent does: what it has in hand may keep
 * its event loop from noticing, so a thread watches (`mime-parts-watch-worker.ts`).
 *
 * The parser converts nothing: HTML is not made into text, nor text into HTML or links, which is
 * where hostile messages make parsers burn (a mail of 900 KB held one up for twelve seconds). A
 * text of the HTML is made for who asks for it, within the limits of `text-of-html.ts`.
 *
 * Limits, of mailparser: more than 1,000 parts or a header of more than 1 MB make a message
 * unreadable. A header value is shown up to 8,192 characters.
 */
import { isUtf8 } from 'node:buffer'
import { Readable } from 'node:stream'
import { Worker } from 'node:worker_threads'
import type { AttachmentStream, Headers, MessageText } from 'mailparser'
import { fieldValue, scanHeader } from '../../mail/header-fields.js'
import { headerText } from '../../mail/header-text.js'
import { freeMemory } from '../../platform/memory/free-memory.js'
import { frameReader, writeFrame } from '../../platform/processes/byte-frames.js'
import { beFirstOutOfMemory } from '../../platform/processes/oom-score.js'
import { parentWire } from '../../platform/processes/parent-wire.js'
import type {
  Digest,
  FromMimeProcess,
  MimeAttachment,
  MimeField,
  MimeOutline,
  MimeParts,
  ProcessData,
  Study,
  ToMimeProcess,
  Wanted,
} from './mime-parts-protocol.js'
import { type NamedText, PartParser } from './part-parser.js'
import { textOfHtml } from './text-of-html.js'

const contentType = /^[\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127}$/

const MAX_VALUE = 8_192

const options = { skipHtmlToText: true, skipTextToHtml: true, skipImageLinks: true, skipTextLinks: true }

const SLICE = 65_536

/** The parser makes many objects of each piece that it is given, and lets go of them before the next one. */
function* slices(raw: Buffer): Generator<Buffer> {
  for (let at = 0; at < raw.length; at += SLICE) yield raw.subarray(at, at + SLICE)
}

/** `take` gets the content of each attachment, piece by piece, with the attachment's place. */
function partsOf(raw: Buffer, take: (place: number, chunk: Buffer) => void): Promise<MimeParts> {
  return new Promise((resolve, reject) => {
    const attachments: MimeAttachment[] = []
    let places = 0
    const parser = new PartParser(options, (text) => takeNamedText(text, { attachments, take, place: places++ }))
    let body: MessageText | undefined
    let header: Headers | undefined
    let lastLineEnds = false
    parser.on('error', reject)
    parser.on('headers', (headers) => {
      header = headers
      lastLineEnds = endsWithTheMessage(headers)
    })
    parser.on('data', (part) => {
      if (part.type === 'text') body = part
      else takeAttachment(part, { attachments, take, place: places++ })
    })
    parser.on('end', () => {
      const { html, text } = bodies(body, lastLineEnds)
      resolve({ html, text: text ?? undividedText(raw, header), headers: fieldsOf(raw), attachments })
    })
    Readable.from(slices(raw)).pipe(parser)
  })
}

function contentTypeOf(headers: Headers): string | null {
  const declared = headers.get('content-type')
  return typeof declared === 'object' && 'value' in declared ? String(declared.value) : null
}

/** Where an attachment goes: its place is known before its content, and a text ends when others have begun. */
interface Goal {
  readonly attachments: MimeAttachment[]
  readonly place: number
  readonly take: (place: number, chunk: Buffer) => void
}

/** The parser goes on once the content was read; here only its size is kept. */
function takeAttachment(part: AttachmentStream, goal: Goal): void {
  const described = {
    filename: part.filename || null,
    content_type: declaredType(part.headers, part.contentType),
    content_id: headerText(part.cid ?? '') || null,
    disposition: part.contentDisposition?.toLowerCase() === 'inline' ? 'inline' : 'attachment',
  } as const
  takeContent(part.content as Readable, described, goal)
  ;(part.content as Readable).on('end', () => part.release())
}

function takeNamedText({ filename, headers, content }: NamedText, goal: Goal): void {
  const id = String(headers.get('content-id') ?? '').replace(/[<>]/g, '')
  const described = {
    filename,
    content_type: declaredType(headers, 'text/plain'),
    content_id: headerText(id) || null,
    disposition: 'inline',
  } as const
  takeContent(content, described, goal)
}

function takeContent(content: Readable, described: Omit<MimeAttachment, 'size'>, goal: Goal): void {
  const { attachments, place, take } = goal
  let size = 0
  content.on('data', (chunk: Buffer) => {
    take(place, chunk)
    size += chunk.length
  })
  content.on('end', () => {
    attachments[place] = { ...described, size }
  })
}

/** As the message says, not as the name of the file lets guess. */
function declaredType(headers: Headers, guessed: string): string {
  const type = (contentTypeOf(headers) ?? guessed).trim().toLowerCase()
  return contentType.test(type) ? type : 'application/octet-stream'
}

/**
 * The line end of a body's last line belongs to the boundary behind it. Where there is none,
 * because the body is all of the message, it is the message's own, and no part of the text.
 */
function endsWithTheMessage(headers: Headers): boolean {
  const type = contentTypeOf(headers) ?? ''
  const encoding = String(headers.get('content-transfer-encoding') ?? '')
  return !/^(multipart|message)\//i.test(type) && encoding.toLowerCase() !== 'base64'
}

/** Null where a message has the other one alone, or nothing in it. */
function bodies(body: MessageText | undefined, lastLineEnds: boolean): Pick<MimeParts, 'html' | 'text'> {
  const shown = (text: string | boolean | undefined): string | null => {
    if (typeof text !== 'string' || text.trim() === '') return null
    return lastLineEnds ? text.replace(/\n$/, '') : text
  }
  return { html: shown(body?.html), text: shown(body?.text) }
}

/**
 * What a multipart holds whose boundary is missing or never comes: the parser finds nothing in
 * it, and whoever reads shall see what is there all the same. Null where its parts begin.
 */
function undividedText(raw: Buffer, headers: Headers | undefined): string | null {
  const declared = headers?.get('content-type')
  if (typeof declared !== 'object' || !('params' in declared) || !/^multipart\//i.test(declared.value)) return null
  const { boundary = '' } = declared.params
  const body = raw.subarray(scanHeader(raw).bodyStart)
  if (boundary !== '' && (body.includes(`\n--${boundary}`) || body.indexOf(`--${boundary}`) === 0)) return null
  const text = (isUtf8(body) ? body.toString() : body.toString('latin1')).replaceAll('\r\n', '\n')
  return text.trim() === '' ? null : text.replace(/\n$/, '')
}

function fieldsOf(raw: Buffer): MimeField[] {
  return scanHeader(raw).fields.map((field) => ({
    name: raw.toString('latin1', field.start, field.colon).trimEnd(),
    value: headerText(fieldValue(raw, field), MAX_VALUE),
  }))
}

/** What is said, with the bytes of its frame. */
interface Answer {
  readonly said: FromMimeProcess
  readonly bytes?: readonly Buffer[]
}

/**
 * The bytes of one attachment, in one piece. No encoding makes bytes of fewer characters, so the
 * message's size is enough; what is not written to costs nothing.
 */
async function attachmentOf(raw: Buffer, wanted: number): Promise<Answer> {
  const bytes = Buffer.allocUnsafeSlow(raw.length)
  let size = 0
  const parts = await partsOf(raw, (place, chunk) => {
    if (place === wanted) size += chunk.copy(bytes, size)
  })
  const attachment = parts.attachments[wanted]
  if (attachment === undefined) return { said: { kind: 'none' } }
  if (attachment.size !== size) throw new Error('an attachment is larger than its message')
  return { said: { kind: 'attachment', attachment }, bytes: [bytes.subarray(0, size)] }
}

type Say = (answer: Answer) => void

async function answerTo(raw: Buffer, wanted: Wanted, say: Say): Promise<Answer> {
  if (wanted.kind === 'attachment') return attachmentOf(raw, wanted.place)
  if (wanted.kind === 'digested') {
    const { digest } = (await import(wanted.module)) as { readonly digest: Digest }
    return { said: { kind: 'digested', digest: digest(raw, wanted.facts) } }
  }
  const parts = await partsOf(raw, () => undefined)
  if (wanted.kind === 'studied') {
    say({ said: { kind: 'outlined', outline: outlineOf(parts) } })
    return { said: { kind: 'studied', study: await studied(raw, parts, wanted.facts) } }
  }
  return wanted.kind === 'readable'
    ? partsAnswer('readable', readable(parts), jsonOf)
    : partsAnswer('parts', parts, utf8Of)
}

function outlineOf({ html, text, attachments }: MimeParts): MimeOutline {
  return { hasHtml: html !== null, hasText: text !== null, attachments: attachments.length }
}

function partsAnswer(
  kind: 'parts' | 'readable',
  parts: MimeParts,
  encode: (body: string) => readonly Buffer[],
): Answer {
  const { headers, attachments } = parts
  const [html, text] = [parts.html, parts.text].map((body) => (body === null ? null : encode(body)))
  const bodies = { html: lengthOf(html), text: lengthOf(text) }
  return { said: { kind, parts: { headers, attachments }, bodies }, bytes: [...(html ?? []), ...(text ?? [])] }
}

function lengthOf(pieces: readonly Buffer[] | null | undefined): number | null {
  return pieces?.reduce((sum, { length }) => sum + length, 0) ?? null
}

function utf8Of(body: string): readonly Buffer[] {
  return [Buffer.from(body)]
}

/** Characters that are made JSON at once, so that the heap does not hold a large body once more. */
const JSON_PIECE = 65_536

/** As a JSON text. A pair of surrogates that two pieces share is two escapes in it, and one character to a reader. */
function jsonOf(body: string): readonly Buffer[] {
  const pieces = Array.from({ length: Math.ceil(body.length / JSON_PIECE) }, (_, place) => {
    const piece = body.slice(place * JSON_PIECE, (place + 1) * JSON_PIECE)
    return Buffer.from(JSON.stringify(piece).slice(1, -1))
  })
  return [QUOTE, ...pieces, QUOTE]
}

const QUOTE = Buffer.from('"')

/** A study that throws costs the message its study, not its parts. */
async function studied(raw: Buffer, parts: MimeParts, facts: unknown): Promise<unknown> {
  try {
    return (await theStudy())(raw, parts, facts)
  } catch {
    return null
  }
}

async function theStudy(): Promise<Study> {
  const { study } = data
  if (study === null) throw new Error('this process was given no study')
  const module = (await import(study)) as { readonly study: Study }
  return module.study
}

function readable(parts: MimeParts): MimeParts {
  const { html, text } = parts
  return text === null && html !== null ? { ...parts, text: textOfHtml(html) || null } : parts
}

async function answer(raw: Buffer, { wanted }: ToMimeProcess, say: Say): Promise<void> {
  try {
    say(await answerTo(raw, wanted, say))
    freeMemory(raw)
  } catch (error) {
    say({ said: { kind: 'broken', message: error instanceof Error ? error.message : String(error) } })
  }
}

beFirstOutOfMemory()
const data = JSON.parse(process.argv[2] ?? '') as ProcessData
new Worker(new URL('./mime-parts-watch-worker.js', import.meta.url), {
  workerData: { parent: process.ppid, resident: data.resident },
  resourceLimits: { maxOldGenerationSizeMb: 8, maxYoungGenerationSizeMb: 1, stackSizeMb: 1 },
}).unref()
if (data.study !== null) await import(data.study)
const wire = parentWire()
const say: Say = ({ said, bytes }) => writeFrame(wire, said, bytes)
const limits = { value: 16_777_216, bytes: 1_073_741_824 }
const read = frameReader(limits, (message, raw) => void answer(raw, message as ToMimeProcess, say))
wire.on('data', read)
wire.on('error', () => process.exit(0))
wire.on('close', () => process.exit(0))
say({ said: { kind: 'ready' } })
