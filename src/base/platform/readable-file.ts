/** A file that is read from any place on, a piece at a time. Its readers are not disturbed if its name is removed. */
import { type FileHandle, open } from 'node:fs/promises'
import { errorCodeOf } from './errors.js'

export interface ReadableFile {
  /** Bytes. */
  readonly size: number
  /** Reads up to `length` bytes. It may read fewer, and reads none only behind the end of the file. */
  readonly read: (at: number, length: number) => Promise<Buffer>
  readonly close: () => Promise<void>
}

/** Null if there is no such file. */
export async function openReadableFile(path: string): Promise<ReadableFile | null> {
  try {
    const file = await open(path, 'r')
    const { size } = await file.stat()
    return { size, read: (at, length) => readPart(file, at, length), close: () => file.close() }
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT') return null
    throw error
  }
}

export async function readPart(file: FileHandle, at: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(length), 0, length, at)
  return buffer.subarray(0, bytesRead)
}
