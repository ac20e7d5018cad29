/**
 * The bytes of a request's body, whole and in memory, within a limit and a budget over all
 * requests.
 *
 * What is over a limit is not read any further: the answer goes out at once, and whoever
 * sends it sees to the rest (`send.ts`).
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Refusal, type RefusalKind } from '../../../mail/refusal.js'
import { leastPace, type TransferPace, TransferWatch } from '../../../platform/connections/transfer-pace.js'
import type { MemoryBudget } from '../../../platform/memory/budget.js'
import { BytePieces } from '../../../platform/memory/byte-pieces.js'
import { freeMemory } from '../../../platform/memory/free-memory.js'
import { RecentRate } from '../../../platform/memory/holders.js'
import {
  RESERVED_FROM,
  type ReservableMemory,
  type Reservation,
  reserve,
} from '../../../platform/memory/reservation.js'

export interface Body {
  readonly raw: Buffer
  /** Gives the memory back to the budget; to be called once. */
  readonly release: () => void
}

/** The client left before the end of its request. */
export class ClientGone extends Error {
  override name = 'ClientGone'
}

const nothing: Body = { raw: Buffer.alloc(0), release: () => undefined }

/** The body comes so slowly that it would hold its memory for minutes. */
export class BodyTooSlow extends Error {
  override name = 'BodyTooSlow'
}

export type BodyMemory = Pick<MemoryBudget, 'take' | 'give' | 'enter'>

export interface BodyPace extends TransferPace {
  /** Milliseconds for which a long body waits for memory before it is read. */
  readonly memoryWait: number
}

/** Half a minute for a network that stands still. A body must be whole in `doorTimes.request` in any case. */
export const bodyPace: BodyPace = { ...leastPace, patience: 30_000, memoryWait: 20_000 }

/**
 * The memory for a body that says that it is long; null: it is short or does not say, and takes its
 * memory as it comes. Nothing of it is read meanwhile, so TCP holds the client back. Rejects with a Refusal
 * `unavailable`.
 *
 * Known limit: a client that leaves after it has sent more than is read ahead is noticed when its turn comes.
 */
export async function reserveBody(
  request: IncomingMessage,
  memory: ReservableMemory,
  patience: number,
): Promise<Reservation | null> {
  const length = lengthOf(request)
  if (length <= RESERVED_FROM) return null
  const gone = new AbortController()
  const leave = (): void => gone.abort()
  request.once('close', leave)
  if (request.destroyed) leave()
  const reserved = await reserve(memory, length, { patience, signal: gone.signal })
  request.off('close', leave)
  if (reserved === null) throw gone.signal.aborted ? clientGone() : noRoom()
  return reserved
}

/** Rejects with a Refusal `too-large` or `unavailable`, with BodyTooSlow, or with ClientGone. */
export function readBody(
  request: IncomingMessage,
  limit: number,
  budget: BodyMemory,
  pace: TransferPace,
): Promise<Body> {
  if (lengthOf(request) > limit) return Promise.reject(tooLarge(limit))
  if (!announcesBody(request)) return Promise.resolve(nothing)
  if (request.destroyed) return Promise.reject(clientGone())
  return new Promise((resolve, reject) => {
    const pieces = new BytePieces(lengthOf(request) || null)
    let only: Buffer | null = null
    const rate = new RecentRate()
    let failed = false
    const ended = watchTransfer({ pieces, rate }, budget, pace, fail)

    function take(chunk: Buffer): void {
      rate.add(chunk.length)
      if (pieces.bytes + chunk.length > limit) fail(tooLarge(limit))
      else if (!budget.take(chunk.length)) fail(noRoom())
      else if (failed) budget.give(chunk.length)
      else {
        only = pieces.bytes === 0 ? chunk : null
        pieces.add(chunk)
      }
    }
    function fail(error: Error): void {
      failed = true
      ended()
      request.off('data', take).off('end', done)
      budget.give(pieces.bytes)
      pieces.clear()
      reject(error)
    }
    function done(): void {
      ended()
      const raw = only ?? pieces.join()
      const { length } = raw
      const release = (): void => {
        budget.give(length)
        freeMemory(raw)
      }
      resolve({ raw, release })
      pieces.clear()
    }
    function left(): void {
      if (!request.complete) fail(clientGone())
    }

    request.on('data', take).once('end', done).once('error', left).once('close', left)
  })
}

/** Fails a body that comes too slowly, or that is slow where others need its memory; the function that it returns ends that. */
function watchTransfer(
  { pieces, rate }: { readonly pieces: BytePieces; readonly rate: RecentRate },
  budget: BodyMemory,
  pace: TransferPace,
  fail: (error: Error) => void,
): () => void {
  const leave = budget.enter({
    get held() {
      return pieces.bytes
    },
    get rate() {
      return rate.get()
    },
    giveWay: () => fail(noRoom()),
  })
  const ended = watchPace(pieces, pace, fail)
  return () => {
    leave()
    ended()
  }
}

/** Fails a body that comes too slowly; the function that it returns ends the watch. */
export function watchPace(
  come: { readonly bytes: number },
  pace: TransferPace,
  fail: (error: Error) => void,
): () => void {
  const watch = new TransferWatch(come, pace, () => fail(tooSlow(pace.bytesPerSecond)))
  return () => watch.end()
}

/** A request without one is at its end with its header (RFC 9112 section 6.3). */
export function announcesBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

/** Throws a Refusal of that kind for a body that announces itself as longer. */
export function checkLength(request: IncomingMessage, limit: number, kind: RefusalKind): void {
  if (lengthOf(request) > limit) throw tooLarge(limit, kind)
}

/** Tells a client that waits for our word to go on. */
export function welcomeBody(request: IncomingMessage, response: ServerResponse): void {
  if (waitsForUs(request)) response.writeContinue()
}

/** RFC 9110 section 10.1.1: HTTP/1.0 does not know the expectation, and no other one means this. */
function waitsForUs({ headers, httpVersionMajor, httpVersionMinor }: IncomingMessage): boolean {
  return headers.expect?.toLowerCase() === '100-continue' && httpVersionMajor === 1 && httpVersionMinor > 0
}

/** As it was announced. */
function lengthOf({ headers }: IncomingMessage): number {
  return Number(headers['content-length'] ?? 0)
}

function tooSlow(bytesPerSecond: number): BodyTooSlow {
  return new BodyTooSlow(`the body comes too slowly: at least ${bytesPerSecond} bytes a second`)
}

export function clientGone(): ClientGone {
  return new ClientGone('the connection closed before the end of the body')
}

function tooLarge(limit: number, kind: RefusalKind = 'too-large'): Refusal {
  return new Refusal(kind, `the body is larger than ${limit} bytes`, { limit })
}

function noRoom(): Refusal {
  return new Refusal('unavailable', 'too many requests are on their way in, try again later', { retry_after: 1 })
}
