/**
 * DKIM signatures, made on a thread of their own.
 *
 * Why a thread and not the pool behind crypto.sign: each hand-over to the pool wakes one of
 * its four threads, which then takes the core from the main thread, and each result wakes
 * the main thread again. Here whatever gathers while a batch is being signed goes out
 * together with the next, and canonicalization leaves the main thread as well.
 *
 * When the thread dies, the batch that it had is rejected: one of its messages may be the
 * cause. What has gathered since goes to a new thread. A body too large to be copied is
 * hashed here, in turns, and only its header crosses.
 *
 * Known limit: one thread makes as many signatures as one core can: 1,000 to 4,000 a
 * second with RSA of 2048 bits.
 */
import { Worker } from 'node:worker_threads'
import { scanHeader } from '../../mail/header-fields.js'
import { threadOptions } from '../../platform/processes/thread-options.js'
import { hashRelaxedBodyAsync } from './canonical.js'
import type { DkimKey } from './sign.js'
import type { SignerMessage, SigningAnswer, SigningBatch, SigningJob } from './signing-protocol.js'

/** Bytes of one message that are copied, and about as many as a batch holds. */
const MAX_COPIED_BYTES = 262_144
const MAX_BATCH_BYTES = 1_048_576
const MAX_KEYS = 1_000
/** It holds one batch at a time; the default would let it gather garbage for longer. */
const resourceLimits = { maxYoungGenerationSizeMb: 4 }

interface PendingSignature {
  readonly raw: Buffer
  readonly key: DkimKey
  readonly now: number
  readonly bodyHash: string | undefined
  readonly resolve: (field: string) => void
  readonly reject: (error: Error) => void
}

const startWorker = (): Worker =>
  new Worker(new URL('./signing-worker.js', import.meta.url), { ...threadOptions, resourceLimits })

export class SigningThread {
  private readonly createWorker: () => Worker
  private worker: Worker | null = null
  private pending: PendingSignature[] = []
  /** The batch under way. */
  private inFlight: readonly PendingSignature[] = []
  private postTimer: NodeJS.Immediate | null = null
  /** Keys that the thread knows, with their numbers. */
  private readonly keyNumbers = new Map<DkimKey, number>()
  private isStopped = false

  /** `start`: a test keeps the thread, to end it. */
  constructor(start: () => Worker = startWorker) {
    this.createWorker = start
  }

  /** The field that goes on top of `raw`. `key` is known by its identity: the same object for each message. */
  async sign(raw: Buffer, key: DkimKey, now: number): Promise<string> {
    if (raw.length <= MAX_COPIED_BYTES) return this.enqueue(raw, key, now, undefined)
    const { bodyStart } = scanHeader(raw)
    const bodyHash = await hashRelaxedBodyAsync(raw, bodyStart)
    return this.enqueue(raw.subarray(0, bodyStart), key, now, bodyHash)
  }

  /** Keys may have changed: the thread drops those that it has. */
  forgetKeys(): void {
    this.keyNumbers.clear()
    this.worker?.postMessage({ kind: 'forget' } satisfies SignerMessage)
  }

  /** Ends the thread; what was not signed is rejected. */
  async stop(): Promise<void> {
    this.isStopped = true
    if (this.postTimer !== null) clearImmediate(this.postTimer)
    const worker = this.worker
    await worker?.terminate()
    this.handleWorkerLoss(worker, new Error('signing has ended'))
  }

  private enqueue(raw: Buffer, key: DkimKey, now: number, bodyHash: string | undefined): Promise<string> {
    return new Promise((resolve, reject) => {
      if (this.isStopped) return reject(new Error('signing has ended'))
      this.pending.push({ raw, key, now, bodyHash, resolve, reject })
      this.schedulePost()
    })
  }

  /** In the next turn, so that all who ask in this one are in the batch. */
  private schedulePost(): void {
    if (this.postTimer !== null || this.inFlight.length > 0 || this.pending.length === 0 || this.isStopped) return
    this.postTimer = setImmediate(() => {
      this.postTimer = null
      this.postBatch()
    })
  }

  private postBatch(): void {
    const wanted = this.takeBatch()
    this.inFlight = wanted
    const bytes = new Uint8Array(wanted.reduce((sum, { raw }) => sum + raw.length, 0))
    let at = 0
    for (const { raw } of wanted) {
      bytes.set(raw, at)
      at += raw.length
    }
    this.worker ??= this.startWorker()
    const batch: SigningBatch = { kind: 'batch', ...this.numberKeys(wanted), bytes }
    this.worker.postMessage(batch, [bytes.buffer])
  }

  private takeBatch(): readonly PendingSignature[] {
    let bytes = 0
    const over = this.pending.findIndex(({ raw }) => {
      bytes += raw.length
      return bytes > MAX_BATCH_BYTES
    })
    return this.pending.splice(0, over === -1 ? this.pending.length : Math.max(1, over))
  }

  private numberKeys(wanted: readonly PendingSignature[]): Pick<SigningBatch, 'keys' | 'jobs'> {
    if (this.keyNumbers.size + wanted.length > MAX_KEYS) this.forgetKeys()
    const keys: DkimKey[] = []
    const jobs = wanted.map(({ key, now, raw, bodyHash }): SigningJob => {
      let number = this.keyNumbers.get(key)
      if (number === undefined) {
        number = this.keyNumbers.size
        this.keyNumbers.set(key, number)
        keys.push(key)
      }
      return [number, now, raw.length, bodyHash]
    })
    return { keys, jobs }
  }

  private startWorker(): Worker {
    const worker = this.createWorker()
    worker.on('message', (answers: readonly SigningAnswer[]) => {
      // What a thread says after it was given up would be taken for answers to the next batch.
      if (worker === this.worker) this.handleAnswers(answers)
    })
    worker.on('error', (error) => this.handleWorkerLoss(worker, error))
    worker.once('exit', () => this.handleWorkerLoss(worker, new Error('its thread is gone')))
    return worker
  }

  private handleAnswers(answers: readonly SigningAnswer[]): void {
    const wanted = this.inFlight
    this.inFlight = []
    this.schedulePost()
    wanted.forEach(({ resolve, reject }, at) => {
      const answer = answers[at]
      if (typeof answer === 'string') resolve(answer)
      else reject(new Error(`the message cannot be signed: ${answer?.failure ?? 'no answer'}`))
    })
  }

  /** A new thread knows no keys, and is started by the next batch. */
  private handleWorkerLoss(worker: Worker | null, cause: Error): void {
    if (worker !== this.worker) return
    const lost = this.isStopped ? [...this.inFlight, ...this.pending.splice(0)] : this.inFlight
    this.worker = null
    this.inFlight = []
    this.keyNumbers.clear()
    for (const { reject } of lost) reject(new Error('a signature was not made', { cause }))
    this.schedulePost()
  }
}
