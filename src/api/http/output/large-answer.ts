/**
 * Large answers, such as messages of tens of megabytes, to clients that may read slowly.
 *
 * An answer that fits the buffers of a connection is sent at once. A larger one is sent in pieces;
 * what the client has not read after `spoolAfter` moves to an unnamed file, which frees its memory.
 * Memory and disk are limited in total and for each workspace (or address without a key). A client
 * slower than the minimum pace is disconnected. If the file cannot be written, the answer stays in
 * memory, within that limit.
 */
import { addressKeyOf } from '../../../accounts/client-address.js'
import { Refusal } from '../../../mail/refusal.js'
import type { MemoryShares } from '../../../platform/memory/shares.js'
import type { Spool, SpoolFile } from '../../../platform/spool-file.js'
import type { ApiContext } from '../pipeline/api-context.js'
import { headersOf, type Reply, send } from './send-reply.js'
import { waitForDrain } from './wait-for-drain.js'

/** Bytes above which an answer is large, and bytes of a piece. */
const LARGE_BYTES = 65_536

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

export interface LargeAnswers {
  /** Throws a Refusal `unavailable` when there is no room. Resolves when the answer is sent or the client is gone. */
  readonly send: (ctx: ApiContext, reply: Reply) => Promise<void> | void
}

export function createLargeAnswers(limits: LargeAnswerLimits): LargeAnswers {
  return {
    send: (ctx, reply) => {
      const { payload } = reply
      // A UTF-16 unit has at most three bytes in UTF-8.
      if (payload.length <= LARGE_BYTES / 3 || Buffer.byteLength(payload) <= LARGE_BYTES) return send(ctx, reply)
      const bytes = Buffer.isBuffer(payload) ? payload : Buffer.from(payload)
      if (ctx.method === 'HEAD' || ctx.req.socket.destroyed) return send(ctx, { ...reply, payload: bytes })
      return sendLarge(ctx, reply, { bytes }, limits)
    },
  }
}

/** Set to null when the bytes are no longer needed, since suspended functions would keep them in memory. */
interface PendingBytes {
  bytes: Buffer | null
}

function sendLarge(ctx: ApiContext, reply: Reply, held: PendingBytes, limits: LargeAnswerLimits): Promise<void> {
  const { req, res, state } = ctx
  const { identity } = state
  const size = held.bytes?.length ?? 0
  const owner = identity.principal?.workspaceId ?? addressKeyOf(identity.remoteAddress)
  const [memory, all] = [limits.memory.forOwner(owner), limits.held.forOwner(owner)]
  if (!memory.acquire(size)) throw noRoomRefusal()
  if (!all.acquire(size)) {
    memory.release(size)
    throw noRoomRefusal()
  }
  ctx.respond = false
  state.bytes = size
  res.writeHead(reply.status, headersOf({ ...reply, payload: held.bytes ?? '' }, identity))
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
      for (let at = 0; at < size; at += LARGE_BYTES) {
        const piece = await this.readPiece(at)
        if (this.isClientGone()) return
        if (!this.ctx.res.write(piece)) await this.waitForClient()
        if (this.isClientGone()) return
      }
      this.ctx.res.end()
    } finally {
      if (this.pendingBytes.bytes !== null) this.releaseMemory()
      this.pendingBytes.bytes = null
      await this.file?.close()
    }
  }

  private isClientGone(): boolean {
    const { res, req } = this.ctx
    return res.destroyed || req.socket.destroyed
  }

  private async readPiece(at: number): Promise<Buffer> {
    const { bytes } = this.pendingBytes
    if (bytes !== null) return bytes.subarray(at, at + LARGE_BYTES)
    const read = await this.file?.read(at, LARGE_BYTES)
    if (read === undefined || read.length === 0) throw new Error('the file of an answer is shorter than the answer')
    return read
  }

  /** The timer of the answer ends the waiting. */
  private async waitForClient(): Promise<void> {
    const waiting = waitForDrain(this.ctx.res, this.limits.patience)
    if (this.pendingBytes.bytes !== null && !this.spoolFailed) {
      const left = this.limits.spoolAfter - (performance.now() - this.startedAt)
      if (!(await endsWithin(waiting, left))) await this.moveToFile(this.pendingBytes.bytes)
    }
    await waiting
  }

  private async moveToFile(bytes: Buffer): Promise<void> {
    try {
      this.file = await this.limits.spool.write(bytes)
      this.pendingBytes.bytes = null
      this.releaseMemory()
    } catch {
      this.spoolFailed = true
    }
  }
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
