/**
 * One connection over TCP: framed messages, answered one after the other in their order (RFC 7766).
 *
 * Everything is bounded: a message in its length and the time until it is whole, a reply in the time until the
 * client takes it, so that who opens connections and does nothing with them loses them.
 */
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { setImmediate as breath } from 'node:timers/promises'
import { systemClock } from '../platform/clock.js'
import type { Standing } from '../platform/connections/connection-limit.js'
import type { Desk } from './desk.js'
import { longestQuery } from './query.js'

export interface Conversation {
  /** What is under way is finished; nothing further is read. */
  readonly finish: () => void
  readonly ended: Promise<void>
  /** What it uses its place for; null: for an answer. */
  readonly standing: () => Standing | null
}

/** Milliseconds without a whole message, or without the client taking what it is sent. */
export const patience = 10_000

/** Who has asked nothing for so many milliseconds gives way to another client. */
const givesWayAfter = 1_000

/** Never rejects. */
export function converse(socket: Socket, client: string, { overTcp }: Desk, limit = patience): Conversation {
  const deadline = deadlineOf(socket, limit)
  // Whatever went wrong with it ends in its close.
  socket.on('error', () => undefined)
  let [busy, finishing, asked] = [false, false, false]
  let since = systemClock()

  async function answerAll(): Promise<void> {
    for await (const message of messagesOf(socket)) {
      ;[busy, asked] = [true, true]
      let sent = 0
      for (const reply of overTcp(message, client)) {
        deadline.push()
        await send(socket, reply)
        sent += 1
        // A transfer shares the thread with everybody else.
        await breath()
      }
      busy = false
      since = systemClock()
      deadline.push()
      if (sent === 0 || finishing) break
    }
    socket.end()
  }

  const ended = answerAll()
    // The client is gone, or a transfer cannot go on: a whole reply is all that it could be told.
    .catch(() => socket.destroy())
    .then(() => closed(socket))
    .finally(() => deadline.clear())
  return {
    ended,
    standing: () => {
      if (busy) return null
      return { rank: asked ? 'idle' : 'unproved', since, fresh: systemClock() - since < givesWayAfter }
    },
    finish: () => {
      finishing = true
      if (!busy) socket.destroy()
    },
  }
}

interface Deadline {
  readonly push: () => void
  readonly clear: () => void
}

function deadlineOf(socket: Socket, limit: number): Deadline {
  const timer = setTimeout(() => socket.destroy(), limit)
  return { push: () => timer.refresh(), clear: () => clearTimeout(timer) }
}

async function send(socket: Socket, reply: Buffer): Promise<void> {
  const size = Buffer.alloc(2)
  size.writeUInt16BE(reply.length)
  if (socket.destroyed) throw new Error('the client is gone')
  if (!socket.write(Buffer.concat([size, reply]))) await drained(socket)
}

/** Or closed. A transfer waits often: no wait may leave its listeners behind. */
async function drained(socket: Socket): Promise<void> {
  const settled = new AbortController()
  const { signal } = settled
  try {
    await Promise.race([once(socket, 'drain', { signal }), once(socket, 'close', { signal })])
  } finally {
    settled.abort()
  }
}

async function closed(socket: Socket): Promise<void> {
  if (!socket.closed) await once(socket, 'close').catch(() => undefined)
}

/** Ends with the connection, in the middle of a message too, and before one that is longer than any question. */
async function* messagesOf(socket: Socket): AsyncGenerator<Buffer> {
  let held: Buffer = Buffer.alloc(0)
  for await (const chunk of socket.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    held = held.length === 0 ? chunk : Buffer.concat([held, chunk])
    while (held.length >= 2) {
      const end = 2 + held.readUInt16BE(0)
      if (end > 2 + longestQuery) return
      if (held.length < end) break
      yield held.subarray(2, end)
      held = held.subarray(end)
    }
  }
}
