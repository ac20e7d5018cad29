/**
 * An uploaded file, whole and in memory, within a budget over all of them: for what is only to
 * be begun with when all of it has come.
 */
import { Refusal } from '../mail/refusal.js'
import type { MemoryShares } from '../platform/memory-shares.js'
import type { UploadedFile } from './upload.js'

/** Rejects with a Refusal `unavailable` where there is no room, or with what is wrong with the request. */
export async function withWholeFile<T>(
  { bytes }: UploadedFile,
  memory: ReturnType<MemoryShares['of']>,
  use: (file: Buffer) => Promise<T>,
): Promise<T> {
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of bytes) {
      // Twice: joining them needs their size once more.
      if (!memory.take(chunk.length * 2)) throw noRoom()
      size += chunk.length
      chunks.push(chunk)
    }
    return await use(Buffer.concat(chunks.splice(0), size))
  } finally {
    memory.give(size * 2)
  }
}

function noRoom(): Refusal {
  return new Refusal('unavailable', 'too many files are on their way in, try again later', { retry_after: 5 })
}
