/**
 * The JSON body of a request: read whole within a limit, checked before it is parsed.
 *
 * Brackets are counted in the bytes first: text of a few megabytes that nests or lists
 * without end would cost the parser hundreds. Strings are skipped at the speed of a
 * search, so attachments cost nothing.
 */
import type { IncomingMessage } from 'node:http'
import { Refusal } from '../mail/refusal.js'

/** 22 MB: an email of 15 MB in base64, and some. */
export const MAX_BODY = 22 * 1_048_576
export const MAX_DEPTH = 32
/** Commas and brackets. */
const MAX_VALUES = 200_000

export interface JsonBody {
  readonly raw: Buffer
  readonly value: unknown
}

const decoder = new TextDecoder('utf-8', { fatal: true })

/** Throws a Refusal: unsupported-media-type, too-large, invalid-json. */
export async function readJson(request: IncomingMessage): Promise<JsonBody> {
  checkType(request)
  const raw = await readAll(request)
  checkShape(raw)
  return { raw, value: parsed(raw) }
}

function checkType({ headers }: IncomingMessage): void {
  const type = headers['content-type'] ?? ''
  if (!/^application\/json\s*(;\s*charset\s*=\s*"?utf-8"?\s*)?$/i.test(type)) {
    throw new Refusal('unsupported-media-type', 'Content-Type: allowed is application/json in UTF-8', {
      content_type: type,
    })
  }
  const encoding = headers['content-encoding'] ?? 'identity'
  if (encoding.toLowerCase() !== 'identity') {
    throw new Refusal('unsupported-media-type', 'Content-Encoding: allowed is none', { content_encoding: encoding })
  }
}

function tooLarge(): Refusal {
  return new Refusal('too-large', `the body is larger than ${MAX_BODY} bytes`, { limit: MAX_BODY })
}

async function readAll(request: IncomingMessage): Promise<Buffer> {
  if (Number(request.headers['content-length'] ?? 0) > MAX_BODY) throw tooLarge()
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > MAX_BODY) throw tooLarge()
    chunks.push(chunk)
  }
  const [first] = chunks
  return chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks, size)
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN: ReadonlySet<number> = new Set([0x5b, 0x7b])
const CLOSE: ReadonlySet<number> = new Set([0x5d, 0x7d])
const COMMA = 0x2c

/** Throws a Refusal `invalid-json` for what nests too deep or lists too much. */
export function checkShape(raw: Buffer): void {
  let depth = 0
  let values = 0
  for (let at = 0; at < raw.length; at += 1) {
    const byte = raw[at] ?? 0
    if (byte === QUOTE) at = endOfString(raw, at)
    else if (byte === COMMA) values += 1
    else if (CLOSE.has(byte)) depth -= 1
    else if (OPEN.has(byte)) {
      depth += 1
      values += 1
    }
    if (depth > MAX_DEPTH) throw new Refusal('invalid-json', `the body nests deeper than ${MAX_DEPTH} levels`)
    if (values > MAX_VALUES) throw new Refusal('invalid-json', `the body holds more than ${MAX_VALUES} values`)
  }
}

/** The place of the closing quote of the string that opens at `start`; the end where none closes it. */
function endOfString(raw: Buffer, start: number): number {
  for (let at = raw.indexOf(QUOTE, start + 1); at !== -1; at = raw.indexOf(QUOTE, at + 1)) {
    let escapes = 0
    while (raw[at - 1 - escapes] === BACKSLASH) escapes += 1
    if (escapes % 2 === 0) return at
  }
  return raw.length
}

function parsed(raw: Buffer): unknown {
  try {
    return JSON.parse(decoder.decode(raw)) as unknown
  } catch (error) {
    const reason = error instanceof SyntaxError ? 'it is no JSON' : 'it is not UTF-8'
    throw new Refusal('invalid-json', `the body cannot be read: ${reason}`)
  }
}
