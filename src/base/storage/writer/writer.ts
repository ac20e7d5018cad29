/**
 * The main thread's side of the writer: `commit` gathers the requests of one turn of the event loop, posts
 * them to the writer thread in a few messages, and resolves when they are on disk. An urgent one ends the gathering.
 *
 * If the thread exits, its unanswered requests are rejected with a StorageFault; they may or may not be on
 * disk, as after a power cut. The thread is restarted after `restartAfter`; until it has opened the
 * database, requests are rejected at once.
 */
import { Worker } from 'node:worker_threads'
import { threadOptions } from '../../platform/processes/thread-options.js'
import { busyTimeOf } from '../../platform/thread-load.js'
import type { ConnectionOptions } from '../db/connection.js'
import type { WrittenBatch } from '../db/database.js'
import type { MessageBytes } from '../db/message-bytes.js'
import type { SpoolPlace } from '../db/spool-files.js'
import { type CommitOptions, StorageFault, type Write } from '../db/write.js'
import {
  type FromWriter,
  failureFromWire,
  StatementNumbers,
  type ToWriter,
  WireGathering,
  type WriterThreadOptions,
} from './writer-protocol.js'

interface WriterOptions extends ConnectionOptions {
  /** Milliseconds between the exit of the thread and the next start. */
  readonly restartAfter?: number | undefined
  /** Starts the thread; lets a test end it. */
  readonly startThread?: ((options: WriterThreadOptions) => Worker) | undefined
  /** See `OpenOptions`. */
  readonly spool?: boolean | undefined
}

/**
 * This many requests are posted before the turn ends. A turn that serves fifty clients takes many
 * milliseconds: the writer would wait for the main thread, and then the main thread for the writer.
 */
const POST_BATCH = 16

interface PendingRequest {
  readonly resolve: () => void
  readonly reject: (error: Error) => void
  readonly loans: readonly MessageBytes[]
}

const startThread = (options: WriterThreadOptions): Worker =>
  new Worker(new URL('./writer-worker.js', import.meta.url), { ...threadOptions, workerData: options })

export class Writer {
  private readonly options: WriterOptions
  private readonly listeners = new Set<() => void>()
  private readonly batchListeners = new Set<(batch: WrittenBatch) => void>()
  private worker: Worker | undefined
  /** Requests are accepted: the thread has opened the database and was not asked to stop. */
  private ready = false
  private closing = false
  private restartTimer: NodeJS.Timeout | undefined
  private numbers = new StatementNumbers()
  private gathering = new WireGathering()
  private gatheredPromises: PendingRequest[] = []
  /** One list for each unanswered message, in order. */
  private postedRequests: PendingRequest[][] = []
  private commitsOfThread = 0
  private pastCommits = 0

  private constructor(options: WriterOptions) {
    this.options = options
  }

  /** Resolves when the thread has opened the database. */
  static async open(options: WriterOptions): Promise<Writer> {
    const writer = new Writer(options)
    const opened = new Promise<void>((resolve, reject) => {
      const worker = writer.startThread()
      worker.once('error', reject)
      worker.once('message', (message: FromWriter) => {
        if (message.kind === 'cannot-open') reject(failureFromWire(message.failure))
        else resolve()
      })
    })
    await opened.catch((error: unknown) => {
      writer.closing = true
      throw error
    })
    return writer
  }

  countCommits(): number {
    return this.pastCommits + this.commitsOfThread
  }

  onForeignCommit(listener: () => void): void {
    this.listeners.add(listener)
  }

  onBatch(listener: (batch: WrittenBatch) => void): void {
    this.batchListeners.add(listener)
  }

  readBusyTime(): number {
    return busyTimeOf(this.worker)
  }

  commit(writes: readonly Write[], { isUrgent = false }: CommitOptions = {}): Promise<void> {
    return new Promise((resolve, reject) => {
      if (!this.ready) return reject(this.notReadyFault())
      const loans = this.gathering.add(writes, this.numbers)
      if (this.gatheredPromises.length === 0 && !isUrgent) setImmediate(() => this.post())
      this.gatheredPromises.push({ resolve, reject, loans })
      if (isUrgent || this.gatheredPromises.length === POST_BATCH) this.post()
    })
  }

  /** Gives up to `pages` free pages back to the file system, between two batches. */
  reclaimPages(pages: number): Promise<void> {
    return this.sendAlone({ kind: 'reclaim', pages })
  }

  /** See `Database`. */
  purgeLog({ goesOn } = { goesOn: false }): Promise<void> {
    return this.sendAlone({ kind: 'purge', goesOn })
  }

  /** See `Database`. */
  sweepSpool(holes: readonly SpoolPlace[]): Promise<void> {
    return this.sendAlone({ kind: 'sweep', holes })
  }

  private sendAlone(message: ToWriter): Promise<void> {
    return new Promise((resolve, reject) => {
      if (!this.ready) return reject(this.notReadyFault())
      this.post()
      this.postedRequests.push([{ resolve, reject, loans: [] }])
      this.send(message)
    })
  }

  /** Completes pending requests first. */
  async close(): Promise<void> {
    if (this.closing) return
    this.post()
    this.closing = true
    this.ready = false
    clearTimeout(this.restartTimer)
    const worker = this.worker
    if (worker === undefined) return
    await new Promise<void>((resolve) => {
      worker.once('exit', () => resolve())
      this.send({ kind: 'stop' })
    })
  }

  private send(message: ToWriter, transfer: readonly ArrayBuffer[] = []): void {
    this.worker?.postMessage(message, transfer)
  }

  private notReadyFault(): StorageFault {
    return new StorageFault('SQLITE_ABORT', this.closing ? 'the database is closed' : 'the writer is starting again')
  }

  private post(): void {
    if (this.gatheredPromises.length === 0) return
    this.postedRequests.push(this.gatheredPromises)
    this.gatheredPromises = []
    const { requests, transfer } = this.gathering.take()
    this.send({ kind: 'requests', ...this.numbers.takeUpdate(), requests }, transfer)
  }

  private startThread(): Worker {
    const { file, maxPages, busyTimeout, spool = false, startThread: start = startThread } = this.options
    const worker = start({ file, maxPages, busyTimeout, spool })
    this.worker = worker
    worker.on('message', (message: FromWriter) => this.handleMessage(message))
    worker.on('error', (error) => this.rejectPending(error))
    worker.on('messageerror', () => void worker.terminate())
    worker.once('exit', () => this.handleExit())
    return worker
  }

  private handleMessage(message: FromWriter): void {
    switch (message.kind) {
      case 'opened':
        this.ready = !this.closing
        return
      case 'settled':
        this.commitsOfThread = message.commits
        if (message.batch !== null) for (const listener of this.batchListeners) listener(message.batch)
        settle(this.postedRequests.splice(0, message.messages), message)
        return
      case 'foreign-commit':
        for (const listener of this.listeners) listener()
        return
      case 'cannot-open':
        return
    }
  }

  private rejectPending(error: Error): void {
    const fault = new StorageFault('SQLITE_ABORT', `the writer ended: ${error.message}`)
    const lost = [...this.postedRequests.flat(), ...this.gatheredPromises]
    this.postedRequests = []
    this.gathering = new WireGathering()
    this.gatheredPromises = []
    this.ready = false
    for (const { reject } of lost) reject(fault)
  }

  private handleExit(): void {
    this.rejectPending(new Error('the thread has exited'))
    this.worker = undefined
    this.pastCommits += this.commitsOfThread
    this.commitsOfThread = 0
    this.numbers = new StatementNumbers()
    if (!this.closing) this.restartTimer = setTimeout(() => this.restartThread(), this.options.restartAfter ?? 1000)
  }

  /** While there was no thread, commits of other processes were not noticed: some are assumed. */
  private restartThread(): void {
    this.startThread().once('message', (message: FromWriter) => {
      if (message.kind === 'opened') for (const listener of this.listeners) listener()
    })
  }
}

type Settled = Extract<FromWriter, { readonly kind: 'settled' }>

function settle(messages: readonly (readonly PendingRequest[])[], { failures, returned }: Settled): void {
  let request = 0
  let failed = 0
  let given = 0
  for (const message of messages) {
    for (const { resolve, reject, loans } of message) {
      for (const loan of loans) {
        const bytes = returned[given++]
        if (bytes !== undefined) loan.giveBack(bytes)
      }
      const failure = failures[failed]
      if (failure?.request === request) {
        reject(failureFromWire(failure))
        failed += 1
      } else resolve()
      request += 1
    }
  }
}
