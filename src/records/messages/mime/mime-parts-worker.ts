/**
 * The process that parses messages (RFC 2045 to 2047, 2231). It reads untrusted bytes: it may be slow, run out of
 * memory or die, and only its own message is affected.
 *
 * It sends `ready` once, then a result for each request, in their order. It ends with its parent. A busy event loop
 * would not notice the parent's end, so a thread watches (`mime-parts-watch-worker.ts`). The header is scanned once for
 * parts, fields and everything else that is made of the message.
 */
import { Worker } from 'node:worker_threads'
import { scanHeader } from '../../../base/mail/header-fields.js'
import { freeMemory } from '../../../base/platform/memory/free-memory.js'
import { createFrameReader, FrameWriter } from '../../../base/platform/processes/byte-frames.js'
import { openParentStream, raiseOomScore } from '../../../base/platform/processes/child-process.js'
import { MessageContent } from './message-content.js'
import type {
  ContentAnalyzer,
  Display,
  FromMimeProcess,
  HtmlChange,
  MessageDigester,
  MessageRenderer,
  MimeParts,
  MimeRequest,
  ParsedMessage,
  ProcessData,
  ToMimeProcess,
} from './mime-parts-protocol.js'
import { textOfHtml } from './text-of-html.js'

/** A message to the parent, with the bytes of its frame. */
interface OutgoingFrame {
  readonly message: FromMimeProcess<unknown, unknown>
  readonly bytes?: readonly Buffer[]
}

function readAttachment(content: MessageContent, index: number): OutgoingFrame {
  const file = content.readFile(index)
  if (file === null) return { message: { kind: 'none' } }
  return { message: { kind: 'attachment', attachment: file.attachment }, bytes: [file.bytes] }
}

type SendFrame = (frame: OutgoingFrame) => void

async function runRequest(raw: Buffer, request: MimeRequest, sendFrame: SendFrame): Promise<OutgoingFrame> {
  if (request.kind === 'digested') {
    const { messageDigester } = await importHook(request.module)
    return { message: { kind: 'digested', digest: messageDigester.digest(raw, request.facts) } }
  }
  if (request.kind === 'rendered') {
    const { messageRenderer } = await importHook(request.module)
    return { message: { kind: 'rendered' }, bytes: [messageRenderer.render(raw, request.facts)] }
  }
  const header = scanHeader(raw)
  const content = new MessageContent(raw, header)
  if (request.kind === 'attachment') return readAttachment(content, request.index)
  if (request.kind === 'analyzed') return analyze({ raw, header, parts: content.read() }, request.facts, sendFrame)
  const parts = content.readParts()
  return request.kind === 'readable'
    ? toPartsFrame('readable', await displayParts(parts, request), encodeJson)
    : toPartsFrame('parts', parts, encodeUtf8)
}

/** A module of a room above. It exports the function that the request needs. */
interface HookModule {
  readonly contentAnalyzer: ContentAnalyzer<unknown, unknown, unknown>
  readonly messageDigester: MessageDigester<unknown, unknown>
  readonly messageRenderer: MessageRenderer<unknown>
  readonly htmlChange: HtmlChange<unknown>
}

async function importHook(module: string): Promise<HookModule> {
  return (await import(module)) as HookModule
}

/** Analyzes a message. If the analysis throws, the message has no analysis, but keeps its summary. */
function analyze(message: ParsedMessage, facts: unknown, sendFrame: SendFrame): OutgoingFrame {
  if (analyzerModule === null) throw new Error('this process was given no analyzer')
  const { contentAnalyzer } = analyzerModule
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

/** The most characters that are encoded at once, so that the heap does not hold a large body twice. */
const JSON_CHUNK = 65_536

/** Encodes a text as a JSON text. A surrogate pair across two pieces becomes two escapes, which mean one character. */
function encodeJson(body: string): readonly Buffer[] {
  const pieces = Array.from({ length: Math.ceil(body.length / JSON_CHUNK) }, (_, place) => {
    const piece = body.slice(place * JSON_CHUNK, (place + 1) * JSON_CHUNK)
    return Buffer.from(JSON.stringify(piece).slice(1, -1))
  })
  return [QUOTE, ...pieces, QUOTE]
}

const QUOTE = Buffer.from('"')

async function displayParts(parts: MimeParts, { makesText, htmlChange: requested }: Display): Promise<MimeParts> {
  if (parts.html === null) return parts
  const text = makesText && parts.text === null ? textOfHtml(parts.html) || null : parts.text
  if (requested === null) return { ...parts, text }
  const { htmlChange } = await importHook(requested.module)
  return { ...parts, text, html: htmlChange.change(parts.html, requested.facts) }
}

/** Octets of a message after which the memory that it took is released at once. */
const LARGE_BYTES = 4_194_304

/** V8 does not count what is outside of its heap, so an idle process would keep the memory of a large message. */
function releaseMemory(raw: Buffer): void {
  const { length } = raw
  freeMemory(raw)
  if (length >= LARGE_BYTES) globalThis.gc?.()
}

async function handleMessage(raw: Buffer, { request }: ToMimeProcess, sendFrame: SendFrame): Promise<void> {
  try {
    sendFrame(await runRequest(raw, request, sendFrame))
    releaseMemory(raw)
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
const analyzerModule = data.analysisModule === null ? null : await importHook(data.analysisModule)
const say: SendFrame = ({ message, bytes }) => frames.write(message, bytes)
const frameLimits = { value: 16_777_216, bytes: 1_073_741_824 }
let last = Promise.resolve()
const read = createFrameReader<ToMimeProcess>(frameLimits, (message, raw) => {
  last = last.then(() => handleMessage(raw, message, say))
})
const stream = openParentStream(read)
const frames = new FrameWriter(stream)
stream.on('error', () => process.exit(0))
stream.on('close', () => process.exit(0))
say({ message: { kind: 'ready' } })
