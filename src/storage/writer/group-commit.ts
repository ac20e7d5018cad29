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
import { joinInPlace } from '../../platform/memory/byte-pieces.js'
import { freeMemory } from '../../platform/memory/free-memory.js'
import { toStorageError, toStorageFault } from '../health/faults.js'
import { createStatementCache } from './statement-cache.js'
import { MOVE_FROM_BYTES, MovedBytes, StorageFault, type Write, WriteConflict } from './write.js'

export type WriteRequest = readonly Write[]
/** Why a request was not done; undefined when it was. */
export type WriteOutcome = Error | undefined

export interface GroupCommit {
  /** One outcome per request, in their order. Never throws. */
  readonly run: (requests: readonly WriteRequest[]) => WriteOutcome[]
  readonly countCommits: () => number
}

interface Failure {
  readonly error: Error
  /** It has changed rows that must be restored. */
  readonly dirty: boolean
}

/** Its memory is ours, and may be written to. */
function isMoved({ buffer }: Uint8Array): boolean {
  return buffer.byteLength >= MOVE_FROM_BYTES
}

/** What was moved here is joined for its own statement, and let go of at once. */
function withJoinedBytes<Result>(parameters: Write['parameters'], run: (bound: readonly unknown[]) => Result): Result {
  if (!parameters.some((value) => value instanceof MovedBytes)) return run(parameters)
  const joined: Buffer[] = []
  const bound = parameters.map((value) => {
    if (!(value instanceof MovedBytes)) return value
    const inPlace = value.pieces.some(isMoved) ? joinInPlace(value.pieces) : null
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

export function createGroupCommit(db: SQLite.Database): GroupCommit {
  const statement = createStatementCache(db)
  let commits = 0

  function applyRequest(request: WriteRequest): Failure | undefined {
    let touched = 0
    try {
      for (const { sql, parameters, rows } of request) {
        const { changes } = withJoinedBytes(parameters, (bound) => statement(sql).run(bound))
        touched += changes
        if (rows !== undefined && changes !== rows)
          throw new WriteConflict(`${changes} rows changed, ${rows} expected: ${sql}`)
      }
      return undefined
    } catch (failure) {
      const error = toStorageError(failure)
      if (error instanceof StorageFault || !db.inTransaction) throw error
      return { error, dirty: touched > 0 }
    }
  }

  /** Undefined: something must be undone, and nothing here can do it. */
  function runWithoutSavepoints(requests: readonly WriteRequest[]): WriteOutcome[] | undefined {
    const outcomes: WriteOutcome[] = []
    for (const request of requests) {
      const failure = applyRequest(request)
      if (failure?.dirty) return undefined
      outcomes.push(failure?.error)
    }
    return outcomes
  }

  function runInSavepoint(request: WriteRequest): WriteOutcome {
    statement('savepoint request').run()
    const failure = applyRequest(request)
    if (failure !== undefined) statement('rollback to request').run()
    statement('release request').run()
    return failure?.error
  }

  function runTransaction<Result>(body: () => Result | undefined): Result | undefined {
    statement('begin immediate').run()
    const result = body()
    statement(result === undefined ? 'rollback' : 'commit').run()
    if (result !== undefined) commits += 1
    return result
  }

  function run(requests: readonly WriteRequest[]): WriteOutcome[] {
    try {
      const outcomes =
        runTransaction(() => runWithoutSavepoints(requests)) ?? runTransaction(() => requests.map(runInSavepoint))
      return outcomes ?? []
    } catch (error) {
      const fault = toStorageFault(error)
      if (db.inTransaction) db.exec('rollback')
      return requests.map(() => fault)
    }
  }

  return { run, countCommits: () => commits }
}
