/** A file that is read from any place on, a piece at a time. */
import type { FileHandle } from 'node:fs/promises'

export interface ReadableFile {
  /** Bytes. */
  readonly size: number
  /** Reads up to `length` bytes. It may read fewer, and reads none only behind the end of the file. */
  readonly read: (at: number, length: number) => Promise<Buffer>
  readonly close: () => Promise<void>
}

export async function readPart(file: FileHandle, at: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(length), 0, length, at)
  return buffer.subarray(0, bytesRead)
}
