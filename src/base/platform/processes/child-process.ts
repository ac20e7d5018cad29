/** Sets up one of our child processes from inside: its stream to the parent, and its rank when memory runs out. */
import { writeFileSync } from 'node:fs'
import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'

/** Octets that are read at once. */
const READ_BYTES = 65_536

/**
 * The stream on the descriptor after the standard ones, which is `stdio[3]` to the parent. `read` gets what comes from the
 * parent in memory that the next read overwrites: a new Buffer for each read left holes in the heap of the C library, which
 * held twice a large message for as long as the process lived.
 */
export function openParentStream(read: (chunk: Buffer) => void): Duplex {
  const buffer = Buffer.allocUnsafeSlow(READ_BYTES)
  const callback = (length: number): boolean => {
    read(buffer.subarray(0, length))
    return true
  }
  return new Socket({ fd: 3, onread: { buffer, callback } })
}

/** Makes Linux kill this process before all others when memory runs out. It does nothing on other systems. */
export function raiseOomScore(): void {
  try {
    writeFileSync('/proc/self/oom_score_adj', '1000')
  } catch {
    // This is not Linux, or it is not permitted: the limits of the process itself remain.
  }
}
