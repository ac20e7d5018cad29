/**
 * The JSON body of a request: read completely within a limit, and checked before it is parsed.
 *
 * Its nesting and its values are counted in the bytes first, since a few megabytes of nested or long
 * lists would take the parser hundreds. Strings are skipped by a fast search, so attachments add
 * almost no time.
 */
import { isUtf8 } from 'node:buffer'
import type { IncomingMessage, ServerResponse } from 'node:http'
import * as jsonc from 'jsonc-parser'
import { Refusal } from '../../../../base/mail/refusal.js'
import { errorMessageOf } from '../../../../base/platform/errors.js'
import type { ReservableMemory } from '../../../../base/platform/memory/reservation.js'
import {
  type Body,
  type BodyPace,
  checkLength,
  hasBody,
  readBody,
  reserveBodyMemory,
  sendContinue,
} from './read-body.js'

/** 22 MB. An email of 15 MB in base64 fits, with a margin. */
export const MAX_BODY = 22 * 1_048_576
/**
 * 4 MB and 7 MB. The words of a template (1 MB) or a broadcast (a million characters) fit, even if a client escapes
 * them.
 */
export const MAX_TEMPLATE_BODY = 4 * 1_048_576
export const MAX_BROADCAST_BODY = 7 * 1_048_576
export const MAX_DEPTH = 32
/** Commas and opening brackets. */
export const MAX_VALUES = 50_000

/** Names that one object may have. A schema checks each of them. */
const MAX_NAMES = 5_000
/** Digits of a number. The smallest and the largest double, written out, have fewer. */
const MAX_DIGITS = 400

interface JsonBytes extends Body {
  /** The request has no body, and says so by having no type. */
  readonly isAbsent: boolean
}

/** Rejects with a Refusal `unsupported-media-type`, `too-large` or `unavailable`. The bytes are not parsed yet. */
export async function readJsonBytes(
  request: IncomingMessage,
  response: ServerResponse,
  memory: ReservableMemory,
  pace: BodyPace,
  limit: number,
): Promise<JsonBytes> {
  const isAbsent = request.headers['content-type'] === undefined && !hasBody(request)
  if (!isAbsent) requireJsonType(request)
  return { ...(await readWholeBody(request, response, memory, pace, limit)), isAbsent }
}

/** Rejects with a Refusal `too-large` or `unavailable`, with BodyTooSlow or ClientGone. */
export async function readWholeBody(
  request: IncomingMessage,
  response: ServerResponse,
  memory: ReservableMemory,
  pace: BodyPace,
  limit: number,
): Promise<Body> {
  checkLength(request, limit, 'too-large')
  const reserved = await reserveBodyMemory(request, memory, pace.memoryWait)
  sendContinue(request, response)
  return readBody(request, limit, reserved ?? memory, pace).finally(() => reserved?.end())
}

/** In lower case, without parameters. Empty if there is none. */
export function mediaTypeOf({ headers }: IncomingMessage): string {
  const type = headers['content-type'] ?? ''
  const end = type.indexOf(';')
  return (end === -1 ? type : type.slice(0, end)).trim().toLowerCase()
}

/** Throws a Refusal `invalid-json`, and nothing else. */
export function parseJsonBody(given: Buffer): unknown {
  // A byte order mark is no JSON, and may be ignored (RFC 8259 section 8.1).
  const raw = given.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK) ? given.subarray(3) : given
  if (!isUtf8(raw)) throw invalidJsonRefusal('the body is not valid UTF-8')
  checkShape(raw)
  const text = raw.toString()
  try {
    return JSON.parse(text)
  } catch (error) {
    const place = text.length > MAX_SEARCHED ? placeInMessage(error) : describePlace(text)
    throw invalidJsonRefusal(`the body is not valid JSON${place}`)
  }
}

/** Characters of a text in which the place of a fault is searched. Longer ones would block the thread too long. */
const MAX_SEARCHED = 8_192

/** The place that `JSON.parse` names, which it does for some faults only. The rest of its message quotes the body. */
function placeInMessage(error: unknown): string {
  const [, line, column] = / \(line (\d{1,9}) column (\d{1,9})\)$/.exec(errorMessageOf(error)) ?? []
  return line === undefined ? '' : `: line ${line}, column ${column}`
}

/** The first fault. `JSON.parse` does not always name its place. */
class JsonFault extends Error {
  constructor(
    readonly line: number,
    readonly column: number,
  ) {
    super()
  }
}

/** `: line 2, column 14`. Both count from 1, and a column is a UTF-16 unit. */
function describePlace(text: string): string {
  try {
    const onError: jsonc.JSONVisitor['onError'] = (_error, _offset, _length, line, column) => {
      throw new JsonFault(line + 1, column + 1)
    }
    jsonc.visit(text, { onError }, { disallowComments: true, allowTrailingComma: false })
  } catch (fault) {
    if (fault instanceof JsonFault) return `: line ${fault.line}, column ${fault.column}`
    throw fault
  }
  return ''
}

function invalidJsonRefusal(message: string): Refusal {
  return new Refusal('invalid-json', message)
}

const jsonType = /^application\/json\s*(;\s*charset\s*=\s*"?utf-8"?\s*)?$/i

/** Throws a Refusal `unsupported-media-type` unless the body is said to be JSON. */
export function requireJsonType({ headers }: IncomingMessage): void {
  const type = headers['content-type'] ?? ''
  if (type !== 'application/json' && !jsonType.test(type)) {
    throw new Refusal('unsupported-media-type', 'Content-Type: must be application/json in UTF-8', {
      content_type: type,
    })
  }
  const encoding = headers['content-encoding'] ?? 'identity'
  if (encoding.toLowerCase() !== 'identity') {
    throw new Refusal('unsupported-media-type', 'Content-Encoding: must be absent or identity', {
      content_encoding: encoding,
    })
  }
}

const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf])
const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const DIGIT_0 = 0x30
const DIGIT_9 = 0x39
const BACKSLASH = 0x5c
const OPEN_LIST = 0x5b
const CLOSE_LIST = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

/** Throws a Refusal `invalid-json` for too deep nesting, too many values or names, or too long a number. */
export function checkShape(raw: Buffer): void {
  const names = new Uint32Array(MAX_DEPTH + 1)
  let depth = 0
  let values = 0
  let digits = 0
  for (let at = 0; at < raw.length; at += 1) {
    const byte = raw[at] ?? 0
    digits = byte >= DIGIT_0 && byte <= DIGIT_9 ? digits + 1 : 0
    if (byte === QUOTE) at = findStringEnd(raw, at)
    else if (byte === COMMA) values += 1
    else if (byte === COLON) names[depth] = (names[depth] ?? 0) + 1
    else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) depth = Math.max(0, depth - 1)
    else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
      depth += 1
      values += 1
      if (depth > MAX_DEPTH) throw invalidJsonRefusal(`the body nests deeper than ${MAX_DEPTH} levels`)
      names[depth] = 0
    }
    if (values > MAX_VALUES) throw invalidJsonRefusal(`the body holds more than ${MAX_VALUES} values`)
    if (digits > MAX_DIGITS) throw invalidJsonRefusal(`a number has more than ${MAX_DIGITS} digits`)
    if ((names[depth] ?? 0) > MAX_NAMES) throw invalidJsonRefusal(`an object has more than ${MAX_NAMES} names`)
  }
}

/** Bytes that are scanned one by one before the next search. */
const SCAN_BYTES = 128

/**
 * The offset of the closing quote of the string that opens at `start`, else the end. A search alone would stop at every
 * escaped quote, and HTML is full of them; a scan alone would be slow on attachments.
 */
function findStringEnd(raw: Buffer, start: number): number {
  let at = start + 1
  while (at < raw.length) {
    for (const stop = Math.min(raw.length, at + SCAN_BYTES); at < stop; at += raw[at] === BACKSLASH ? 2 : 1) {
      if (raw[at] === QUOTE) return at
    }
    const quote = raw.indexOf(QUOTE, at)
    if (quote === -1) return raw.length
    let escapes = 0
    while (quote - 1 - escapes >= at && raw[quote - 1 - escapes] === BACKSLASH) escapes += 1
    if (escapes % 2 === 0) return quote
    at = quote + 1
  }
  return raw.length
}
