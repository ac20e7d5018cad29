/**
 * A thread for jobs that would block the main thread: it starts with the first job, does one at a time, and ends when it
 * had none for a while, which frees its memory. The owners of jobs take turns, and the jobs of one keep their order.
 *
 * If it ends by itself, the job under way is rejected, since that may be the cause; the next starts another thread.
 */
import { type MessagePort, parentPort, type Transferable, Worker } from 'node:worker_threads'
import { errorMessageOf } from '../errors.js'
import { OwnerQueue } from '../owner-queue.js'
import { busyTimeOf } from '../thread-load.js'
import { threadOptions } from './thread-options.js'

/** Milliseconds without a job after which the thread ends. */
const IDLE = 30_000
/** Milliseconds in which a thread that is to end may finish what it does. */
const END_LIMIT = 2_000
/** Megabytes of its heap; the bytes of Buffers are not in it. */
const resourceLimits = { maxOldGenerationSizeMb: 512, maxYoungGenerationSizeMb: 16 }

interface PendingJob<Job, Result> {
  readonly job: Job
  /** Memory that the thread gets; its Buffers are empty afterwards. */
  readonly transfer: readonly ArrayBuffer[]
  readonly resolve: (result: Result) => void
  readonly reject: (error: Error) => void
}

interface JobThreadOptions {
  /** Milliseconds that one job may take. A job that takes longer is rejected with `JobTimedOut`, and its thread ends. */
  readonly timeLimit?: number
  /** Bounds the jobs that wait, for jobs with an owner. */
  readonly bound?: JobBound
}

interface JobBound {
  /** Jobs of one owner that may wait. */
  readonly maxOfOwner: number
  /** Makes the error for a job beyond it. */
  readonly buildRefusal: () => Error
}

export class JobTimedOut extends Error {
  override name = 'JobTimedOut'
}

/** The answer of the thread. */
type JobAnswer<Result> = { readonly result: Result } | { readonly failure: string }

export class JobThread<Job, Result> {
  private worker: Worker | null = null
  private readonly pending = new OwnerQueue<PendingJob<Job, Result>, string | null>()
  private underWay: PendingJob<Job, Result> | null = null
  private idle: NodeJS.Timeout | null = null
  private limit: NodeJS.Timeout | null = null
  private isOnline = false
  private isStopped = false

  /** The module in `file` calls `serveJobs`. */
  constructor(
    private readonly file: URL,
    private readonly options: JobThreadOptions = {},
  ) {}

  /** The number of jobs that are not done, with the one under way. */
  get waiting(): number {
    return this.pending.size + (this.underWay === null ? 0 : 1)
  }

  /** Rejects at once if too many jobs of the owner wait. Those without an owner count as one, and have no bound. */
  run(job: Job, transfer: readonly ArrayBuffer[] = [], owner: string | null = null): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.checkBound(owner)
      this.pending.add(owner, { job, transfer, resolve, reject })
      this.postNext()
    })
  }

  /** Milliseconds in which the thread was busy, since its start. */
  readBusyTime(): number {
    return busyTimeOf(this.worker)
  }

  /** Ends the thread; jobs that are not done are rejected. */
  async stop(): Promise<void> {
    this.isStopped = true
    const { worker } = this
    this.handleLoss(worker, new Error('the thread is stopped'))
    if (worker !== null) await endWorker(worker)
  }

  private checkBound(owner: string | null): void {
    const { bound } = this.options
    if (owner === null || bound === undefined) return
    if (this.pending.countOf(owner) >= bound.maxOfOwner) throw bound.buildRefusal()
  }

  private postNext(): void {
    if (this.underWay !== null) return
    const next = this.pending.takeNext()?.item
    if (next === undefined) this.endWhenIdle()
    else if (this.isStopped) next.reject(new Error('the thread is stopped'))
    else this.post(next)
  }

  private post(next: PendingJob<Job, Result>): void {
    if (this.idle !== null) clearTimeout(this.idle)
    this.underWay = next
    try {
      this.worker ??= this.startWorker()
      this.worker.ref()
      this.worker.postMessage(next.job, next.transfer)
      if (this.isOnline) this.startLimit(this.worker)
    } catch (error) {
      // The system has no memory or no thread left.
      this.underWay = null
      next.reject(new Error(`the job cannot be given to a thread: ${errorMessageOf(error)}`, { cause: error }))
      this.postNext()
    }
  }

  private startLimit(worker: Worker): void {
    const { timeLimit } = this.options
    if (timeLimit === undefined) return
    this.limit = setTimeout(() => {
      // What the thread does outside of JavaScript goes on until it is done, but nothing waits for it.
      void worker.terminate()
      this.handleLoss(worker, new JobTimedOut(`the job took longer than ${timeLimit} ms`))
    }, timeLimit)
  }

  private endLimit(): void {
    if (this.limit !== null) clearTimeout(this.limit)
    this.limit = null
  }

  private endWhenIdle(): void {
    if (this.idle !== null) clearTimeout(this.idle)
    const { worker } = this
    if (worker === null) return
    // It keeps the process from ending only while it works.
    worker.unref()
    this.idle = setTimeout(() => {
      this.worker = null
      void endWorker(worker)
    }, IDLE).unref()
  }

  private startWorker(): Worker {
    const worker = new Worker(this.file, { ...threadOptions, resourceLimits })
    this.isOnline = false
    // The limit of its first job does not count the start of the thread.
    worker.once('online', () => {
      if (worker !== this.worker) return
      this.isOnline = true
      if (this.underWay !== null) this.startLimit(worker)
    })
    worker.on('message', (answer: JobAnswer<Result>) => {
      if (worker === this.worker) this.settle(answer)
    })
    worker.on('error', (error) => this.handleLoss(worker, error))
    worker.once('exit', () => this.handleLoss(worker, new Error('the thread has exited')))
    return worker
  }

  private settle(answer: JobAnswer<Result>): void {
    const done = this.underWay
    this.underWay = null
    this.endLimit()
    if ('result' in answer) done?.resolve(answer.result)
    else done?.reject(new Error(answer.failure))
    this.postNext()
  }

  private handleLoss(worker: Worker | null, cause: Error): void {
    if (worker !== this.worker) return
    this.worker = null
    const lost = this.underWay
    this.underWay = null
    this.endLimit()
    lost?.reject(cause instanceof JobTimedOut ? cause : new Error(`a job was not done: ${cause.message}`, { cause }))
    this.postNext()
    if (!this.isStopped) return
    for (const { reject } of this.pending.clear()) reject(cause)
  }
}

/**
 * Resolves when the thread has ended. A thread that is terminated while it loads a native module may end the whole process,
 * so it gets time to end by itself.
 */
function endWorker(worker: Worker): Promise<void> {
  return new Promise((resolve) => {
    const limit = setTimeout(() => void worker.terminate(), END_LIMIT)
    worker.once('exit', () => {
      clearTimeout(limit)
      resolve()
    })
    worker.ref()
    worker.postMessage(END)
  })
}

/** Asks the thread to end. */
const END = null

interface DoneJob<Result> {
  readonly result: Result
  /** Memory that the main thread gets. */
  readonly transfer: readonly ArrayBuffer[]
}

/** Runs in the thread and answers each job. If `perform` fails, only its job fails. */
export function serveJobs<Job, Result>(perform: (job: Job) => DoneJob<Result>): void {
  if (parentPort === null) throw new Error('this file runs as a worker thread')
  const port: MessagePort = parentPort
  port.on('message', (job: Job | typeof END) => {
    if (job === END) return port.close()
    const { answer, transfer } = answerJob(perform, job)
    port.postMessage(answer, transfer)
  })
}

function answerJob<Job, Result>(
  perform: (job: Job) => DoneJob<Result>,
  job: Job,
): { readonly answer: JobAnswer<Result>; readonly transfer: readonly Transferable[] } {
  try {
    const { result, transfer } = perform(job)
    return { answer: { result }, transfer }
  } catch (error) {
    return { answer: { failure: errorMessageOf(error) }, transfer: [] }
  }
}

/** Its memory, to be transferred. Null if it is short: its memory may be shared then, and a copy costs no more. */
export function memoryAloneOf({ buffer, byteLength }: Uint8Array): ArrayBuffer | null {
  return buffer instanceof ArrayBuffer && byteLength > LARGEST_SHARED ? buffer : null
}

/** Bytes of the largest pieces that share memory. A socket reads so many at once. */
const LARGEST_SHARED = 65_536
