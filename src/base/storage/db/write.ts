/**
 * A *write* is a statement with its values, as data, to be joined into a commit.
 *
 * Record functions return writes; the caller joins them and passes the list to `commit`, which makes all
 * or none of them durable. A write may say how many rows it must change: "cancel while scheduled" is one
 * UPDATE whose miss is a conflict, so no transaction is ever open across an `await`.
 */
import { PlainFault } from '../../platform/errors.js'

export interface Write {
  readonly sql: string
  readonly parameters: readonly unknown[]
  /** Rows that this statement must change. If it is absent, it may change any number. */
  readonly rows?: number
  /**
   * It inserts one row whose key is new, and no write that is under way depends on whether the row is there. So it may be made
   * before the other writes of its commit, with the rows of other commits.
   */
  readonly isNewRow?: true
  /** New rows that are inserted together are inserted in the order of these numbers. */
  readonly order?: number
  /**
   * Commits of several daemons that name the same turn follow each other: this one sees what those before it have
   * committed, from its first write on. A write names a turn if it decides by a sum of rows that others add to, or if its
   * commit changes several rows that others change too. SQLite, which has one writer, makes every commit in turn.
   */
  readonly turn?: string
}

export interface CommitOptions {
  /**
   * The write goes to the writer at once, with all that is gathered, and not when the turn of the event loop ends. Use
   * it for an event that has happened outside already, such as a message that another server has taken: a crash before
   * the commit repeats it.
   */
  readonly isUrgent?: boolean
  /**
   * It only asks whether anything can be written. So it is rejected as soon as others would be refused, although it may
   * still be made.
   */
  readonly isProbe?: boolean
  /** It belongs to what nodes tell each other, so it is made also before a node knows what others have changed. */
  readonly isOfNode?: boolean
}

/** Makes the commit of these writes in turn: see `Write.turn`. */
export function takeTurn(turn: string, [first, ...others]: readonly Write[]): readonly Write[] {
  return first === undefined ? [] : [{ ...first, turn }, ...others]
}

/** Resolves when every write of the list is on disk. If it rejects, none of them was made. */
export type Commit = (writes: readonly Write[], options?: CommitOptions) => Promise<void>

/** A write changed another number of rows than it must: the rows have changed since they were read. It "missed". */
export class WriteConflict extends Error {
  override name = 'WriteConflict'
}

/** A write violated a constraint of the schema, such as a unique key or a check. */
export class ConstraintViolated extends Error {
  override name = 'ConstraintViolated'
}

/** The disk is full, or cannot be read or written (SQLSTATE). */
const DISK_STATES = ['53100', '58030']

/**
 * The database cannot take writes now: disk full, read-only, I/O error, stopped. Acknowledged commits are
 * not affected; the same request may succeed later.
 */
export class StorageFault extends PlainFault {
  override name = 'StorageFault'

  constructor(
    /** A result code of SQLite, such as `SQLITE_FULL`, an SQLSTATE of PostgreSQL, or what the way to the server gave. */
    readonly code: string,
    message: string,
  ) {
    super(message)
  }

  /** The log says it once, so lines about single requests need not: see `watch-faults`. */
  get isOutage(): boolean {
    return !this.isOfDisk
  }

  /** The disk of the database cannot take it. False: the database cannot be reached, or is busy. */
  get isOfDisk(): boolean {
    return this.code.startsWith('SQLITE_') || DISK_STATES.includes(this.code)
  }
}

/**
 * Bytes that a row names are not in their spool file, or are not those that were written. The fault concerns that row
 * alone and does not go away by itself, so it is no `StorageFault`, for which all mail waits.
 */
export class LostBytes extends Error {
  override name = 'LostBytes'
}

/** Resolves to what the read gives, or to why its bytes are lost. It is for a caller that can go on without them. */
export async function orLost<Found>(read: () => Found | Promise<Found>): Promise<Found | LostBytes> {
  try {
    return await read()
  } catch (error) {
    if (error instanceof LostBytes) return error
    throw error
  }
}

/** Resolves to whether the commit was made, or false if one of its writes missed. */
export async function tryCommit(commit: Promise<void>): Promise<boolean> {
  try {
    await commit
    return true
  } catch (error) {
    if (error instanceof WriteConflict) return false
    throw error
  }
}

/**
 * Does the same as `tryCommit`. It is also false if a constraint was violated: a concurrent commit stored the same key
 * first.
 */
export async function tryUniqueCommit(commit: Promise<void>): Promise<boolean> {
  try {
    return await tryCommit(commit)
  } catch (error) {
    if (error instanceof ConstraintViolated) return false
    throw error
  }
}
