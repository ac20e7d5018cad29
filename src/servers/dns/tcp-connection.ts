/**
 * One connection over TCP: framed messages, answered one at a time and in order (RFC 7766).
 *
 * The length of a message, the time until it is complete and the time until the client has read a reply are
 * limited, so that an unused connection is closed.
 */
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import { systemClock } from '../../base/platform/clock.js'
import type { ConnectionState } from '../../base/platform/connections/connection-limiter.js'
import { MAX_QUERY_SIZE } from './query.js'
import type { Responder } from './responder.js'

export interface DnsConnection {
  /** Finishes the current reply and reads no further message. */
  readonly finish: () => void
  readonly whenClosed: Promise<void>
  /** What the connection limiter may judge. Null if a reply is being sent. */
  readonly status: () => ConnectionState | null
}

/** Milliseconds without a complete message, or without progress of the reply. */
const IDLE_TIMEOUT = 10_000

/** A connection without a question for so many milliseconds may be closed for another client. */
const EVICTABLE_AFTER = 1_000

/** Never rejects. */
export function serveConnection(
  socket: Socket,
  client: string,
  responder: Pick<Responder, 'respondOverTcp'>,
  limit = IDLE_TIMEOUT,
): DnsConnection {
  const deadline = startDeadline(socket, limit)
  // Every fault of the socket ends in its `close` event.
  socket.on('error', () => undefined)
  let [busy, finishing, asked] = [false, false, false]
  let since = systemClock()

  async function answerAll(): Promise<void> {
    for await (const message of readMessages(socket)) {
      ;[busy, asked] = [true, true]
      let sent = 0
      for await (const reply of responder.respondOverTcp(message, client)) {
        deadline.extend()
        await sendReply(socket, reply)
        sent += 1
        // A transfer shares the thread with everything else.
        await yieldToEventLoop()
      }
      busy = false
      since = systemClock()
      deadline.extend()
      if (sent === 0 || finishing) break
    }
    socket.end()
  }

  const whenClosed = answerAll()
    // The client is gone, or a transfer cannot continue and has no reply that would say so.
    .catch(() => socket.destroy())
    .then(() => waitForClose(socket))
    .finally(() => deadline.clear())
  return {
    whenClosed,
    status: () => {
      if (busy) return null
      return { rank: asked ? 'idle' : 'unproved', since, isFresh: systemClock() - since < EVICTABLE_AFTER }
    },
    finish: () => {
      finishing = true
      if (!busy) socket.destroy()
    },
  }
}

interface Deadline {
  readonly extend: () => void
  readonly clear: () => void
}

function startDeadline(socket: Socket, limit: number): Deadline {
  const timer = setTimeout(() => socket.destroy(), limit)
  return { extend: () => timer.refresh(), clear: () => clearTimeout(timer) }
}

async function sendReply(socket: Socket, reply: Buffer): Promise<void> {
  const size = Buffer.alloc(2)
  size.writeUInt16BE(reply.length)
  if (socket.destroyed) throw new Error('the client is gone')
  if (!socket.write(Buffer.concat([size, reply]))) await waitForDrain(socket)
}

/** Resolves at `close` too. A transfer waits often, so each wait removes its event listeners. */
async function waitForDrain(socket: Socket): Promise<void> {
  const settled = new AbortController()
  const { signal } = settled
  try {
    await Promise.race([once(socket, 'drain', { signal }), once(socket, 'close', { signal })])
  } finally {
    settled.abort()
  }
}

async function waitForClose(socket: Socket): Promise<void> {
  if (!socket.closed) await once(socket, 'close').catch(() => undefined)
}

/** Ends with the connection, even within a message, and before a message that is longer than any question. */
async function* readMessages(socket: Socket): AsyncGenerator<Buffer> {
  let held: Buffer = Buffer.alloc(0)
  const chunks: AsyncIterable<Buffer> = socket.iterator({ destroyOnReturn: false })
  for await (const chunk of chunks) {
    held = held.length === 0 ? chunk : Buffer.concat([held, chunk])
    while (held.length >= 2) {
      const end = 2 + held.readUInt16BE(0)
      if (end > 2 + MAX_QUERY_SIZE) return
      if (held.length < end) break
      yield held.subarray(2, end)
      held = held.subarray(end)
    }
  }
}
