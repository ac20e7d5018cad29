/**
 * Large answers, until their clients have read them: how much memory they may hold, and for
 * how long.
 *
 * What a client does not read stays with us, and a message has up to 15 MB. An answer that
 * fits what a connection buffers anyway is not counted. The place is given back when the
 * answer is over, or its connection is: an answer that waits behind another one on a
 * connection that breaks is never told of its end.
 */
import type { Socket } from 'node:net'
import { Refusal } from '../mail/refusal.js'
import type { MemoryShares } from '../platform/memory-shares.js'
import type { ApiContext } from './api-state.js'

/** Bytes of an answer that counts. */
const LARGE = 65_536

export interface AnswerMemory {
  /** Throws a Refusal `unavailable` where there is no room for the answer. */
  readonly hold: (ctx: ApiContext, payload: string | Buffer) => void
}

/** `limit`: milliseconds for a large answer to be read. */
export function answerMemory(shares: MemoryShares, limit: number): AnswerMemory {
  const waiting = new WeakMap<Socket, Set<() => void>>()

  function whenItCloses(socket: Socket): Set<() => void> {
    const known = waiting.get(socket)
    if (known !== undefined) return known
    const ends = new Set<() => void>()
    waiting.set(socket, ends)
    socket.once('close', () => {
      for (const end of ends) end()
    })
    return ends
  }

  return {
    hold: ({ req, res, state: { visit } }, payload) => {
      if (payload.length <= LARGE / 3) return // no character has more than three bytes
      const bytes = Buffer.byteLength(payload)
      const { socket } = req
      if (bytes <= LARGE || socket.destroyed) return
      const memory = shares.of(visit.principal?.workspaceId ?? visit.remoteAddress)
      if (!memory.take(bytes)) throw noRoom()
      const timer = setTimeout(() => socket.destroy(), limit)
      const ends = whenItCloses(socket)
      const end = (): void => {
        if (!ends.delete(end)) return
        clearTimeout(timer)
        memory.give(bytes)
      }
      ends.add(end)
      res.once('close', end)
    },
  }
}

function noRoom(): Refusal {
  return new Refusal('unavailable', 'too many large answers are not read yet, try again later', { retry_after: 1 })
}
