/**
 * An answer with a file of any size, read as the client reads it: one range of it if the request asks for one, else
 * compressed if the client takes gzip, else as it is.
 *
 * Memory holds a piece and the buffers of the connection. A client that reads nothing for `patience` milliseconds, or
 * less than `pace` bytes a second, is disconnected. The number of such answers is limited, in total and for each
 * workspace, and few are compressed at once: the others go out as they are. An error while the file is read cuts the
 * connection, so that a partial answer never looks complete.
 */
import { pipeline, Readable } from 'node:stream'
import { constants, createGzip } from 'node:zlib'
import { Refusal } from '../../../../base/mail/refusal.js'
import { addressKeyOf } from '../../../../base/platform/connections/client-address.js'
import type { ReadableFile } from '../../../../base/platform/readable-file.js'
import type { FileAnswer } from '../answer.js'
import type { ApiContext } from '../context/api-context.js'
import { toErrorBody, toSentError } from '../error-answer.js'
import { acceptsGzip } from '../input/accept-encoding.js'
import { findRequestedPart } from '../input/byte-range.js'
import { JSON_TYPE, send, streamHeadersOf } from './send-reply.js'
import type { StreamLimits } from './stream-answer.js'
import { waitForDrain } from './wait-for-drain.js'

/** Bytes that are read at once. */
const PIECE_BYTES = 65_536
/** Answers that are compressed at once. Each takes most of a core as long as its client reads. */
const MAX_COMPRESSED = 2
/** Milliseconds. No timer can be longer. */
const MAX_TIMER = 2 ** 31 - 1

let compressed = 0

/** Closes the file. Rejects with a Refusal `unavailable` when there is no slot. */
export async function sendFile(ctx: ApiContext, answer: FileAnswer, limits: StreamLimits): Promise<void> {
  const { identity } = ctx.state
  const slot = limits.slots.forOwner(identity.principal?.workspaceId ?? addressKeyOf(identity.remoteAddress))
  try {
    if (!slot.acquire(1)) {
      throw new Refusal('unavailable', 'too many long answers are being sent, try again later', { retry_after: 5 })
    }
    try {
      await sendPart(ctx, answer, limits)
    } finally {
      slot.release(1)
    }
  } finally {
    await answer.file.close()
  }
}

async function sendPart(ctx: ApiContext, answer: FileAnswer, limits: StreamLimits): Promise<void> {
  const { headers } = ctx.req
  const { file, tag } = answer
  const part = findRequestedPart({ range: headers.range, ifRange: firstOf(headers['if-range']) }, file.size, quote(tag))
  if (part.kind === 'unsatisfiable') return refuseRange(ctx, file.size, headers.range)
  if (part.kind === 'range') {
    const range = { 'Content-Range': `bytes ${part.from}-${part.to}/${file.size}` }
    return sendPlain(ctx, answer, { ...part, status: 206, headers: range }, limits)
  }
  if (acceptsGzip(firstOf(headers['accept-encoding'])) && compressed < MAX_COMPRESSED) {
    return sendCompressed(ctx, answer, limits)
  }
  return sendPlain(ctx, answer, { from: 0, to: file.size - 1, status: 200, headers: {} }, limits)
}

function firstOf(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value
}

function quote(tag: string): string {
  return `"${tag}"`
}

/** RFC 9110 section 15.5.17. */
function refuseRange(ctx: ApiContext, size: number, value: string | undefined): void {
  const refusal = new Refusal('invalid-parameter', `Range: the file has ${size} bytes`, { field: 'Range', value })
  const { error } = toErrorBody(refusal, () => undefined)
  const payload = JSON.stringify(toSentError({ error: { ...error, status: 416 } }))
  send(ctx, { status: 416, type: JSON_TYPE, payload, headers: { 'Content-Range': `bytes */${size}` } })
  ctx.state.code = error.code
}

interface Part {
  readonly status: 200 | 206
  /** Bytes of the file, both inside. */
  readonly from: number
  readonly to: number
  readonly headers: Readonly<Record<string, string>>
}

function sendPlain(ctx: ApiContext, { file, ...answer }: FileAnswer, part: Part, limits: StreamLimits): Promise<void> {
  const length = part.to - part.from + 1
  writeHead(ctx, part.status, answer, {
    ...{ 'Accept-Ranges': 'bytes', 'Content-Length': String(length), ETag: quote(answer.tag) },
    ...part.headers,
  })
  return writePieces(ctx, readPieces(file, part), length, limits)
}

async function sendCompressed(ctx: ApiContext, { file, ...answer }: FileAnswer, limits: StreamLimits): Promise<void> {
  writeHead(ctx, 200, answer, { 'Content-Encoding': 'gzip', ETag: quote(`${answer.tag}-gzip`) })
  if (ctx.method === 'HEAD') return void ctx.res.end()
  const gzip = createGzip({ level: constants.Z_BEST_SPEED, chunkSize: PIECE_BYTES })
  // The reader of the compressed bytes gets the error.
  pipeline(Readable.from(readPieces(file, { from: 0, to: file.size - 1 })), gzip, () => undefined)
  compressed += 1
  try {
    await writePieces(ctx, gzip, file.size, limits)
  } finally {
    compressed -= 1
    gzip.destroy()
  }
}

function writeHead(
  ctx: ApiContext,
  status: number,
  { type, headers }: Pick<FileAnswer, 'type' | 'headers'>,
  more: Readonly<Record<string, string>>,
): void {
  ctx.respond = false
  const all = { ...headers, Vary: 'Accept-Encoding', ...more }
  ctx.res.writeHead(status, streamHeadersOf(type, all, ctx.state.identity))
  ctx.state.bytes = 0
}

async function* readPieces(file: ReadableFile, { from, to }: Pick<Part, 'from' | 'to'>): AsyncGenerator<Buffer> {
  for (let at = from; at <= to; ) {
    const piece = await file.read(at, Math.min(PIECE_BYTES, to + 1 - at))
    if (piece.length === 0) throw new Error('a file is shorter than its answer')
    at += piece.length
    yield piece
  }
}

/** `size` bytes set the time in which all of it must be read. */
async function writePieces(
  ctx: ApiContext,
  pieces: AsyncIterable<Buffer>,
  size: number,
  { patience, pace }: StreamLimits,
): Promise<void> {
  const { req, res, state } = ctx
  const timer = setTimeout(() => req.socket.destroy(), Math.min(patience + (size / pace) * 1_000, MAX_TIMER))
  try {
    if (ctx.method !== 'HEAD') {
      for await (const piece of pieces) {
        state.bytes = (state.bytes ?? 0) + piece.length
        if (!res.write(piece)) await waitForDrain(res, patience)
        if (res.destroyed || req.socket.destroyed) return
      }
    }
    res.end()
  } finally {
    clearTimeout(timer)
  }
}
