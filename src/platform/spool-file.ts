/**
 * Bytes that are kept in a file without a name until they were read: it takes room on the disk
 * and none in memory, and ends with its reader, or with the process.
 */
import { randomUUID } from 'node:crypto'
import { type FileHandle, mkdir, open, rm } from 'node:fs/promises'
import { join } from 'node:path'

export interface SpoolFile {
  /** Up to `length` bytes; fewer at the end. */
  readonly read: (at: number, length: number) => Promise<Buffer>
  readonly close: () => Promise<void>
}

export interface Spool {
  /** Rejects where the disk does not take them. */
  readonly write: (bytes: Buffer) => Promise<SpoolFile>
}

/** In a folder of its own, which is emptied first: what a process that was killed has left there is for no reader. */
export async function openSpool(folder: string): Promise<Spool> {
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true, mode: 0o700 })
  return { write: (bytes) => writeSpoolFile(folder, bytes) }
}

async function writeSpoolFile(folder: string, bytes: Buffer): Promise<SpoolFile> {
  const path = join(folder, randomUUID())
  const file = await open(path, 'wx+', 0o600)
  try {
    await rm(path)
    await file.writeFile(bytes)
  } catch (error) {
    await file.close()
    throw error
  }
  return { read: (at, length) => readPart(file, at, length), close: () => file.close() }
}

async function readPart(file: FileHandle, at: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(length), 0, length, at)
  return buffer.subarray(0, bytesRead)
}
