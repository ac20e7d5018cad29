/**
 * The writer thread: takes whatever waits at its port, commits it as one batch, answers.
 *
 * Invariant: an answer leaves after the COMMIT that it speaks of. While a commit runs,
 * messages gather at the port; all of them go into the next batch.
 *
 * After a fault other than a full or busy database the connection is not trusted any
 * more: the next batch opens a new one. Another process's commits show as a change of
 * `data_version`; it is compared before each batch and four times a second.
 */
import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import type SQLite from 'better-sqlite3'
import { freeMemory } from '../../platform/memory/free-memory.js'
import { type ConnectionOptions, connect } from '../connection.js'
import { storageFault } from '../health/faults.js'
import { type GroupCommit, groupCommit, type Outcome, type Request } from './group-commit.js'
import { MovedBytes, StorageFault } from './write.js'
import { type FromWriter, failureToWire, fromWire, type ToWriter } from './writer-protocol.js'

/** Keeps a commit, and so the longest wait for an answer, to some tens of milliseconds. */
const batchLimit = 2000
const idleCheck = 250

interface Open {
  readonly db: SQLite.Database
  readonly group: GroupCommit
  readonly version: SQLite.Statement
}

class WriterThread {
  private open: Open | undefined
  private version: unknown
  private commits = 0
  private texts: string[] = []
  private readonly timer: NodeJS.Timeout

  constructor(
    readonly port: MessagePort,
    readonly options: ConnectionOptions,
  ) {
    this.connection()
    port.on('message', (message: ToWriter) => this.take(message))
    this.timer = setInterval(() => this.with(() => undefined), idleCheck)
    this.say({ kind: 'opened' })
  }

  private say(message: FromWriter): void {
    this.port.postMessage(message)
  }

  private connection(): Open {
    if (this.open === undefined) {
      this.open = opened(this.options)
      this.look(this.open, this.version !== undefined)
    }
    return this.open
  }

  /** `data_version` means something on one connection only: after a change of connection, suppose the worst. */
  private look({ version }: Open, suppose = false): void {
    const now = version.get()
    if (suppose || (this.version !== undefined && now !== this.version)) this.say({ kind: 'foreign-commit' })
    this.version = now
  }

  private distrust(fault: StorageFault): void {
    if (fault.code === 'SQLITE_FULL' || fault.code.startsWith('SQLITE_BUSY')) return
    this.open?.db.close()
    this.open = undefined
  }

  /** The first message and all that wait behind it, up to one that is not requests. */
  private take(first: ToWriter): void {
    const batch: Request[] = []
    let messages = 0
    let next: ToWriter | undefined = first
    while (next?.kind === 'requests') {
      if (next.forget) this.texts = []
      this.texts.push(...next.texts)
      for (const request of next.requests) batch.push(fromWire(request, this.texts))
      messages += 1
      next = batch.length < batchLimit ? (receiveMessageOnPort(this.port)?.message as ToWriter | undefined) : undefined
    }
    if (messages > 0) {
      this.answer(messages, this.commit(batch))
      freeMemory(...movedPieces(batch))
    }
    if (next?.kind === 'reclaim') this.answer(1, [this.reclaim(next.pages)])
    if (next?.kind === 'stop') this.stop()
  }

  private commit(batch: readonly Request[]): Outcome[] {
    const outcomes = this.with(({ group }) => {
      const before = group.commits()
      const result = group.run(batch)
      this.commits += group.commits() - before
      return result
    })
    if (outcomes instanceof StorageFault) return batch.map(() => outcomes)
    const fault = outcomes.find((outcome) => outcome instanceof StorageFault)
    if (fault !== undefined) this.distrust(fault)
    return outcomes
  }

  private reclaim(pages: number): Outcome {
    const result = this.with(({ db }) => db.exec(`pragma incremental_vacuum(${pages})`))
    return result instanceof StorageFault ? result : undefined
  }

  /** Without anything to do, it looks for foreign commits and, after a fault, for a database that is well again. */
  private with<Result>(act: (open: Open) => Result): Result | StorageFault {
    try {
      const open = this.connection()
      this.look(open)
      return act(open)
    } catch (error) {
      const fault = storageFault(error)
      this.distrust(fault)
      return fault
    }
  }

  private answer(messages: number, outcomes: readonly Outcome[]): void {
    const failures = outcomes.flatMap((error, request) => (error === undefined ? [] : [failureToWire(error, request)]))
    this.say({ kind: 'settled', messages, failures, commits: this.commits })
  }

  private stop(): void {
    clearInterval(this.timer)
    this.open?.db.close()
    this.port.close()
  }
}

function movedPieces(batch: readonly Request[]): readonly Uint8Array[] {
  return batch.flatMap((request) =>
    request.flatMap(({ parameters }) =>
      parameters.flatMap((value) => (value instanceof MovedBytes ? value.pieces : [])),
    ),
  )
}

function opened(options: ConnectionOptions): Open {
  const db = connect(options)
  try {
    return { db, group: groupCommit(db), version: db.prepare('pragma data_version').pluck() }
  } catch (error) {
    db.close()
    throw error
  }
}

if (parentPort === null) throw new Error('the writer runs in a worker thread')
try {
  new WriterThread(parentPort, workerData as ConnectionOptions)
} catch (error) {
  parentPort.postMessage({ kind: 'cannot-open', failure: failureToWire(storageFault(error), 0) } satisfies FromWriter)
}
