/**
 * The *follower* sees every commit of a database in use, whichever process made it and whichever copies the log back.
 *
 * A read transaction is always held, and the next one begins before the last one ends. SQLite copies pages back to the
 * database up to the oldest reader only, and restarts the log only when no reader needs it; so nothing leaves the log
 * that `poll` has not passed on. Under load that reader would keep the log growing: `rotate` holds the write lock for a
 * moment, in which all is copied back, so that the next commit restarts the log.
 */

import SQLite from 'better-sqlite3'
import { openConnection } from '../db/connection.js'
import { type LogPosition, type WalPiece, WalReader } from './wal-reader.js'

/** The log is rotated when it has so many frames: 16 MB. */
const MAX_FRAMES = 4000
/** The log is rotated after so many milliseconds too: deleted bytes leave it then. */
const MAX_LOG_AGE = 60_000
/** Milliseconds that a rotation waits for the write lock; it is tried again at the next poll. */
const MAX_LOCK_WAIT = 500

interface Checkpoint {
  readonly busy: number
  /** Frames of the log. */
  readonly log: number
  readonly checkpointed: number
}

/** The log has other frames than those that were read: the copy must start again. */
export class LostLog extends Error {
  override name = 'LostLog'
}

export class WalFollower {
  private readonly readers: [SQLite.Database, SQLite.Database]
  private readonly locker: SQLite.Database
  private readonly copier: SQLite.Database
  private readonly reader: WalReader
  private rotatedAt = performance.now()
  /** Pieces that were read and not passed on yet. */
  private readonly waiting: WalPiece[] = []

  constructor(file: string) {
    const opened: SQLite.Database[] = []
    const keep = (db: SQLite.Database): SQLite.Database => {
      opened.push(db)
      return db
    }
    try {
      // They are read-only: the last of all connections to close is one of these, and so leaves the log in place.
      const openReader = (): SQLite.Database => keep(new SQLite(file, { readonly: true, timeout: 10_000 }))
      this.readers = [openReader(), openReader()]
      this.locker = keep(openConnection({ file, busyTimeout: MAX_LOCK_WAIT }))
      this.copier = keep(openConnection({ file, busyTimeout: MAX_LOCK_WAIT }))
      this.reader = new WalReader(`${file}-wal`)
      beginRead(this.readers[0])
    } catch (error) {
      for (const db of opened.toReversed()) db.close()
      throw error
    }
  }

  position(): LogPosition | null {
    return this.reader.position()
  }

  /**
   * See `WalReader.resume`. Commits since then are read at once: if all of them are copied back, no reader keeps the
   * next commit from restarting the log.
   */
  resume(position: Parameters<WalReader['resume']>[0]): boolean {
    if (!this.reader.resume(position)) return false
    this.waiting.push(...this.reader.read())
    if (this.reader.isAt(position.salts)) return true
    this.waiting.length = 0
    this.reader.reset()
    return false
  }

  /** Passes on what was committed since the last call; returns the number of bytes. */
  poll(take: (piece: WalPiece) => void): number {
    // This comes first: frames that the reader has kept in the log may leave it when it moves on.
    const bytes = this.passOn(take)
    this.moveOn()
    const frames = this.reader.countFrames()
    const isOld = frames > 0 && performance.now() - this.rotatedAt > MAX_LOG_AGE
    return frames > MAX_FRAMES || isOld ? bytes + this.rotate(take) : bytes
  }

  /**
   * Copies the log back, so that the next commit begins a new one. Returns the number of bytes that were passed on.
   * They are passed on after the lock is given back, because a slow disk that takes them must not stop the writer.
   */
  rotate(take: (piece: WalPiece) => void): number {
    this.rotatedAt = performance.now()
    // Most pages are copied back before the lock is taken.
    this.checkpoint('PASSIVE')
    try {
      this.locker.exec('begin immediate')
    } catch (error) {
      if (error instanceof SQLite.SqliteError && error.code.startsWith('SQLITE_BUSY')) return 0
      throw error
    }
    try {
      this.waiting.push(...this.reader.read())
      const { log } = this.checkpoint('NOOP')
      if (log > 0 && log !== this.reader.countFrames()) {
        throw new LostLog(`the log has ${log} frames, and ${this.reader.countFrames()} were read`)
      }
      this.moveOn()
      this.checkpoint('PASSIVE')
      // This reader needs the database file alone, unless another reader has kept pages in the log.
      this.moveOn()
    } finally {
      this.locker.exec('rollback')
    }
    return this.passOn(take)
  }

  /** Lets the log be restarted by the next commit, when the daemon is idle. */
  settle(): void {
    this.checkpoint('PASSIVE')
    this.waiting.push(...this.reader.read())
    this.moveOn()
  }

  /** With `keepLog` the log stays in place even if no other connection is open. */
  close({ keepLog }: { readonly keepLog: boolean }): void {
    const writers = [this.copier, this.locker]
    for (const db of keepLog ? [...writers, ...this.readers] : [...this.readers, ...writers]) db.close()
  }

  /** Pages of the database as of the last poll. */
  countPages(): number {
    return Number(this.readers[0].pragma('page_count', { simple: true }))
  }

  private passOn(take: (piece: WalPiece) => void): number {
    let bytes = 0
    for (let [piece] = this.waiting; piece !== undefined; [piece] = this.waiting) {
      take(piece)
      this.waiting.shift()
      bytes += piece.bytes.length
    }
    for (const piece of this.reader.read()) {
      take(piece)
      bytes += piece.bytes.length
    }
    return bytes
  }

  /** All that the present reader sees must have been read. */
  private moveOn(): void {
    const [current, next] = this.readers
    beginRead(next)
    current.exec('rollback')
    this.readers.reverse()
  }

  private checkpoint(mode: 'NOOP' | 'PASSIVE'): Checkpoint {
    const [row] = this.copier.pragma(`wal_checkpoint(${mode})`) as Checkpoint[]
    return row ?? { busy: 1, log: 0, checkpointed: 0 }
  }
}

/** The transaction begins with its first read. */
function beginRead(db: SQLite.Database): void {
  db.exec('begin')
  db.prepare('select count(*) from sqlite_schema').get()
}
