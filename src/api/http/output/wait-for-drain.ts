/** Waiting for a client to take what was written to it. */
import type { ServerResponse } from 'node:http'

/**
 * Resolves when there is room again, or nobody any more. Who takes nothing for `patience`
 * milliseconds is cut off. The socket is asked too: an answer that waits behind another one on a
 * connection that breaks is never told of its end.
 */
export function waitForDrain(response: ServerResponse, patience: number): Promise<void> {
  const { socket } = response.req
  return new Promise((resolve) => {
    const timer = setTimeout(() => socket.destroy(), patience)
    const done = (): void => {
      clearTimeout(timer)
      response.off('drain', done).off('close', done)
      socket.off('close', done)
      resolve()
    }
    response.once('drain', done).once('close', done)
    socket.once('close', done)
    if (response.destroyed || socket.destroyed) done()
  })
}
