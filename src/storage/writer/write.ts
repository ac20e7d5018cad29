/**
 * What a room asks the database to do, as a value.
 *
 * Record functions return writes; the caller joins them and hands the list to
 * `commit`, which makes all of them durable or none. A write may say how many
 * rows it must touch: "cancel while scheduled" is one UPDATE whose miss is a
 * conflict, so no transaction is ever held open across an `await`.
 */
export interface Write {
  readonly sql: string
  readonly parameters: readonly unknown[]
  /** Rows that this statement must change. Absent: any number will do. */
  readonly rows?: number
}

/** Bytes of a memory from which on it is moved and not copied. */
export const MOVE_FROM_BYTES = 1_048_576

/**
 * A parameter made of pieces: their bytes, one after the other, which only the writer joins. The
 * memory of large pieces goes over to the writer with the commit, and is gone here whatever comes of
 * it: a message of many megabytes is never held twice. Nothing else may be using that memory.
 */
export class MovedBytes {
  constructor(readonly pieces: readonly Uint8Array[]) {}

  get length(): number {
    return this.pieces.reduce((sum, { length }) => sum + length, 0)
  }
}

/** Resolves once every write of the list is on disk. Rejects, with none of them done, otherwise. */
export type Commit = (writes: readonly Write[]) => Promise<void>

/** A write touched another number of rows than it must: the world had moved on. */
export class WriteConflict extends Error {
  override name = 'WriteConflict'
}

/** A write broke a constraint of the schema: a key that is there already, a check. */
export class ConstraintViolated extends Error {
  override name = 'ConstraintViolated'
}

/**
 * The database cannot take writes now: disk full, read-only, I/O error, stopped.
 * What was acknowledged stays; the same request may succeed later.
 */
export class StorageFault extends Error {
  override name = 'StorageFault'

  constructor(
    /** SQLite's result code: `SQLITE_FULL`, `SQLITE_READONLY`, `SQLITE_IOERR_WRITE`, … */
    readonly code: string,
    message: string,
  ) {
    super(message)
  }
}

/** Waits for a commit: true when it was made, false when a write of it missed. */
export async function tryCommit(commit: Promise<void>): Promise<boolean> {
  try {
    await commit
    return true
  } catch (error) {
    if (error instanceof WriteConflict) return false
    throw error
  }
}
