/**
 * A copy of a database file, made page by page while the database is written, and kept exact by the frames of its log.
 *
 * Pages of the log are never older than those of the file, so a page that came from the log is no longer copied from
 * the file. When all pages are there, the copy is the database as of the last commit that was applied.
 */
import { closeSync, fdatasyncSync, fsyncSync, ftruncateSync, openSync, readSync, writeSync } from 'node:fs'
import { FRAME_HEADER_BYTES, frameBytes, WAL_HEADER_BYTES } from './wal-frames.js'
import type { WalPiece } from './wal-reader.js'

const STEP_BYTES = 1 << 20
/** Bytes after which the copy is written to disk, so that no flush is long. */
const SYNC_BYTES = 8 << 20
const PAGE_SIZE_OFFSET = 16

/** Applies frames to a database file that no process has open. */
export class PageFile {
  protected readonly target: number
  private unsynced = 0

  constructor(file: string, flags: 'wx' | 'r+') {
    this.target = openSync(file, flags, 0o600)
  }

  /** Pieces are applied in the order of the log. A piece that does not end a commit is followed by one that does. */
  apply({ header, offset, bytes }: Omit<WalPiece, 'complete'>): void {
    for (let at = offset === 0 ? WAL_HEADER_BYTES : 0; at < bytes.length; at += frameBytes(header)) {
      const page = bytes.readUInt32BE(at)
      this.writePage(page, bytes, at + FRAME_HEADER_BYTES, header.pageSize)
      const pages = bytes.readUInt32BE(at + 4)
      if (pages > 0) this.resize(pages, header.pageSize)
    }
  }

  /** Everything is on disk. */
  sync(): void {
    fsyncSync(this.target)
    this.unsynced = 0
  }

  close(): void {
    closeSync(this.target)
  }

  protected writePage(page: number, bytes: Buffer, from: number, size: number): void {
    this.write(bytes, from, size, (page - 1) * size)
  }

  protected resize(pages: number, size: number): void {
    ftruncateSync(this.target, pages * size)
  }

  protected write(bytes: Buffer, from: number, length: number, position: number): void {
    for (let done = 0; done < length; ) {
      done += writeSync(this.target, bytes, from + done, length - done, position + done)
    }
    this.unsynced += length
    if (this.unsynced < SYNC_BYTES) return
    fdatasyncSync(this.target)
    this.unsynced = 0
  }
}

export class PageCopy extends PageFile {
  private readonly source: number
  private readonly pageSize: number
  private readonly buffer = Buffer.allocUnsafe(STEP_BYTES)
  /** A bit for each page that came from the log. */
  private applied = Buffer.alloc(1024)
  /** Pages of the database when the copy began. Pages that are added later come through the log. */
  private readonly firstPages: number
  private pages: number
  private nextPage = 0

  /**
   * `source` is the descriptor of the database file. It must stay open as long as the process has connections to it.
   * `pages` are those of the database now.
   */
  constructor(source: number, to: string, pages: number) {
    super(to, 'wx')
    this.source = source
    this.firstPages = pages
    this.pages = pages
    const header = Buffer.alloc(2)
    readSync(source, header, 0, 2, PAGE_SIZE_OFFSET)
    const stated = header.readUInt16BE(0)
    this.pageSize = stated === 1 ? 65_536 : stated
  }

  /** Bytes of the database when the copy began, and how many of them are copied. */
  progress(): { readonly bytes: number; readonly total: number } {
    return { bytes: this.nextPage * this.pageSize, total: this.firstPages * this.pageSize }
  }

  /** Copies the next megabyte. False if all pages are there. */
  step(): boolean {
    if (this.nextPage >= this.firstPages) return false
    const count = Math.min(STEP_BYTES / this.pageSize, this.firstPages - this.nextPage)
    const filled = readSync(this.source, this.buffer, 0, count * this.pageSize, this.nextPage * this.pageSize)
    // Pages that are in the log alone were applied from there.
    this.writeUnapplied(Math.floor(filled / this.pageSize))
    this.nextPage += count
    return this.nextPage < this.firstPages
  }

  protected override writePage(page: number, bytes: Buffer, from: number, size: number): void {
    super.writePage(page, bytes, from, size)
    this.mark(page - 1)
  }

  protected override resize(pages: number, size: number): void {
    // Pages that come back later come through the log.
    if (pages < this.pages) super.resize(pages, size)
    this.pages = pages
  }

  /** The size becomes that of the last commit, and everything is on disk. Returns that size. */
  finish(): number {
    ftruncateSync(this.target, this.pages * this.pageSize)
    this.sync()
    return this.pages * this.pageSize
  }

  /** Writes runs of pages that did not come from the log. */
  private writeUnapplied(count: number): void {
    let first = 0
    for (let index = 0; index <= count; index += 1) {
      if (index < count && !this.isMarked(this.nextPage + index)) continue
      if (index > first) {
        const from = first * this.pageSize
        this.write(this.buffer, from, (index - first) * this.pageSize, (this.nextPage + first) * this.pageSize)
      }
      first = index + 1
    }
  }

  private mark(page: number): void {
    const at = page >> 3
    if (at >= this.applied.length) {
      const larger = Buffer.alloc(Math.max(at + 1, this.applied.length * 2))
      this.applied.copy(larger)
      this.applied = larger
    }
    this.applied[at] = (this.applied[at] ?? 0) | (1 << (page & 7))
  }

  private isMarked(page: number): boolean {
    return ((this.applied[page >> 3] ?? 0) & (1 << (page & 7))) !== 0
  }
}
