/**
 * The writer thread: commits all messages that wait at its port as one batch, then answers.
 *
 * Invariant: an answer is sent after its COMMIT. Messages that arrive during a commit go into the next
 * batch.
 *
 * After a fault other than a full or busy database the connection is no longer trusted: the next batch
 * opens a new one. Commits of other processes change `data_version`, which is compared before each batch
 * and four times a second.
 */

import { closeSync, openSync, readSync } from 'node:fs'
import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import type SQLite from 'better-sqlite3'
import { MAX_LOG_BYTES, openConnection } from '../db/connection.js'
import type { WrittenBatch } from '../db/database.js'
import { MessageBytes } from '../db/message-bytes.js'
import { type SpoolPlace, spooledTables, spoolFolder } from '../db/spool-files.js'
import { StorageFault } from '../db/write.js'
import { toStorageFault } from '../health/faults.js'
import { SpoolWriter } from '../spool/spool-writer.js'
import { sweepStep } from '../spool/sweep.js'
import { GroupCommit, type WriteOutcome, type WriteRequest } from './group-commit.js'
import {
  type FromWriter,
  failureToWire,
  fromWire,
  lentWith,
  type ToWriter,
  type WriterThreadOptions,
} from './writer-protocol.js'

/** Its value differs each time: SQLite writes no page if its content stays the same. */
const COMMIT_ONE_PAGE = `insert or replace into service_state (key, value) values ('log_purge', hex(randomblob(8)))`

/** Requests of one batch. They limit a commit, and so the wait for an answer, to some tens of milliseconds. */
const MAX_BATCH = 2000
const IDLE_CHECK_INTERVAL = 250

interface OpenDatabase {
  readonly db: SQLite.Database
  readonly group: GroupCommit
  /** Null if all bytes are stored in the database. */
  readonly spool: SpoolWriter | null
  readonly dataVersion: SQLite.Statement
}

class WriterThread {
  private database: OpenDatabase | undefined
  private dataVersion: unknown
  private commits = 0
  /** The milliseconds of the last batch's COMMIT. */
  private syncTime: number | null = null
  private texts: string[] = []
  private readonly timer: NodeJS.Timeout
  private logPurge: LogPurge | undefined

  constructor(
    readonly port: MessagePort,
    readonly options: WriterThreadOptions,
  ) {
    this.getDatabase()
    port.on('message', (message: ToWriter) => this.handleMessages(message))
    // Answers count messages: if one is lost, all later ones would be about other requests.
    port.on('messageerror', (error) => {
      throw error
    })
    this.timer = setInterval(() => this.withDatabase(() => undefined), IDLE_CHECK_INTERVAL)
    this.send({ kind: 'opened' })
  }

  private send(message: FromWriter, transfer: readonly ArrayBuffer[] = []): void {
    this.port.postMessage(message, transfer)
  }

  private getDatabase(): OpenDatabase {
    if (this.database === undefined) {
      this.database = openWriterDatabase(this.options)
      this.checkForeignCommit(this.database, this.dataVersion !== undefined)
    }
    return this.database
  }

  /** `data_version` is comparable on one connection only: after a change of connection, a foreign commit is assumed. */
  private checkForeignCommit({ dataVersion }: OpenDatabase, assume = false): void {
    const now = dataVersion.get()
    if (assume || (this.dataVersion !== undefined && now !== this.dataVersion)) this.send({ kind: 'foreign-commit' })
    this.dataVersion = now
  }

  private dropDatabase(fault: StorageFault): void {
    if (fault.code === 'SQLITE_FULL' || fault.code.startsWith('SQLITE_BUSY')) return
    this.closeDatabase()
    this.logPurge = undefined
  }

  private closeDatabase(): void {
    this.database?.spool?.abandon()
    this.database?.db.close()
    this.database = undefined
  }

  /** Handles the first message and all that wait behind it, up to one of another kind than `requests`. */
  private handleMessages(first: ToWriter): void {
    const batch: WriteRequest[] = []
    const lent: Uint8Array[] = []
    let messages = 0
    let next: ToWriter | undefined = first
    while (next?.kind === 'requests') {
      if (next.forget) this.texts = []
      this.texts.push(...next.texts)
      batch.push(...fromWire(next.requests, this.texts))
      lent.push(...lentWith(next.requests))
      messages += 1
      next = batch.length < MAX_BATCH ? receiveMessageOnPort(this.port)?.message : undefined
    }
    if (messages > 0) {
      const outcomes = this.commit(batch)
      this.reply(messages, outcomes, { requests: batch.length, syncTime: this.syncTime }, lent)
      freeMoved(batch)
    }
    if (next?.kind === 'reclaim') this.reply(1, [this.reclaim(next.pages)], null)
    if (next?.kind === 'purge') this.reply(1, [this.purge(next.goesOn)], null)
    if (next?.kind === 'sweep') this.reply(1, [this.sweep(next.holes)], null)
    if (next?.kind === 'stop') this.stop()
  }

  private commit(batch: readonly WriteRequest[]): WriteOutcome[] {
    this.syncTime = null
    const outcomes = this.withDatabase(({ group }) => {
      const before = group.commits
      const result = group.run(batch)
      const made = group.commits - before
      this.commits += made
      if (made > 0) this.syncTime = group.syncTime
      return result
    })
    if (outcomes instanceof StorageFault) return batch.map(() => outcomes)
    const fault = outcomes.find((outcome) => outcome instanceof StorageFault)
    if (fault !== undefined) this.dropDatabase(fault)
    return outcomes
  }

  private reclaim(pages: number): WriteOutcome {
    const result = this.withDatabase(({ db }) => db.exec(`pragma incremental_vacuum(${pages})`))
    return result instanceof StorageFault ? result : undefined
  }

  /** A new purge begins even if another one goes on: what was deleted since may be in the log after its restart. */
  private purge(goesOn: boolean): WriteOutcome {
    const { file } = this.options
    const result = this.withDatabase(({ db }) => {
      if (!goesOn || this.logPurge === undefined) this.logPurge = beginLogPurge(db, file)
      if (!this.logPurge()) throw new StorageFault('SQLITE_BUSY', 'a reader uses the log')
      this.logPurge = undefined
    })
    return result instanceof StorageFault ? result : undefined
  }

  private sweep(holes: readonly SpoolPlace[]): WriteOutcome {
    const { file } = this.options
    const result = this.withDatabase(({ db, spool }) =>
      sweepStep(db, { databaseFile: file, currentFile: spool?.currentFile ?? null, holes }),
    )
    return result instanceof StorageFault ? result : undefined
  }

  /** Even an empty `act` detects foreign commits and, after a fault, reopens the database. */
  private withDatabase<Result>(act: (open: OpenDatabase) => Result): Result | StorageFault {
    try {
      const open = this.getDatabase()
      this.checkForeignCommit(open)
      return act(open)
    } catch (error) {
      const fault = toStorageFault(error)
      this.dropDatabase(fault)
      return fault
    }
  }

  /** Gives back what was lent. */
  private reply(
    messages: number,
    outcomes: readonly WriteOutcome[],
    batch: WrittenBatch | null,
    returned: readonly Uint8Array[] = [],
  ): void {
    const failures = outcomes.flatMap((error, request) => (error === undefined ? [] : [failureToWire(error, request)]))
    const transfer = returned.flatMap(({ buffer }) => (buffer instanceof ArrayBuffer ? [buffer] : []))
    this.send({ kind: 'settled', messages, failures, returned, commits: this.commits, batch }, transfer)
  }

  private stop(): void {
    clearInterval(this.timer)
    this.closeDatabase()
    this.port.close()
  }
}

/** It uses loops: lists of each request and statement took 7 µs a message. */
function freeMoved(batch: readonly WriteRequest[]): void {
  for (const request of batch) {
    for (const { parameters } of request) {
      for (const value of parameters) if (value instanceof MessageBytes) value.free()
    }
  }
}

function openWriterDatabase(options: WriterThreadOptions): OpenDatabase {
  const db = openConnection(options)
  try {
    const spool = options.spool ? openSpool(db, options.file) : null
    return { db, spool, group: new GroupCommit(db, spool), dataVersion: db.prepare('pragma data_version').pluck() }
  } catch (error) {
    db.close()
    throw error
  }
}

function openSpool(db: SQLite.Database, file: string): SpoolWriter {
  const highest = [
    ...spooledTables.map((table) => `select max(spool_file) as file from ${table} where spool_file is not null`),
    'select max(file) from spool_holes',
  ]
  const named = db
    .prepare<[], number | null>(`select max(file) from (${highest.join(' union all ')})`)
    .pluck()
    .get()
  return new SpoolWriter({ folder: spoolFolder(file), named: named ?? 0 })
}

if (parentPort === null) throw new Error('the writer runs in a worker thread')
try {
  new WriterThread(parentPort, workerData)
} catch (error) {
  parentPort.postMessage({ kind: 'cannot-open', failure: failureToWire(toStorageFault(error), 0) } satisfies FromWriter)
}

/**
 * Cuts off what an earlier run of the log has left after its end, where deleted bytes would stay for long.
 *
 * SQLite cuts the log to `journal_size_limit` in the first commit after a restart of the log. The limit is 0 until
 * then; afterwards it is large again, because growing the file would cost each commit.
 *
 * True if the log was restarted since the purge began. Call it again while it is false.
 */
type LogPurge = () => boolean

function beginLogPurge(db: SQLite.Database, file: string): LogPurge {
  const before = readSalts(file)
  db.pragma('journal_size_limit = 0')
  return () => {
    if (readSalts(file) === before) {
      db.pragma('wal_checkpoint(PASSIVE)')
      db.exec(COMMIT_ONE_PAGE)
    }
    if (readSalts(file) === before) return false
    db.pragma(`journal_size_limit = ${MAX_LOG_BYTES}`)
    return true
  }
}

/** The salts of the log, which change when it is restarted, or empty if it has no header yet. */
function readSalts(file: string): string {
  const log = openSync(`${file}-wal`, 'r')
  try {
    const salts = Buffer.alloc(8)
    return readSync(log, salts, 0, 8, 16) === 8 ? salts.toString('hex') : ''
  } finally {
    closeSync(log)
  }
}
