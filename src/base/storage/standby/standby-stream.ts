/**
 * Writes the log of a database into a standby folder: a segment for each piece of it, and a snapshot now and then.
 *
 * A stream goes on after a restart if the log shows that nothing is missing; otherwise a new generation begins, and the
 * old one is kept until the new one has a snapshot.
 */
import { readFileSync, readSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { syncFile } from '../maintenance/backup.js'
import { PageCopy } from '../wal/page-copy.js'
import { openSource } from '../wal/source-file.js'
import { WalFollower } from '../wal/wal-follower.js'
import { FRAME_HEADER_BYTES, statedChecksum } from '../wal/wal-frames.js'
import { type LogPosition, type WalPiece, WalReader } from '../wal/wal-reader.js'
import {
  createGeneration,
  generationOf,
  listGenerations,
  listSegments,
  listSnapshots,
  removeOld,
  segmentFile,
  snapshotFile,
  writeDurably,
} from './standby-folder.js'

interface StreamOptions {
  readonly file: string
  readonly folder: string
  readonly keep: number
  readonly now: () => number
  /** Four characters that make the name of a generation unique. */
  readonly randomName: () => string
}

interface Place {
  number: number
  log: number
  salts: string
}

export class StandbyStream {
  private readonly options: StreamOptions
  private readonly follower: WalFollower
  private readonly name: string
  private readonly place: Place
  private copy: PageCopy | null = null
  private snapshotTime: number | null

  constructor(options: StreamOptions) {
    this.options = options
    this.follower = new WalFollower(options.file)
    try {
      const resumed = this.findPlace()
      this.name = resumed?.name ?? generationOf(options.folder, options.now(), options.randomName())
      this.place = resumed?.place ?? { number: 0, log: 0, salts: '' }
      if (resumed === null) createGeneration(this.generation())
      this.snapshotTime = listSnapshots(this.generation()).at(-1)?.at ?? null
    } catch (error) {
      this.follower.close({ keepLog: true })
      throw error
    }
  }

  get generationName(): string {
    return this.name
  }

  /** Segments that were written in this generation. */
  get segments(): number {
    return this.place.number
  }

  /** When the newest snapshot was complete. Null if there is none yet. */
  get snapshotAt(): number | null {
    return this.snapshotTime
  }

  /** Everything that is committed now is in the folder when it returns. Returns the number of bytes. */
  poll(): number {
    return this.follower.poll((piece) => this.take(piece))
  }

  /** Call it when the database is idle. */
  settle(): void {
    this.follower.settle()
  }

  /**
   * Copies the next megabyte of a snapshot. If no snapshot is under way, it begins one. False if the snapshot is
   * complete.
   */
  stepSnapshot(): boolean {
    this.copy ??= this.beginSnapshot()
    if (this.copy.step()) return true
    this.poll()
    this.endSnapshot(this.copy)
    return false
  }

  isSnapshotUnderWay(): boolean {
    return this.copy !== null
  }

  close(): void {
    this.copy?.close()
    this.follower.close({ keepLog: true })
  }

  private generation(): string {
    return join(this.options.folder, this.name)
  }

  private take(piece: WalPiece): void {
    const { header, offset, bytes } = piece
    const log = header.salts === this.place.salts ? this.place.log : this.place.log + 1
    const number = this.place.number + 1
    writeDurably(segmentFile(this.generation(), { number, log, offset }), bytes)
    this.copy?.apply(piece)
    Object.assign(this.place, { number, log, salts: header.salts })
  }

  /** The end of the newest generation, if the database's log goes on from there. */
  private findPlace(): { readonly name: string; readonly place: Place } | null {
    const name = listGenerations(this.options.folder).at(-1)
    if (name === undefined) return null
    const last = listSegments(join(this.options.folder, name)).at(-1)
    if (last === undefined) return null
    const end = readEnd(last.file, last.offset, pageSizeOf(this.options.file))
    if (end === null || !this.follower.resume(end)) return null
    return { name, place: { number: last.number, log: last.log, salts: end.salts } }
  }

  /** The log as it is now is applied first: pages that only it has are not in the file. */
  private beginSnapshot(): PageCopy {
    this.poll()
    const partial = this.partialSnapshot()
    rmSync(partial, { force: true })
    const copy = new PageCopy(openSource(this.options.file), partial, this.follower.countPages())
    for (const piece of new WalReader(`${this.options.file}-wal`).read()) copy.apply(piece)
    return copy
  }

  private endSnapshot(copy: PageCopy): void {
    const bytes = copy.finish()
    copy.close()
    this.copy = null
    const number = this.place.number + 1
    const file = snapshotFile(this.generation(), number, 'db')
    renameSync(this.partialSnapshot(), file)
    syncFile(dirname(file))
    const at = this.options.now()
    const note = { number, at, bytes, position: this.follower.position() }
    writeDurably(snapshotFile(this.generation(), number, 'json'), Buffer.from(`${JSON.stringify(note)}\n`))
    this.snapshotTime = at
    removeOld(this.options.folder, this.name, this.options.keep)
  }

  private partialSnapshot(): string {
    return join(this.generation(), 'snapshots', 'snapshot.partial')
  }
}

/** Reads the last frame of a segment. */
function readEnd(
  file: string,
  offset: number,
  pageSize: number,
): Pick<LogPosition, 'salts' | 'offset' | 'checksum'> | null {
  const { size } = statSync(file)
  const frame = readFileSync(file).subarray(Math.max(0, size - pageSize - FRAME_HEADER_BYTES))
  if (frame.length < pageSize + FRAME_HEADER_BYTES) return null
  return { salts: frame.toString('hex', 8, 16), offset: offset + size, checksum: statedChecksum(frame) }
}

function pageSizeOf(file: string): number {
  const header = Buffer.alloc(2)
  readSync(openSource(file), header, 0, 2, 16)
  return header.readUInt16BE(0) === 1 ? 65_536 : header.readUInt16BE(0)
}
