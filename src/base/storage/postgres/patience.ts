/** Limits the time for which clients wait for the server. */
import { StorageFault } from '../db/write.js'

const PARTS = 5

/**
 * Calls `act` after the milliseconds, unless the function is called that it returns. Time in which this process was stopped
 * is no fault of the server: however long that was, it counts as one part of the time.
 */
export function startPatience(milliseconds: number, act: () => void): () => void {
  let left = PARTS
  const patience = setInterval(() => {
    left -= 1
    if (left === 0) act()
  }, milliseconds / PARTS)
  return () => clearInterval(patience)
}

/** A promise that is settled by then stays as it is. */
export function rejectAfter(milliseconds: number, reject: (error: Error) => void): void {
  const fault = new StorageFault('slow', `PostgreSQL has not answered within ${milliseconds / 1000} s`)
  setTimeout(reject, milliseconds, fault).unref()
}
