/**
 * Sends large answers, such as messages of tens of megabytes, to clients that may read slowly.
 *
 * An answer that fits the buffers of a connection is sent at once. A larger one is sent in pieces;
 * what the client has not read after `spoolAfter` moves to an unnamed file, which frees its memory.
 * Memory and disk are limited in total and for each workspace (or address without a key). A client
 * slower than the minimum pace is disconnected. If the file cannot be written, the answer stays in
 * memory, within that limit.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { Refusal } from '../../../../base/mail/refusal.js'
import { addressKeyOf } from '../../../../base/platform/connections/client-address.js'
import type { MemoryShares } from '../../../../base/platform/memory/shares.js'
import type { Spool, SpoolFile } from '../../../../base/platform/spool-file.js'
import type { ApiContext } from '../context/api-context.js'
import { type HttpReply, headersOf, send } from './send-reply.js'
import { waitForDrain } from './wait-for-drain.js'

/** Bytes above which an answer is large, and bytes of a piece. */
const LARGE_BYTES = 65_536
/** Bytes that are written in one turn of the event loop. */
const STEP_BYTES = 524_288

interface LargeAnswerLimits {
  /** Bytes that wait in memory. */
  readonly memory: MemoryShares
  /** Bytes that wait in memory or in files. */
  readonly held: MemoryShares
  readonly spool: Spool
  /** Milliseconds until the rest of an answer moves to a file. */
  readonly spoolAfter: number
  /** Milliseconds in which any answer may be read; beyond them, at least `pace` bytes a second. */
  readonly patience: number
  readonly pace: number
}

/** Bytes of megabytes may come in pieces, because joining them would block the main thread. */
export type LargeReply = Omit<HttpReply, 'payload'> & { readonly payload: HttpReply['payload'] | readonly Buffer[] }

export class LargeAnswers {
  constructor(private readonly limits: LargeAnswerLimits) {}

  /** Throws a Refusal `unavailable` when there is no room. Resolves when the answer is sent or the client is gone. */
  send(ctx: ApiContext, reply: LargeReply): Promise<void> | void {
    const { payload } = reply
    // A UTF-16 unit has at most three bytes in UTF-8.
    if (typeof payload === 'string' && payload.length <= LARGE_BYTES / 3) return send(ctx, { ...reply, payload })
    const pieces = toPieces(payload)
    const size = pieces.reduce((sum, { length }) => sum + length, 0)
    if (size <= LARGE_BYTES) return send(ctx, { ...reply, payload: Buffer.concat(pieces) })
    const head = { ...reply, payload: '', headers: { ...reply.headers, 'Content-Length': String(size) } }
    if (ctx.method === 'HEAD' || ctx.req.socket.destroyed) return send(ctx, head)
    return sendLarge(ctx, head, { pieces }, size, this.limits)
  }
}

function toPieces(payload: LargeReply['payload']): readonly Buffer[] {
  if (typeof payload === 'string') return [Buffer.from(payload)]
  return Buffer.isBuffer(payload) ? [payload] : payload
}

/** Set to null when the bytes are no longer needed, since suspended functions would keep them in memory. */
interface PendingBytes {
  pieces: readonly Buffer[] | null
}

function sendLarge(
  ctx: ApiContext,
  head: HttpReply,
  held: PendingBytes,
  size: number,
  limits: LargeAnswerLimits,
): Promise<void> {
  const { req, res, state } = ctx
  const { identity } = state
  const owner = identity.principal?.workspaceId ?? addressKeyOf(identity.remoteAddress)
  const [memory, all] = [limits.memory.forOwner(owner), limits.held.forOwner(owner)]
  if (!memory.acquire(size)) throw noRoomRefusal()
  if (!all.acquire(size)) {
    memory.release(size)
    throw noRoomRefusal()
  }
  ctx.respond = false
  state.bytes = size
  res.writeHead(head.status, headersOf(head, identity))
  const timer = setTimeout(() => req.socket.destroy(), limits.patience + (size / limits.pace) * 1_000)
  const outgoing = new OutgoingAnswer(ctx, held, limits, () => memory.release(size))
  return outgoing.send(size).finally(() => {
    clearTimeout(timer)
    all.release(size)
  })
}

class OutgoingAnswer {
  private file: SpoolFile | null = null
  private readonly startedAt = performance.now()
  /** The file could not be written. */
  private spoolFailed = false

  constructor(
    private readonly ctx: ApiContext,
    private readonly pendingBytes: PendingBytes,
    private readonly limits: LargeAnswerLimits,
    private readonly releaseMemory: () => void,
  ) {}

  async send(size: number): Promise<void> {
    try {
      let written = 0
      for (let at = 0; at < size; ) {
        const piece = await this.readPiece(at)
        if (this.isClientGone()) return
        if (!this.ctx.res.write(piece)) await this.waitForClient()
        if (this.isClientGone()) return
        at += piece.length
        written += piece.length
        // A client that reads as fast as we write would delay all others.
        if (written < STEP_BYTES) continue
        written = 0
        await nextTurn()
      }
      this.ctx.res.end()
    } finally {
      if (this.pendingBytes.pieces !== null) this.releaseMemory()
      this.pendingBytes.pieces = null
      await this.file?.close()
    }
  }

  private isClientGone(): boolean {
    const { res, req } = this.ctx
    return res.destroyed || req.socket.destroyed
  }

  private async readPiece(at: number): Promise<Buffer> {
    const { pieces } = this.pendingBytes
    if (pieces !== null) return findPiece(pieces, at)
    const read = await this.file?.read(at, LARGE_BYTES)
    if (read === undefined || read.length === 0) throw new Error('the file of an answer is shorter than the answer')
    return read
  }

  /** The timer of the answer ends the waiting. */
  private async waitForClient(): Promise<void> {
    const waiting = waitForDrain(this.ctx.res, this.limits.patience)
    if (this.pendingBytes.pieces !== null && !this.spoolFailed) {
      const left = this.limits.spoolAfter - (performance.now() - this.startedAt)
      if (!(await endsWithin(waiting, left))) await this.moveToFile(this.pendingBytes.pieces)
    }
    await waiting
  }

  private async moveToFile(pieces: readonly Buffer[]): Promise<void> {
    try {
      this.file = await this.limits.spool.write(pieces)
      this.pendingBytes.pieces = null
      this.releaseMemory()
    } catch {
      this.spoolFailed = true
    }
  }
}

/** The bytes that follow the first `start` bytes of all pieces: the rest of a piece, or a part of it if it is large. */
function findPiece(pieces: readonly Buffer[], start: number): Buffer {
  let before = 0
  for (const piece of pieces) {
    if (start < before + piece.length) return piece.subarray(start - before, start - before + LARGE_BYTES)
    before += piece.length
  }
  throw new Error('an answer is shorter than its pieces')
}

/** Whether the work ends within so many milliseconds. */
async function endsWithin(work: Promise<void>, milliseconds: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<false>((resolve) => {
    timer = setTimeout(resolve, Math.max(0, milliseconds), false)
  })
  const inTime = await Promise.race([work.then(() => true as const), timeout])
  clearTimeout(timer)
  return inTime
}

function noRoomRefusal(): Refusal {
  return new Refusal('unavailable', 'too many large answers are being sent, try again later', { retry_after: 1 })
}
