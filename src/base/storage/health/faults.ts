/**
 * Sorts SQLite's result codes by what a caller can do about them.
 *
 * A broken constraint concerns one request. A fault concerns the machine: nothing can be written now, and the
 * same request may succeed later. Everything else (no such table, an unbindable value) is a bug and keeps its
 * own error.
 */
import SQLite from 'better-sqlite3'
import { ConstraintViolated, StorageFault } from '../db/write.js'

/** Primary codes of faults; extended codes (`SQLITE_IOERR_WRITE`) begin with them. */
const faultCodes = [
  'SQLITE_FULL',
  'SQLITE_IOERR',
  'SQLITE_READONLY',
  'SQLITE_BUSY',
  'SQLITE_LOCKED',
  'SQLITE_CANTOPEN',
  'SQLITE_PERM',
  'SQLITE_NOMEM',
  'SQLITE_PROTOCOL',
  'SQLITE_CORRUPT',
  'SQLITE_NOTADB',
  'SQLITE_ABORT',
]

export function toStorageError(error: unknown): Error {
  if (!(error instanceof SQLite.SqliteError)) return error instanceof Error ? error : new Error(String(error))
  if (error.code.startsWith('SQLITE_CONSTRAINT')) return new ConstraintViolated(error.message, { cause: error })
  if (faultCodes.some((code) => error.code === code || error.code.startsWith(`${code}_`))) {
    return new StorageFault(error.code, error.message)
  }
  return error
}

/** The fault that rejects every request of a batch whose transaction failed. */
export function toStorageFault(error: unknown): StorageFault {
  const known = toStorageError(error)
  return known instanceof StorageFault ? known : new StorageFault('SQLITE_ABORT', known.message)
}
