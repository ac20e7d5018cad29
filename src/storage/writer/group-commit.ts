/**
 * Many requests, one fsync: a batch of requests becomes one transaction, and each
 * request of it is done entirely or not at all.
 *
 * Invariant: when `run` returns, every request without an error is on disk (WAL,
 * synchronous=FULL); every other one has left no trace. A disk that cannot take the
 * batch fails all of it, and the connection is ready for the next one.
 *
 * Savepoints cost twice as much as the rows they guard (SQLite copies each page that
 * a savepoint touches), and nearly all requests succeed. So a batch first runs without
 * them: a request that fails before it has changed a row needs no undoing (a lease or
 * a key that was taken, mostly). Only if there is something to undo, the batch is
 * rolled back and run again with a savepoint for each request.
 */
import type SQLite from 'better-sqlite3'
import { joinedInPlace } from '../../platform/memory/byte-pieces.js'
import { freeMemory } from '../../platform/memory/free-memory.js'
import { storageError, storageFault } from '../health/faults.js'
import { statementCache } from './statement-cache.js'
import { Missed, MOVED_FROM, MovedBytes, StorageFault, type Write } from './write.js'

export type Request = readonly Write[]
/** Why a request was not done; undefined when it was. */
export type Outcome = Error | undefined

export interface GroupCommit {
  /** One outcome per request, in their order. Never throws. */
  readonly run: (requests: readonly Request[]) => Outcome[]
  readonly commits: () => number
}

interface Failure {
  readonly error: Error
  /** It has changed rows that must be restored. */
  readonly dirty: boolean
}

/** Its memory is ours, and may be written to. */
function isMoved({ buffer }: Uint8Array): boolean {
  return buffer.byteLength >= MOVED_FROM
}

/** What was moved here is joined for its own statement, and let go of at once. */
function withJoined<Result>(parameters: Write['parameters'], run: (bound: readonly unknown[]) => Result): Result {
  if (!parameters.some((value) => value instanceof MovedBytes)) return run(parameters)
  const joined: Buffer[] = []
  const bound = parameters.map((value) => {
    if (!(value instanceof MovedBytes)) return value
    const inPlace = value.pieces.some(isMoved) ? joinedInPlace(value.pieces) : null
    if (inPlace !== null) return inPlace
    const whole = Buffer.concat(value.pieces)
    joined.push(whole)
    return whole
  })
  try {
    return run(bound)
  } finally {
    freeMemory(...joined)
  }
}

export function groupCommit(db: SQLite.Database): GroupCommit {
  const statement = statementCache(db)
  let commits = 0

  function apply(request: Request): Failure | undefined {
    let touched = 0
    try {
      for (const { sql, parameters, rows } of request) {
        const { changes } = withJoined(parameters, (bound) => statement(sql).run(bound))
        touched += changes
        if (rows !== undefined && changes !== rows)
          throw new Missed(`${changes} rows changed, ${rows} expected: ${sql}`)
      }
      return undefined
    } catch (failure) {
      const error = storageError(failure)
      if (error instanceof StorageFault || !db.inTransaction) throw error
      return { error, dirty: touched > 0 }
    }
  }

  /** Undefined: something must be undone, and nothing here can do it. */
  function inOneGo(requests: readonly Request[]): Outcome[] | undefined {
    const outcomes: Outcome[] = []
    for (const request of requests) {
      const failure = apply(request)
      if (failure?.dirty) return undefined
      outcomes.push(failure?.error)
    }
    return outcomes
  }

  function inSavepoint(request: Request): Outcome {
    statement('savepoint request').run()
    const failure = apply(request)
    if (failure !== undefined) statement('rollback to request').run()
    statement('release request').run()
    return failure?.error
  }

  function transaction<Result>(body: () => Result | undefined): Result | undefined {
    statement('begin immediate').run()
    const result = body()
    statement(result === undefined ? 'rollback' : 'commit').run()
    if (result !== undefined) commits += 1
    return result
  }

  function run(requests: readonly Request[]): Outcome[] {
    try {
      const outcomes = transaction(() => inOneGo(requests)) ?? transaction(() => requests.map(inSavepoint))
      return outcomes ?? []
    } catch (error) {
      const fault = storageFault(error)
      if (db.inTransaction) db.exec('rollback')
      return requests.map(() => fault)
    }
  }

  return { run, commits: () => commits }
}
