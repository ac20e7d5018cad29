/**
 * Bytes in an unlinked file until they are read: they take disk space instead of memory, and the file goes with
 * its reader or with the process.
 */
import { randomUUID } from 'node:crypto'
import { mkdir, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type ReadableFile, readPart } from './readable-file.js'

export type SpoolFile = Pick<ReadableFile, 'read' | 'close'>

export interface Spool {
  /** Rejects if the disk cannot store them. */
  readonly write: (pieces: readonly Buffer[]) => Promise<SpoolFile>
}

/** Nothing else may use `folder`: it is emptied first, because a killed process may have left files. */
export async function openSpool(folder: string): Promise<Spool> {
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true, mode: 0o700 })
  return { write: (pieces) => writeSpoolFile(folder, pieces) }
}

async function writeSpoolFile(folder: string, pieces: readonly Buffer[]): Promise<SpoolFile> {
  const path = join(folder, randomUUID())
  const file = await open(path, 'wx+', 0o600)
  try {
    await rm(path)
    for (const piece of pieces) await file.writeFile(piece)
  } catch (error) {
    await file.close()
    throw error
  }
  return { read: (at, length) => readPart(file, at, length), close: () => file.close() }
}
