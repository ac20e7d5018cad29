/**
 * Group commit: a batch of requests becomes one transaction with one fsync, and each request succeeds or
 * fails as a unit.
 *
 * Invariant: when `run` returns, every request without an error is on disk (WAL, synchronous=FULL), and
 * every other request has left no trace. If the disk cannot take the batch, all of it fails, and the
 * connection is ready for the next one.
 *
 * Savepoints cost twice as much as the rows they guard (SQLite copies each page that a savepoint touches),
 * and nearly all requests succeed. So a batch first runs without them: a request that fails before it has
 * changed a row needs no undo (mostly a lease or a key that is taken). Only if something must be undone is
 * the batch rolled back and run again with a savepoint for each request.
 *
 * Large messages are written to a spool file while the transaction runs, which stores their places, and synced before it
 * commits. What a request that failed has written is cut off.
 */

import type SQLite from 'better-sqlite3'
import { joinInPlace } from '../../platform/memory/byte-pieces.js'
import { freeMemory } from '../../platform/memory/free-memory.js'
import { MessageBytes, TRANSFER_FROM_BYTES } from '../db/message-bytes.js'
import { StatementCache } from '../db/statement-cache.js'
import { StorageFault, type Write, WriteConflict } from '../db/write.js'
import { toStorageError, toStorageFault } from '../health/faults.js'
import type { SpoolWriter } from '../spool/spool-writer.js'
import { SpooledBatch } from '../spool/spooled-batch.js'

export type WriteRequest = readonly Write[]
/** Why a request failed, or undefined if it succeeded. */
export type WriteOutcome = Error | undefined

interface Failure {
  readonly error: Error
  /** The request has changed rows that must be restored. */
  readonly dirty: boolean
}

/** Its memory was transferred, so this thread may write to it. */
function isMoved({ buffer }: Uint8Array): boolean {
  return buffer.byteLength >= TRANSFER_FROM_BYTES
}

/** Joins moved pieces for their statement and frees the memory right after it. */
function withJoinedBytes<Result>(parameters: Write['parameters'], run: (bound: readonly unknown[]) => Result): Result {
  if (!parameters.some((value) => value instanceof MessageBytes)) return run(parameters)
  const joined: Buffer[] = []
  const bound = parameters.map((value) => {
    if (!(value instanceof MessageBytes)) return value
    const inPlace = value.pieces.some(isMoved) ? joinInPlace(value.pieces) : null
    if (inPlace !== null) return inPlace
    const bytes = Buffer.concat(value.pieces)
    joined.push(bytes)
    return bytes
  })
  try {
    return run(bound)
  } finally {
    freeMemory(...joined)
  }
}

export class GroupCommit {
  private readonly statements: StatementCache
  private readonly spooled: SpooledBatch
  private isCommitting = false
  /** COMMIT statements since the start. */
  commits = 0
  /** Milliseconds of the last COMMIT statement. */
  syncTime = 0

  /** `spool` is null if all bytes are stored in the database. */
  constructor(
    private readonly db: SQLite.Database,
    spool: SpoolWriter | null = null,
  ) {
    this.statements = new StatementCache(db)
    this.spooled = new SpooledBatch(spool)
  }

  /** Returns one outcome for each request, in order. It never throws. */
  run(requests: readonly WriteRequest[]): WriteOutcome[] {
    this.isCommitting = false
    try {
      this.spooled.begin(requests)
      const outcomes =
        this.runTransaction(() => this.runWithoutSavepoints(requests)) ??
        this.runTransaction(() => requests.map((request) => this.runInSavepoint(request)))
      return outcomes ?? []
    } catch (error) {
      const fault = toStorageFault(error)
      if (this.db.inTransaction) this.db.exec('rollback')
      this.spooled.takeBack(fault, { wasCommitting: this.isCommitting })
      return requests.map(() => fault)
    } finally {
      this.spooled.end()
    }
  }

  private applyRequest(request: WriteRequest): Failure | undefined {
    /** A statement on a view reports no changes, whatever its trigger has written. */
    let touched = false
    this.spooled.beginRequest()
    try {
      for (const write of request) {
        const { sql, parameters, rows } = this.spooled.toStored(write)
        const { changes } = withJoinedBytes(parameters, (bound) => this.statements.prepare(sql).run(bound))
        touched ||= changes > 0
        if (rows !== undefined && changes !== rows)
          throw new WriteConflict(`${changes} rows changed, ${rows} expected: ${sql}`)
        touched = true
      }
      return undefined
    } catch (failure) {
      const error = toStorageError(failure)
      if (error instanceof StorageFault || !this.db.inTransaction) throw error
      this.spooled.undoRequest()
      return { error, dirty: touched }
    }
  }

  /** Undefined if something must be undone, which takes savepoints. */
  private runWithoutSavepoints(requests: readonly WriteRequest[]): WriteOutcome[] | undefined {
    const outcomes: WriteOutcome[] = []
    for (const request of requests) {
      const failure = this.applyRequest(request)
      if (failure?.dirty) return undefined
      outcomes.push(failure?.error)
    }
    return outcomes
  }

  private runInSavepoint(request: WriteRequest): WriteOutcome {
    this.statements.prepare('savepoint request').run()
    const failure = this.applyRequest(request)
    if (failure !== undefined) this.statements.prepare('rollback to request').run()
    this.statements.prepare('release request').run()
    return failure?.error
  }

  private runTransaction<Result>(body: () => Result | undefined): Result | undefined {
    this.statements.prepare('begin immediate').run()
    const result = body()
    if (result === undefined) {
      this.statements.prepare('rollback').run()
      this.spooled.undoAll()
      return result
    }
    this.spooled.sync()
    const begun = performance.now()
    this.isCommitting = true
    this.statements.prepare('commit').run()
    this.syncTime = performance.now() - begun
    this.commits += 1
    return result
  }
}
