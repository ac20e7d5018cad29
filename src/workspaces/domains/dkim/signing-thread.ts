/**
 * Makes DKIM signatures on a thread, in batches (docs/decisions/dkim-signer.md).
 *
 * Requests that arrive while the thread signs a batch form the next batch. If the thread exits, its batch is
 * rejected, because one of its messages may be the cause, and waiting requests go to a new thread. The main thread
 * hashes a body that is too large to be copied, in steps, and sends only its header. A batch has only a few messages
 * of broadcasts, so that other mail never waits for many.
 *
 * Limit: one thread makes as many signatures as one core can: 1,000 to 4,000 a second with RSA of 2048 bits.
 */
import { Worker } from 'node:worker_threads'
import { scanHeader } from '../../../base/mail/header-fields.js'
import { threadOptions } from '../../../base/platform/processes/thread-options.js'
import { busyTimeOf } from '../../../base/platform/thread-load.js'
import type { FollowsTables } from '../../../base/storage/db/table-changes.js'
import type { ArcSet } from './arc-seal.js'
import { hashRelaxedBodyAsync } from './canonical.js'
import type { DkimKey } from './sign.js'
import type { SignerMessage, SigningAnswer, SigningBatch, SigningJob } from './signing-protocol.js'

/** Bytes of one message that are copied at most. A batch has about as many. */
const MAX_COPIED_BYTES = 262_144
const MAX_BATCH_BYTES = 1_048_576
/** Messages of broadcasts in one batch. */
const MAX_BULK_JOBS = 4
const MAX_KEYS = 1_000
/** The thread holds one batch at a time. The default would delay garbage collection. */
const resourceLimits = { maxYoungGenerationSizeMb: 4 }

interface PendingSignature {
  readonly raw: Buffer
  readonly key: DkimKey
  readonly now: number
  readonly bodyHash: string | undefined
  readonly arc: ArcSet | undefined
  readonly resolve: (field: string) => void
  readonly reject: (error: Error) => void
}

const startWorker = (): Worker =>
  new Worker(new URL('./signing-worker.js', import.meta.url), { ...threadOptions, resourceLimits })

export class SigningThread implements FollowsTables {
  readonly follows = ['dkim_keys'] as const
  private readonly createWorker: () => Worker
  private worker: Worker | null = null
  private readonly pending: PendingSignature[] = []
  /** Waiting requests for messages of broadcasts. */
  private readonly pendingBulk: PendingSignature[] = []
  /** The batch that the thread is signing. */
  private inFlight: readonly PendingSignature[] = []
  private postTimer: NodeJS.Immediate | null = null
  /** Keys that the thread knows, with their numbers. */
  private readonly keyNumbers = new Map<DkimKey, number>()
  private isStopped = false

  /** Tests pass `start` and keep the thread, so that they can end it. */
  constructor(start: () => Worker = startWorker) {
    this.createWorker = start
  }

  /**
   * Returns the field to put on top of `raw`. `key` must be the same object for each message, because the thread
   * knows it by identity. `isBulk` says that the message belongs to a broadcast.
   */
  sign(raw: Buffer, key: DkimKey, now: number, isBulk = false): Promise<string> {
    return this.request(isBulk ? this.pendingBulk : this.pending, { raw, key, now, arc: undefined })
  }

  /** Returns the fields of an ARC set to put on top of `raw`. */
  seal(raw: Buffer, key: DkimKey, now: number, arc: ArcSet): Promise<string> {
    return this.request(this.pending, { raw, key, now, arc })
  }

  private async request(
    queue: PendingSignature[],
    job: Pick<PendingSignature, 'raw' | 'key' | 'now' | 'arc'>,
  ): Promise<string> {
    const { raw } = job
    if (raw.length <= MAX_COPIED_BYTES) return this.enqueue(queue, { ...job, bodyHash: undefined })
    const { bodyStart } = scanHeader(raw)
    const bodyHash = await hashRelaxedBodyAsync(raw, bodyStart)
    return this.enqueue(queue, { ...job, raw: raw.subarray(0, bodyStart), bodyHash })
  }

  /** Makes the thread drop all keys, because keys may have changed. */
  drop(): void {
    this.keyNumbers.clear()
    this.worker?.postMessage({ kind: 'forget' } satisfies SignerMessage)
  }

  /** Milliseconds in which the thread was busy, since its start. */
  readBusyTime(): number {
    return busyTimeOf(this.worker)
  }

  /** Ends the thread and rejects waiting requests. */
  async stop(): Promise<void> {
    this.isStopped = true
    if (this.postTimer !== null) clearImmediate(this.postTimer)
    const worker = this.worker
    await worker?.terminate()
    this.handleWorkerLoss(worker, new Error('the signing thread is stopped'))
  }

  private enqueue(queue: PendingSignature[], job: Omit<PendingSignature, 'resolve' | 'reject'>): Promise<string> {
    return new Promise((resolve, reject) => {
      if (this.isStopped) return reject(new Error('the signing thread is stopped'))
      queue.push({ ...job, resolve, reject })
      this.schedulePost()
    })
  }

  /** Posts in the next turn, so that the batch has all requests of this turn. */
  private schedulePost(): void {
    if (this.postTimer !== null || this.inFlight.length > 0 || this.isStopped) return
    if (this.pending.length + this.pendingBulk.length === 0) return
    this.postTimer = setImmediate(() => {
      this.postTimer = null
      this.postBatch()
    })
  }

  private postBatch(): void {
    const pending = this.takeBatch()
    this.inFlight = pending
    const bytes = new Uint8Array(pending.reduce((sum, { raw }) => sum + raw.length, 0))
    let at = 0
    for (const { raw } of pending) {
      bytes.set(raw, at)
      at += raw.length
    }
    this.worker ??= this.startWorker()
    const batch: SigningBatch = { kind: 'batch', ...this.numberKeys(pending), bytes }
    this.worker.postMessage(batch, [bytes.buffer])
  }

  private takeBatch(): readonly PendingSignature[] {
    return [...takeJobs(this.pending, this.pending.length), ...takeJobs(this.pendingBulk, MAX_BULK_JOBS)]
  }

  private numberKeys(pending: readonly PendingSignature[]): Pick<SigningBatch, 'keys' | 'jobs'> {
    if (this.keyNumbers.size + pending.length > MAX_KEYS) this.drop()
    const keys: DkimKey[] = []
    const jobs = pending.map(({ key, now, raw, bodyHash, arc }): SigningJob => {
      let number = this.keyNumbers.get(key)
      if (number === undefined) {
        number = this.keyNumbers.size
        this.keyNumbers.set(key, number)
        keys.push(key)
      }
      return [number, now, raw.length, bodyHash, arc]
    })
    return { keys, jobs }
  }

  private startWorker(): Worker {
    const worker = this.createWorker()
    worker.on('message', (answers: readonly SigningAnswer[]) => {
      // Without this check, a late answer of a thread that was given up would count as the answer to the next batch.
      if (worker === this.worker) this.handleAnswers(answers)
    })
    worker.on('error', (error) => this.handleWorkerLoss(worker, error))
    worker.once('exit', () => this.handleWorkerLoss(worker, new Error('the thread has exited')))
    return worker
  }

  private handleAnswers(answers: readonly SigningAnswer[]): void {
    const pending = this.inFlight
    this.inFlight = []
    this.schedulePost()
    pending.forEach(({ resolve, reject }, at) => {
      const answer = answers[at]
      if (typeof answer === 'string') resolve(answer)
      else reject(new Error(`the message cannot be signed: ${answer?.failure ?? 'no answer'}`))
    })
  }

  /** Forgets the thread and its keys. The next batch starts a new thread. */
  private handleWorkerLoss(worker: Worker | null, cause: Error): void {
    if (worker !== this.worker) return
    const waiting = this.isStopped ? [...this.pending.splice(0), ...this.pendingBulk.splice(0)] : []
    const lost = [...this.inFlight, ...waiting]
    this.worker = null
    this.inFlight = []
    this.keyNumbers.clear()
    for (const { reject } of lost) reject(new Error('a signature was not made', { cause }))
    this.schedulePost()
  }
}

/** Removes the first jobs: as many as a batch may have, and at least one. */
function takeJobs(queue: PendingSignature[], maxJobs: number): readonly PendingSignature[] {
  let bytes = 0
  const over = queue.findIndex(({ raw }) => {
    bytes += raw.length
    return bytes > MAX_BATCH_BYTES
  })
  return queue.splice(0, Math.min(maxJobs, over === -1 ? queue.length : Math.max(1, over)))
}
