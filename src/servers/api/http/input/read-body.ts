/**
 * The body of a request, complete in memory, within a limit and a memory budget for all requests.
 *
 * A body over the limit is not read any further: the answer is sent at once, and `send-reply.ts`
 * handles the rest.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Refusal, type RefusalKind } from '../../../../base/mail/refusal.js'
import { takeBuffered } from '../../../../base/platform/buffered-bytes.js'
import {
  minTransferPace,
  type TransferPace,
  TransferWatch,
} from '../../../../base/platform/connections/transfer-pace.js'
import type { MemoryBudget } from '../../../../base/platform/memory/budget.js'
import { BytePieces } from '../../../../base/platform/memory/byte-pieces.js'
import { freeMemory } from '../../../../base/platform/memory/free-memory.js'
import { RecentRate } from '../../../../base/platform/memory/holders.js'
import {
  type MemoryReservation,
  RESERVE_FROM_BYTES,
  type ReservableMemory,
  reserveMemory,
} from '../../../../base/platform/memory/reservation.js'

export interface Body {
  readonly raw: Buffer
  /** Returns the memory to the budget; to be called once. */
  readonly release: () => void
}

/** The client has closed the connection before the end of its request. */
export class HttpClientGone extends Error {
  override name = 'HttpClientGone'
}

const emptyBody: Body = { raw: Buffer.alloc(0), release: () => undefined }

/** The body arrives so slowly that it would hold its memory for minutes. */
export class BodyTooSlow extends Error {
  override name = 'BodyTooSlow'
}

type BodyMemory = Pick<MemoryBudget, 'acquire' | 'release' | 'addHolder'>

export interface BodyPace extends TransferPace {
  /** Milliseconds that a long body waits for memory before it is read. */
  readonly memoryWait: number
}

/** 30 s for a stalled network. `listenerTimeouts.request` limits the complete request in any case. */
export const bodyPace: BodyPace = { ...minTransferPace, patience: 30_000, memoryWait: 20_000 }

/**
 * Reserves memory for a body with a large `Content-Length`. A body that is short or of unknown length takes memory as
 * it arrives. The body is not read while it waits, so TCP holds the client back. Rejects with a Refusal `unavailable`.
 *
 * Known limit: a client that has filled the read-ahead and leaves is noticed only at its turn.
 */
export async function reserveBodyMemory(
  request: IncomingMessage,
  memory: ReservableMemory,
  timeout: number,
): Promise<MemoryReservation | null> {
  const length = contentLengthOf(request)
  if (length <= RESERVE_FROM_BYTES) return null
  const clientGone = new AbortController()
  const abort = (): void => clientGone.abort()
  request.once('close', abort)
  if (request.destroyed) abort()
  const reserved = await reserveMemory(memory, length, { timeout, signal: clientGone.signal })
  request.off('close', abort)
  if (reserved === null) throw clientGone.signal.aborted ? clientGoneError() : noRoomRefusal()
  return reserved
}

/** Rejects with a Refusal `too-large` or `unavailable`, with BodyTooSlow, or with ClientGone. */
export function readBody(
  request: IncomingMessage,
  limit: number,
  budget: BodyMemory,
  pace: TransferPace,
): Promise<Body> {
  if (contentLengthOf(request) > limit) return Promise.reject(tooLargeRefusal(limit))
  if (!hasBody(request)) return Promise.resolve(emptyBody)
  if (request.destroyed) return Promise.reject(clientGoneError())
  if (request.readableLength > 0 && request.readableLength === contentLengthOf(request)) {
    return readArrivedBody(request, budget)
  }
  return new Promise((resolve, reject) => {
    const pieces = new BytePieces(contentLengthOf(request) || limit)
    let only: Buffer | null = null
    const rate = new RecentRate()
    let failed = false
    const ended = watchTransfer({ pieces, rate }, budget, pace, fail)

    function addChunk(chunk: Buffer): void {
      rate.add(chunk.length)
      if (pieces.bytes + chunk.length > limit) fail(tooLargeRefusal(limit))
      else if (!budget.acquire(chunk.length)) fail(noRoomRefusal())
      else if (failed) budget.release(chunk.length)
      else {
        only = pieces.bytes === 0 ? chunk : null
        pieces.add(chunk)
      }
    }
    function fail(error: Error): void {
      failed = true
      ended()
      request.off('data', addChunk).off('end', finish)
      budget.release(pieces.bytes)
      pieces.clear()
      reject(error)
    }
    function finish(): void {
      ended()
      const raw = only ?? pieces.join()
      const { length } = raw
      const release = (): void => {
        budget.release(length)
        freeMemory(raw)
      }
      resolve({ raw, release })
      pieces.clear()
    }
    function onClose(): void {
      if (!request.complete) fail(clientGoneError())
    }

    request.on('data', addChunk).once('end', finish).once('error', onClose).once('close', onClose)
  })
}

/** It is a class: a literal with getters would keep the body in memory until the next full garbage collection. */
class BodyHolder {
  constructor(
    private readonly pieces: BytePieces,
    private readonly recent: RecentRate,
    private readonly fail: (error: Error) => void,
  ) {}

  get held(): number {
    return this.pieces.bytes
  }

  get rate(): number | null {
    return this.recent.get()
  }

  evict(): void {
    this.fail(noRoomRefusal())
  }
}

/** Most bodies have arrived with their header. Nothing is waited for then, so there is nothing to watch. */
async function readArrivedBody(request: IncomingMessage, budget: BodyMemory): Promise<Body> {
  const { readableLength } = request
  if (!budget.acquire(readableLength)) throw noRoomRefusal()
  const raw = takeBuffered(request)
  request.resume() // to its end, at which Node lets go of it
  return { raw, release: () => budget.release(readableLength) }
}

/** Fails a body that is too slow, or slow while others need its memory; the returned function ends the watch. */
function watchTransfer(
  { pieces, rate }: { readonly pieces: BytePieces; readonly rate: RecentRate },
  budget: BodyMemory,
  pace: TransferPace,
  fail: (error: Error) => void,
): () => void {
  const leave = budget.addHolder(new BodyHolder(pieces, rate, fail))
  const ended = watchPace(pieces, pace, fail)
  return () => {
    leave()
    ended()
  }
}

/** Fails a body that is too slow; the returned function ends the watch. */
export function watchPace(
  received: { readonly bytes: number },
  pace: TransferPace,
  fail: (error: Error) => void,
): () => void {
  const watch = new TransferWatch(received, pace, () => fail(tooSlowError(pace.bytesPerSecond)))
  return () => watch.end()
}

/** A request without these fields ends with its header (RFC 9112 section 6.3). */
export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

/** Throws a Refusal of that kind if the `Content-Length` of the body is over the limit. */
export function checkLength(request: IncomingMessage, limit: number, kind: RefusalKind): void {
  if (contentLengthOf(request) > limit) throw tooLargeRefusal(limit, kind)
}

/** Sends `100 Continue` to a client that waits for it. */
export function sendContinue(request: IncomingMessage, response: ServerResponse): void {
  if (expectsContinue(request)) response.writeContinue()
}

/** HTTP/1.0 does not have the expectation (RFC 9110 section 10.1.1). */
function expectsContinue({ headers, httpVersionMajor, httpVersionMinor }: IncomingMessage): boolean {
  return headers.expect?.toLowerCase() === '100-continue' && httpVersionMajor === 1 && httpVersionMinor > 0
}

function contentLengthOf({ headers }: IncomingMessage): number {
  return Number(headers['content-length'] ?? 0)
}

function tooSlowError(bytesPerSecond: number): BodyTooSlow {
  return new BodyTooSlow(`the body arrives too slowly: at least ${bytesPerSecond} bytes a second are required`)
}

export function clientGoneError(): HttpClientGone {
  return new HttpClientGone('the connection closed before the end of the body')
}

function tooLargeRefusal(limit: number, kind: RefusalKind = 'too-large'): Refusal {
  return new Refusal(kind, `the body is larger than ${limit} bytes`, { limit })
}

function noRoomRefusal(): Refusal {
  return new Refusal('unavailable', 'too many requests are being received, try again later', { retry_after: 1 })
}
