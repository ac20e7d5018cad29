/**
 * `backup`: an exact copy of the database as of its end, made while the daemon runs.
 *
 * Invariant: the target name means a complete, checked database on disk, or nothing. It contains secrets (keys, mail):
 * mode 0600.
 *
 * Pages are copied a megabyte at a time, with pauses that are longer while the daemon commits; commits during the copy
 * are taken from the log (`storage/wal`), so the log does not wait for the end of the backup. `compact` instead writes
 * a new database without free pages; the log then grows until the end.
 *
 * Then the bytes that are in spool files are put into their rows, so that the copy is one file. The spool is held from
 * before the copy until then.
 */
import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import SQLite from 'better-sqlite3'
import { openConnection } from '../db/connection.js'
import { registerSpooledBytes, spoolFolder } from '../db/spool-files.js'
import { LostBytes } from '../db/write.js'
import { toStorageError } from '../health/faults.js'
import { foldCopy } from '../spool/fold.js'
import { holdSpool } from '../spool/hold-spool.js'
import { PageCopy } from '../wal/page-copy.js'
import { openSource } from '../wal/source-file.js'
import { WalFollower } from '../wal/wal-follower.js'

/** The target file exists. */
export class FileExistsError extends Error {
  override name = 'FileExistsError'

  constructor(readonly file: string) {
    super(`${file} exists: it is not overwritten`)
  }
}

/** The copy that was made is not sound: the disk, or the database itself, is damaged. */
export class DamagedCopy extends Error {
  override name = 'DamagedCopy'
}

export interface BackupProgress {
  /** In `fold`, the bytes of spool files are put into their rows. */
  readonly phase: 'copy' | 'fold' | 'check'
  readonly bytes: number
  readonly total: number
}

interface BackupOptions {
  /** The database. */
  readonly from: string
  readonly to: string
  /** Bytes a second. If it is absent, the copy is as fast as the load allows. */
  readonly pace?: number | undefined
  readonly compact?: boolean
  readonly onProgress?: (progress: BackupProgress) => void
}

/** While the daemon commits, a pause takes this many times as long as the step before it. */
const BUSY_PAUSE_FACTOR = 12
/** Milliseconds. */
const MIN_BUSY_PAUSE = 40
const MAX_BUSY_PAUSE = 500
/** Bytes of the log that mean that the daemon is at work. */
const BUSY_LOG_BYTES = 16_384

/** Resolves to the size of the copy. */
export async function createBackup(options: BackupOptions): Promise<number> {
  const { to } = options
  if (existsSync(to)) throw new FileExistsError(to)
  const partial = `${to}.partial-${process.pid}`
  try {
    const bytes = await copyWhole(options, partial)
    if (existsSync(to)) throw new FileExistsError(to)
    renameSync(partial, to)
    syncFile(dirname(to))
    return bytes
  } catch (error) {
    rmSync(partial, { force: true })
    if (error instanceof LostBytes) throw new DamagedCopy(`the database is damaged: ${error.message}`)
    throw toStorageError(error)
  }
}

/** Resolves to the size of the copy, which is checked and on disk. */
async function copyWhole(options: BackupOptions, partial: string): Promise<number> {
  const { from, compact = false, onProgress } = options
  const releaseSpool = holdSpool(from)
  try {
    if (compact) copyCompact(from, partial)
    else await copyPages(options, partial)
    syncFile(partial)
    await withCopy(partial, async (db) => {
      await foldPages(db, options)
      const { size } = statSync(partial)
      onProgress?.({ phase: 'check', bytes: size, total: size })
      checkCopy(db)
    })
    return statSync(partial).size
  } finally {
    releaseSpool()
  }
}

/** Paced as the copy of pages. */
async function foldPages(db: SQLite.Database, { from, pace, onProgress }: BackupOptions): Promise<void> {
  registerSpooledBytes(db, spoolFolder(from))
  const log = `${from}-wal`
  const readLogTime = (): number => statSync(log, { throwIfNoEntry: false })?.mtimeMs ?? 0
  let before = { at: performance.now(), bytes: 0, logTime: readLogTime() }
  await foldCopy(db, async (bytes, total) => {
    onProgress?.({ phase: 'fold', bytes, total })
    const [took, logTime] = [performance.now() - before.at, readLogTime()]
    await sleep(decidePause({ took, isBusy: logTime !== before.logTime, bytes: bytes - before.bytes, pace }))
    before = { at: performance.now(), bytes, logTime: readLogTime() }
  })
}

async function copyPages({ from, pace, onProgress }: BackupOptions, to: string): Promise<void> {
  const follower = new WalFollower(from)
  try {
    const copy = new PageCopy(openSource(from), to, follower.countPages())
    try {
      const poll = (): number => follower.poll((piece) => copy.apply(piece))
      poll()
      for (let more = true; more; ) {
        const begun = performance.now()
        const before = copy.progress().bytes
        more = copy.step()
        const took = performance.now() - begun
        const isBusy = poll() > BUSY_LOG_BYTES
        const { bytes, total } = copy.progress()
        onProgress?.({ phase: 'copy', bytes, total })
        await sleep(decidePause({ took, isBusy, bytes: bytes - before, pace }))
      }
      poll()
      copy.finish()
    } finally {
      copy.close()
    }
  } finally {
    follower.close({ keepLog: false })
  }
}

interface Step {
  /** Milliseconds that copying the pages took. */
  readonly took: number
  readonly isBusy: boolean
  readonly bytes: number
  readonly pace: number | undefined
}

/** Milliseconds until the next step. */
export function decidePause({ took, isBusy, bytes, pace }: Step): number {
  if (pace !== undefined) return Math.max(0, (bytes / pace) * 1000 - took)
  return isBusy ? Math.min(MAX_BUSY_PAUSE, Math.max(MIN_BUSY_PAUSE, took * BUSY_PAUSE_FACTOR)) : 0
}

function copyCompact(from: string, to: string): void {
  const db = openConnection({ file: from })
  try {
    // VACUUM INTO accepts an existing empty file and keeps its mode.
    closeSync(openSync(to, 'wx', 0o600))
    db.prepare('vacuum into ?').run(to)
  } finally {
    db.close()
  }
}

/** The copy says that it has a log, so this opens it in a mode that makes none. */
async function withCopy(file: string, act: (db: SQLite.Database) => Promise<void>): Promise<void> {
  const db = new SQLite(file, { fileMustExist: true })
  try {
    db.pragma('locking_mode = EXCLUSIVE')
    db.pragma('journal_mode = DELETE')
    await act(db)
  } finally {
    db.close()
  }
  syncFile(file)
}

/** Reads every page back. */
function checkCopy(db: SQLite.Database): void {
  const lines = db.prepare<[], string>('pragma quick_check').pluck().all()
  const [damage] = lines.filter((line) => line !== 'ok')
  if (damage !== undefined) throw new DamagedCopy(`the copy is damaged, and so may be the database: ${damage}`)
}

/** Flushes a file, or the names in a folder, to disk. */
export function syncFile(path: string): void {
  const file = openSync(path, 'r')
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}
