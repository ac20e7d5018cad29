/**
 * Stores an uploaded file as it arrives. It writes each chunk to disk before it reads the next, and a reader can
 * find the file only after its last chunk.
 *
 * It removes a failed upload at once. `removeExpiredFiles` removes what a crash leaves.
 */
import { Refusal } from '../../base/mail/refusal.js'
import type { Clock } from '../../base/platform/clock.js'
import type { Store } from '../../base/storage/db/database.js'
import { WriteConflict } from '../../base/storage/db/write.js'
import {
  appendChunk,
  type CachedFile,
  completeFile,
  type FileRef,
  findFile,
  generateFileKey,
  insertFile,
  MAX_STORED_BYTES,
  removeFile,
  selectStoredBytes,
} from './cached-files.js'

/** Bytes of a chunk. The last one may be shorter. */
const CHUNK_BYTES = 262_144

export interface StoreFileDeps extends Store {
  readonly clock: Clock
  /** Bytes of all files of the workspaces of an owner. */
  readonly maxBytes?: number
}

interface NewFile {
  readonly workspaceId: string
  /** See `findOwnerId`. */
  readonly owner: string
  readonly name: string
  readonly contentType: string
  readonly bytes: AsyncIterable<Buffer>
}

/** Rejects with a Refusal `insufficient-quota`, or with the error of `bytes`. */
export async function storeFile(deps: StoreFileDeps, file: NewFile): Promise<CachedFile> {
  const { read, commit, clock } = deps
  const { workspaceId, name, contentType } = file
  const fileRef = { workspaceId, key: generateFileKey() }
  await requireRoom(deps, workspaceId, 1)
  await commit([insertFile({ ...fileRef, name, contentType, at: clock() })])
  try {
    await storeChunks(deps, fileRef, file)
    await commit([completeFile({ ...fileRef, at: clock() })])
  } catch (error) {
    await commit(removeFile(fileRef))
    throw error
  }
  const stored = await findFile(read, fileRef)
  if (stored === undefined) throw new Error('a file was removed just after it was stored')
  return stored
}

async function storeChunks(deps: StoreFileDeps, file: FileRef, { owner, bytes }: NewFile): Promise<void> {
  let place = 0
  const room = { owner, maxBytes: deps.maxBytes ?? MAX_STORED_BYTES }
  for await (const chunk of toChunks(bytes)) {
    try {
      await deps.commit(appendChunk(file, { place, bytes: chunk }, room))
    } catch (error) {
      if (error instanceof WriteConflict) await requireRoom(deps, file.workspaceId, chunk.length)
      throw error
    }
    place += 1
  }
}

/** Divides the bytes into chunks of one size. Each chunk is a copy, so it keeps no larger buffer in memory. */
async function* toChunks(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES)
  let end = 0
  for await (const piece of bytes) {
    for (let at = 0; at < piece.length; ) {
      const taken = piece.copy(chunk, end, at)
      at += taken
      end += taken
      if (end < CHUNK_BYTES) continue
      yield chunk
      chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES)
      end = 0
    }
  }
  if (end > 0) yield chunk.subarray(0, end)
}

async function requireRoom(
  { read, maxBytes = MAX_STORED_BYTES }: StoreFileDeps,
  workspaceId: string,
  bytes: number,
): Promise<void> {
  const used = (await selectStoredBytes(read, { workspaceId }))[0]?.bytes ?? 0
  if (used + bytes <= maxBytes) return
  const message = `the files of all workspaces of an owner may have ${maxBytes} bytes in total, and the stored files have ${used}`
  throw new Refusal('insufficient-quota', message, { limit: maxBytes, used })
}
