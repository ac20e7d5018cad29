/**
 * An answer of any length, sent in pieces: memory holds one piece and the buffers of the connection.
 *
 * The next piece is produced when the client has read the last one. A client that reads nothing for
 * `patience` milliseconds is disconnected. The number of such answers is limited in total and for
 * each workspace. An error before the first piece is answered as usual; a later one cuts the
 * connection, so that a partial answer never looks complete.
 */
import { Refusal } from '../../../../base/mail/refusal.js'
import type { MemoryShares } from '../../../../base/platform/memory/shares.js'
import type { StreamAnswer } from '../answer.js'
import type { ApiContext } from '../context/api-context.js'
import { streamHeadersOf } from './send-reply.js'
import { waitForDrain } from './wait-for-drain.js'

export interface StreamLimits {
  /** Each answer of this kind takes one slot. */
  readonly slots: MemoryShares
  /** Milliseconds in which a client must read a piece. */
  readonly patience: number
  /** Bytes a second that a client of a file must read. */
  readonly pace: number
}

/** Rejects with a Refusal `unavailable` when there is no slot. */
export async function sendStream(
  ctx: ApiContext,
  { type, headers, pieces }: StreamAnswer,
  { slots, patience }: StreamLimits,
): Promise<void> {
  const { identity } = ctx.state
  const slot = slots.forOwner(identity.principal?.workspaceId ?? identity.remoteAddress)
  if (!slot.acquire(1)) {
    throw new Refusal('unavailable', 'too many long answers are being sent, try again later', { retry_after: 5 })
  }
  const reading = pieces[Symbol.asyncIterator]()
  try {
    let next = await reading.next()
    const { res } = ctx
    ctx.respond = false
    res.writeHead(200, streamHeadersOf(type, headers, identity))
    ctx.state.bytes = 0
    while (next.done !== true && ctx.method !== 'HEAD') {
      ctx.state.bytes += next.value.length
      if (!res.write(next.value)) await waitForDrain(res, patience)
      if (res.destroyed || ctx.req.socket.destroyed) return
      next = await reading.next()
    }
    res.end()
  } finally {
    await reading.return?.()
    slot.release(1)
  }
}
