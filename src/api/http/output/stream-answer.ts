/**
 * An answer of any length, in pieces: no more of it is in memory than one piece and what a
 * connection buffers.
 *
 * The next piece is asked for when the client has taken the last one. A client that takes
 * nothing for a while is cut off, one that is gone ends the reading, and there are only so
 * many such answers at a time, for each workspace and in all. What goes wrong before the first
 * piece is answered as usual; later the connection is cut, so that half an answer is never
 * taken for a whole one.
 */
import { Refusal } from '../../../mail/refusal.js'
import type { MemoryShares } from '../../../platform/memory/shares.js'
import type { ApiContext } from '../pipeline/api-context.js'
import type { StreamAnswer } from '../route.js'
import { streamHeadersOf } from './send-reply.js'
import { waitForDrain } from './wait-for-drain.js'

export interface StreamLimits {
  /** Places, of which each such answer takes one. */
  readonly slots: MemoryShares
  /** Milliseconds that a client may take for a piece. */
  readonly patience: number
}

/** Throws a Refusal `unavailable` where too many are under way. */
export async function sendStream(
  ctx: ApiContext,
  { type, headers, pieces }: StreamAnswer,
  { slots, patience }: StreamLimits,
): Promise<void> {
  const { identity } = ctx.state
  const place = slots.forOwner(identity.principal?.workspaceId ?? identity.remoteAddress)
  if (!place.acquire(1)) {
    throw new Refusal('unavailable', 'too many long answers are under way, try again later', { retry_after: 5 })
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
    place.release(1)
  }
}
