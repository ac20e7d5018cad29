/** An uploaded file, complete in memory within a budget for all such files. */
import { Refusal } from '../../../../base/mail/refusal.js'
import type { MemoryShares } from '../../../../base/platform/memory/shares.js'
import type { UploadedFile } from './upload.js'

export interface FilesInMemory {
  readonly memory: MemoryShares
  /** False if the disk is nearly full. */
  readonly hasDiskSpace: () => boolean
}

/** Rejects with a Refusal `storage-full` or `unavailable`, or with the fault of the request. */
export async function withFileInMemory<T>(
  { bytes }: UploadedFile,
  { memory: memoryShares, hasDiskSpace }: FilesInMemory,
  workspaceId: string,
  use: (file: Buffer) => Promise<T>,
): Promise<T> {
  if (!hasDiskSpace()) throw new Refusal('storage-full', 'the service cannot store anything now, try again later')
  const memory = memoryShares.forOwner(workspaceId)
  const chunks: Buffer[] = []
  let held = 0
  try {
    for await (const chunk of bytes) {
      // The bytes count twice, because joining the chunks copies them.
      if (!memory.acquire(chunk.length * 2)) throw noRoomRefusal()
      held += chunk.length * 2
      chunks.push(chunk)
    }
    const file = Buffer.concat(chunks.splice(0), held / 2)
    memory.release(held - file.length)
    held = file.length
    return await use(file)
  } finally {
    memory.release(held)
  }
}

function noRoomRefusal(): Refusal {
  return new Refusal('unavailable', 'too many files are being uploaded, try again later', { retry_after: 5 })
}
