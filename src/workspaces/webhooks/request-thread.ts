/**
 * Makes the requests of webhooks on a thread, which starts with the first of them. It sends the jobs of one turn of
 * the event loop together.
 *
 * If the thread exits, its jobs are lost and the next job starts another one.
 */
import { Worker } from 'node:worker_threads'
import { threadOptions } from '../../base/platform/processes/thread-options.js'
import { busyTimeOf } from '../../base/platform/thread-load.js'
import type {
  JobOutcome,
  NotMade,
  RequestContent,
  RequestJob,
  RequestOutcome,
  RequestThreadData,
} from './request-protocol.js'

/** Few jobs are under way. The default would delay garbage collection. */
const resourceLimits = { maxYoungGenerationSizeMb: 8 }

/** The memory of a body, unless the body shares it. */
function memoryOf({ body }: RequestJob): ArrayBuffer[] {
  if (body === null) return []
  const { buffer, byteLength } = body.bytes
  return buffer instanceof ArrayBuffer && buffer.byteLength === byteLength ? [buffer] : []
}

/** Resolves to null if the outcome is not known, because the thread has ended. */
type Settle = (outcome: RequestOutcome | NotMade | null) => void

export class RequestThread {
  private worker: Worker | null = null
  private waiting: RequestJob[] = []
  private readonly underWay = new Map<number, Settle>()
  private lastNumber = 0
  private isStopped = false

  /** `onFault` is called when an error has ended the thread, or when the thread cannot start. */
  constructor(
    private readonly data: RequestThreadData,
    private readonly onFault: (err: unknown) => void,
  ) {}

  request(content: RequestContent): Promise<RequestOutcome | NotMade | null> {
    return new Promise((resolve) => {
      if (this.isStopped) return resolve(null)
      this.lastNumber += 1
      this.underWay.set(this.lastNumber, resolve)
      if (this.waiting.push({ ...content, number: this.lastNumber }) === 1) setImmediate(() => this.postJobs())
    })
  }

  /** Milliseconds in which the thread was busy, since its start. */
  readBusyTime(): number {
    return busyTimeOf(this.worker)
  }

  /** Cuts off requests under way. */
  async stop(): Promise<void> {
    this.isStopped = true
    await this.worker?.terminate()
    this.handleLoss(this.worker)
  }

  private postJobs(): void {
    const jobs = this.waiting.splice(0)
    if (this.isStopped) return
    try {
      this.worker ??= this.startWorker()
      this.worker.postMessage(jobs, jobs.flatMap(memoryOf))
    } catch (err) {
      // The system has no memory or no thread left.
      this.onFault(err)
      for (const { number } of jobs) this.settle(number, null)
    }
  }

  private startWorker(): Worker {
    const url = new URL('./request-worker.js', import.meta.url)
    const worker = new Worker(url, { ...threadOptions, resourceLimits, workerData: this.data })
    worker.on('message', (outcomes: readonly JobOutcome[]) => {
      for (const [number, outcome] of outcomes) this.settle(number, outcome)
    })
    worker.on('error', (err) => {
      this.onFault(err)
      this.handleLoss(worker)
    })
    worker.once('exit', () => this.handleLoss(worker))
    return worker
  }

  private settle(number: number, outcome: RequestOutcome | NotMade | null): void {
    const settle = this.underWay.get(number)
    this.underWay.delete(number)
    settle?.(outcome)
  }

  private handleLoss(worker: Worker | null): void {
    if (worker !== this.worker) return
    this.worker = null
    this.waiting = []
    for (const number of [...this.underWay.keys()]) this.settle(number, null)
  }
}
