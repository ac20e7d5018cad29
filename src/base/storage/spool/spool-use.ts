/**
 * Measures how much of the spool files is of no use: what is left of a file while few of its messages are, and what is
 * deleted.
 */
import type { Read } from '../db/prepared.js'
import { spooledTables } from '../db/spool-files.js'
import { INDEX_STEP, waitForStep } from '../db/stepped-walk.js'

/** 64 MB, as much as one file. */
const MUCH_DELETED = 67_108_864

/** Whether deleted bytes are so many that the next hour is too late for them. */
export async function hasMuchDeleted(read: Read): Promise<boolean> {
  // Each spooled message has 16 KB and more.
  const sql = `select coalesce(sum(bytes), 0) as bytes from (select bytes from spool_holes limit ${INDEX_STEP})`
  return ((await read<{ bytes: number }>(sql, []))[0]?.bytes ?? 0) >= MUCH_DELETED
}

/**
 * Files with less than half of their bytes named by rows. The newest file is not among them, because it may be the one
 * that is written to.
 */
export async function* findSparseFiles(read: Read): AsyncGenerator<number> {
  const newest = (await read<{ file: number | null }>(NEWEST_FILE, []))[0]?.file ?? 0
  for (let file = await nextFile(read, 0); file < newest; file = await nextFile(read, file)) {
    await waitForStep()
    const [use] = await read<{ live: number; end: number }>(USE_OF_FILE, [file, file])
    if (use !== undefined && use.live * 2 < use.end) yield file
  }
}

const fromEach = (select: (table: string) => string): string => spooledTables.map(select).join(' union all ')

const NEWEST_FILE = `select max(file) as file from (${fromEach(
  (table) => `select max(spool_file) as file from ${table} where spool_file is not null`,
)})`

const NEXT_FILE = `select min(file) as file from (${fromEach(
  (table) => `select min(spool_file) as file from ${table} where spool_file > ?`,
)})`

/** Infinity if there is none. */
async function nextFile(read: Read, after: number): Promise<number> {
  return (await read<{ file: number | null }>(NEXT_FILE, [after, after]))[0]?.file ?? Number.POSITIVE_INFINITY
}

/** The sweep has cut off what is behind the last row. */
const USE_OF_FILE = `select coalesce(sum(bytes), 0) as live, coalesce(max(at + bytes), 0) as end from (${fromEach(
  (table) => `select spool_at as at, spool_bytes as bytes from ${table} where spool_file = ?`,
)})`
