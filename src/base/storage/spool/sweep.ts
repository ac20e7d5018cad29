/**
 * Overwrites what was deleted from spool files, and removes files that no row names. A *hole* is the place of a deleted
 * message in a spool file, until it is overwritten. Runs on the writer's thread, between two batches.
 *
 * Order: zeros, fdatasync, and only then the rows of the holes are removed. A sweep that was interrupted is repeated.
 *
 * The main thread gives the holes that it has read. Its reads from then on do not find the rows that these holes had,
 * so none is midway in bytes that are overwritten. A process that holds the files does so before its first read.
 */
import { closeSync, fdatasyncSync, fstatSync, ftruncateSync, openSync, rmSync, writeSync } from 'node:fs'
import SQLite from 'better-sqlite3'
import { errorCodeOf, errorMessageOf } from '../../platform/errors.js'
import { listSpoolFiles, type SpoolPlace, spooledTables, spoolFile, spoolFolder } from '../db/spool-files.js'
import { StorageFault } from '../db/write.js'
import { lockSpool } from './hold-spool.js'

/** Limits one step, which commits wait for. */
const STEP_BYTES = 4_194_304

const ZEROS = Buffer.alloc(1_048_576)

interface SweepOptions {
  readonly databaseFile: string
  /** The file that is appended to, which stays, or null if there is none. */
  readonly currentFile: number | null
  /** The holes of one file. If there are none, entire files are checked. */
  readonly holes: readonly SpoolPlace[]
}

/** One step. Throws a `StorageFault`, or `SQLITE_BUSY` if another process holds the files. */
export function sweepStep(db: SQLite.Database, { databaseFile, currentFile, holes }: SweepOptions): void {
  const folder = spoolFolder(databaseFile)
  const files = listSpoolFiles(folder)
  if (files.length === 0 && holes.length === 0) return
  const unlock = lockSpool(databaseFile)
  try {
    if (holes.length > 0) fillHoles(db, folder, holes)
    else for (const file of files) if (file !== currentFile) cutFile(db, folder, file)
  } catch (error) {
    if (error instanceof SQLite.SqliteError) throw error
    throw new StorageFault('SQLITE_IOERR_WRITE', `a spool file cannot be swept: ${errorMessageOf(error)}`)
  } finally {
    unlock()
  }
}

/**
 * Fills as many holes as a step may, and possibly the beginning of one more. Holes that another sweep has filled since
 * are passed over: other bytes may be there.
 */
function fillHoles(db: SQLite.Database, folder: string, holes: readonly SpoolPlace[]): void {
  const isHole = db.prepare<[number, number, number]>(
    'select 1 from spool_holes where file = ? and at = ? and bytes = ?',
  )
  let room = STEP_BYTES
  const filled = holes.flatMap((hole) => {
    if (isHole.get(hole.file, hole.at, hole.bytes) === undefined) return []
    const bytes = Math.min(hole.bytes, room)
    room -= bytes
    return bytes === 0 ? [] : [{ hole, bytes }]
  })
  overwrite(
    spoolFile(folder, holes[0]?.file ?? 0),
    filled.map(({ hole: { at }, bytes }) => ({ at, bytes })),
  )
  const remove = db.prepare('delete from spool_holes where file = ? and at = ?')
  const shorten = db.prepare(
    'update spool_holes set at = at + @filled, bytes = bytes - @filled where file = @file and at = @at',
  )
  db.transaction(() => {
    for (const { hole, bytes } of filled) {
      if (bytes === hole.bytes) remove.run(hole.file, hole.at)
      else shorten.run({ filled: bytes, file: hole.file, at: hole.at })
    }
  }).immediate()
}

type Range = Pick<SpoolPlace, 'at' | 'bytes'>

/** The file does not grow. One that is gone has nothing to overwrite. */
function overwrite(path: string, ranges: readonly Range[]): void {
  const file = openIfPresent(path)
  if (file === null) return
  try {
    const { size } = fstatSync(file)
    for (const { at, bytes } of ranges) writeZeros(file, at, Math.min(size, at + bytes))
    fdatasyncSync(file)
  } finally {
    closeSync(file)
  }
}

function writeZeros(file: number, from: number, to: number): void {
  for (let at = from; at < to; ) at += writeSync(file, ZEROS, 0, Math.min(ZEROS.length, to - at), at)
}

function openIfPresent(path: string): number | null {
  try {
    return openSync(path, 'r+')
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT') return null
    throw error
  }
}

const END_OF_RANGES = [
  ...spooledTables.map(
    (table) => `select * from (select spool_at + spool_bytes as end from ${table}
      where spool_file = @file order by spool_at desc limit 1)`,
  ),
  'select * from (select at + bytes from spool_holes where file = @file order by at desc limit 1)',
].join(' union all ')

/**
 * Cuts off the bytes at its end that no row names, or removes the file. Batches that were not committed leave such
 * bytes.
 */
function cutFile(db: SQLite.Database, folder: string, number: number): void {
  const path = spoolFile(folder, number)
  const ends = db.prepare<[{ file: number }], number>(END_OF_RANGES).pluck().all({ file: number })
  if (ends.length === 0) {
    rmSync(path, { force: true })
    return
  }
  const file = openIfPresent(path)
  if (file === null) return
  try {
    const end = Math.max(...ends)
    if (fstatSync(file).size > end) ftruncateSync(file, end)
  } finally {
    closeSync(file)
  }
}
