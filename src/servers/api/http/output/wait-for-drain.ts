/** Waits until a client has read what was written to it. */
import type { ServerResponse } from 'node:http'

/**
 * Resolves when the response can be written to again, or its client is gone. A client that reads
 * nothing for `patience` milliseconds is disconnected. The socket is watched too: a response queued
 * behind another one gets no event when the connection breaks.
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
