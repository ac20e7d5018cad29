/**
 * Releases the memory of large Buffers at once instead of at the next garbage collection: V8 counts only its own
 * heap, and may leave hundreds of megabytes outside of it unreleased.
 *
 * The memory is transferred into a message that is never received. Each Buffer on it is empty afterwards, so the
 * caller must be its only user: no write of it to a file or a socket may be under way, since that reads the memory
 * without V8's knowledge.
 */
import { MessageChannel } from 'node:worker_threads'

/** Bytes from which the cost of a channel is justified. */
const LARGE_BYTES = 1_048_576

export function freeMemory(...buffers: readonly Uint8Array[]): void {
  const large = new Set(buffers.map(({ buffer }) => buffer).filter(isLargeMemory))
  if (large.size === 0) return
  const { port1, port2 } = new MessageChannel()
  port1.postMessage(null, [...large])
  port1.close()
  port2.close()
}

/** Shared memory cannot be given away. */
function isLargeMemory(memory: ArrayBufferLike): memory is ArrayBuffer {
  return memory instanceof ArrayBuffer && memory.byteLength >= LARGE_BYTES
}
