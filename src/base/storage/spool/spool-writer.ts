/**
 * Appends the bytes of a batch to the current spool file: one write a value, one fdatasync for all.
 *
 * Invariant: after `sync` what was written and not undone is on disk, in a file whose name is on disk. Where a call throws
 * a `StorageFault`, the batch is to be taken back. A file that was begun by an earlier writer is never appended to: after
 * a crash its end is unknown. Nor is one whose fdatasync failed: which of its pages reached the disk is unknown too.
 */
import { closeSync, fdatasyncSync, fsyncSync, ftruncateSync, mkdirSync, openSync, rmSync, writevSync } from 'node:fs'
import { dirname } from 'node:path'
import { crc32 } from 'node:zlib'
import { errorCodeOf, errorMessageOf } from '../../platform/errors.js'
import { listSpoolFiles, spoolFile, type WrittenPlace } from '../db/spool-files.js'
import { StorageFault } from '../db/write.js'

/** If a file has this size, the next batch goes to a new file. */
const MAX_FILE_BYTES = 67_108_864

/** One value, in pieces that are written one behind the other. */
export type SpooledValue = readonly Uint8Array[]

export function countBytes(value: SpooledValue): number {
  return value.reduce((sum, { byteLength }) => sum + byteLength, 0)
}

interface OpenFile {
  readonly number: number
  readonly descriptor: number
  /** Its end. Bytes after it belong to no row. */
  end: number
}

interface SpoolWriterOptions {
  readonly folder: string
  /** The highest number that the database names, or 0 if it names none. */
  readonly named: number
  readonly maxFileBytes?: number
}

export class SpoolWriter {
  private current: OpenFile | null = null
  private lastNumber: number
  /** Where the bytes of the batch begin in the current file. Null if it has none yet. */
  private batchStart: number | null = null

  constructor(private readonly options: SpoolWriterOptions) {
    this.lastNumber = options.named
  }

  /** The number of the file that is written to. */
  get currentFile(): number | null {
    return this.current?.number ?? null
  }

  /** A batch begins. The one before can no longer be taken back. */
  begin(): void {
    this.batchStart = null
  }

  /** Writes a value behind those before it. */
  write(pieces: SpooledValue): WrittenPlace {
    const file = this.openCurrent()
    this.batchStart ??= file.end
    const bytes = countBytes(pieces)
    const crc = pieces.reduce((crc, piece) => crc32(piece, crc), 0)
    try {
      writeAll(file, pieces)
    } catch (error) {
      throw toFault(error, 'SQLITE_IOERR_WRITE')
    }
    const place = { file: file.number, at: file.end, bytes, crc }
    file.end += bytes
    return place
  }

  /** No row will name this value of the batch, and those that were written behind it. */
  undo({ at }: WrittenPlace): void {
    const file = this.current
    if (file === null) return
    file.end = at
    try {
      ftruncateSync(file.descriptor, at)
    } catch (error) {
      throw toFault(error, 'SQLITE_IOERR_TRUNCATE')
    }
  }

  sync(): void {
    const file = this.current
    if (file === null || file.end === (this.batchStart ?? file.end)) return
    try {
      fdatasyncSync(file.descriptor)
    } catch (error) {
      this.takeBack()
      this.abandon()
      throw toFault(error, 'SQLITE_IOERR_FSYNC')
    }
  }

  /** No row names what the batch has written, and none will. */
  takeBack(): void {
    const file = this.current
    if (file === null || this.batchStart === null) return
    file.end = this.batchStart
    this.batchStart = null
    try {
      ftruncateSync(file.descriptor, file.end)
    } catch {
      this.abandon()
    }
  }

  /** Ends the current file. The next sweep removes the bytes at its end that no row names. */
  abandon(): void {
    const file = this.current
    if (file === null) return
    this.current = null
    try {
      closeSync(file.descriptor)
      if (file.end === 0) rmSync(spoolFile(this.options.folder, file.number), { force: true })
    } catch {
      // This happens on a file system that has become read-only. The next sweep removes the file.
    }
  }

  private openCurrent(): OpenFile {
    const { folder, maxFileBytes = MAX_FILE_BYTES } = this.options
    const isBetweenBatches = this.batchStart === null
    if (isBetweenBatches && this.current !== null && this.current.end >= maxFileBytes) this.abandon()
    if (this.current !== null) return this.current
    try {
      if (mkdirSync(folder, { recursive: true, mode: 0o700 }) !== undefined) syncFolder(dirname(folder))
      const number = Math.max(this.lastNumber, listSpoolFiles(folder).at(-1) ?? 0) + 1
      const descriptor = openSync(spoolFile(folder, number), 'wx', 0o600)
      this.current = { number, descriptor, end: 0 }
      this.lastNumber = number
      syncFolder(folder)
      return this.current
    } catch (error) {
      this.abandon()
      throw toFault(error, 'SQLITE_CANTOPEN')
    }
  }
}

function writeAll({ descriptor, end }: OpenFile, pieces: readonly Uint8Array[]): void {
  let left = pieces.filter(({ byteLength }) => byteLength > 0)
  for (let at = end; left.length > 0; ) {
    const written = writevSync(descriptor, left, at)
    if (written === 0) throw new Error('the file takes no more bytes')
    at += written
    left = skipBytes(left, written)
  }
}

/** The kernel may write less than it was asked to. */
function skipBytes(pieces: readonly Uint8Array[], bytes: number): Uint8Array[] {
  let skipped = 0
  return pieces.flatMap((piece) => {
    const from = Math.min(piece.byteLength, bytes - skipped)
    skipped += from
    return from === piece.byteLength ? [] : [piece.subarray(from)]
  })
}

function syncFolder(folder: string): void {
  const opened = openSync(folder, 'r')
  try {
    fsyncSync(opened)
  } finally {
    closeSync(opened)
  }
}

/** The fault has the code that SQLite gives the same fault. */
function toFault(error: unknown, otherwise: string): StorageFault {
  const code = errorCodeOf(error)
  const message = `a spool file cannot be written: ${errorMessageOf(error)}`
  if (['ENOSPC', 'EDQUOT', 'EFBIG'].includes(code)) return new StorageFault('SQLITE_FULL', message)
  return new StorageFault(code === 'EROFS' ? 'SQLITE_READONLY' : otherwise, message)
}
