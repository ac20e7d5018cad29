/**
 * Authentication of inbound messages on a thread of its own: hashing 34 MB takes up to a tenth of a second of CPU for
 * each way of hashing, and a header of 2 MB takes a second.
 *
 * The memory of a large message is moved to the thread and back, not copied: the caller's Buffer is empty from
 * then on, and the result returns the bytes. Few messages with large headers are checked at a time, because
 * mailauth makes many objects of each field.
 *
 * A thread that dies, or works on a message for longer than `TIME_LIMIT`, is replaced; its messages are rejected
 * and get a temporary reply.
 */
import { Worker } from 'node:worker_threads'
import type { Authentication, Connection } from '../../mail/authentication-results.js'
import type { Header } from '../../mail/header-fields.js'
import { Refusal } from '../../mail/refusal.js'
import type { Clock } from '../../platform/clock.js'
import type { RecordResolver } from '../../platform/dns/resolver.js'
import { threadOptions } from '../../platform/processes/thread-options.js'
import { createSemaphore, type Semaphore } from '../../platform/semaphore.js'
import { busyTimeOf } from '../../platform/thread-load.js'
import type {
  DatedAnswer,
  DnsAnswer,
  DnsQuery,
  FromAuthenticator,
  MessageToCheck,
  Outcome,
  ToAuthenticator,
} from './authentication-protocol.js'

export interface AuthenticationResult {
  readonly authentication: Authentication
  /** The bytes that were given. */
  readonly raw: Buffer
}

/** The caller must not use `raw` afterwards. `header`: of `raw`. */
export type Authenticate = (raw: Buffer, header: Header, connection: Connection) => Promise<AuthenticationResult>

interface AuthenticationDeps {
  readonly resolver: RecordResolver
  readonly clock: Clock
}

/** Messages of this size in octets and above are moved. */
const MOVE_THRESHOLD = 65_536
/** From this size in octets a header is large. `maxWait`: in milliseconds. */
const LARGE_HEADER = 131_072
const LARGE_HEADER_LIMITS = { slots: 4, maxWaiting: 100, maxWait: 60_000 }
/** Milliseconds for one message: many times what six of the largest take on one slow core, each hashed twice. */
const TIME_LIMIT = 120_000

interface Job {
  readonly raw: Buffer
  readonly timer: NodeJS.Timeout
  readonly resolve: (authenticated: AuthenticationResult) => void
  readonly reject: (error: Error) => void
}

export class AuthenticationThread {
  private readonly deps: AuthenticationDeps
  private readonly jobs = new Map<number, Job>()
  private readonly largeHeaders: Semaphore = createSemaphore(LARGE_HEADER_LIMITS.slots, LARGE_HEADER_LIMITS.maxWaiting)
  private worker: Worker | null = null
  private lastId = 0
  private isStopped = false
  private answers: DatedAnswer[] = []
  private gathered: MessageToCheck[] = []

  constructor(deps: AuthenticationDeps) {
    this.deps = deps
  }

  /** Rejects with a `Refusal` if the message cannot be checked. */
  readonly authenticate: Authenticate = async (raw, header, connection) => {
    if (header.end < LARGE_HEADER) return this.request(raw, connection)
    const admitted = await this.largeHeaders.acquire(LARGE_HEADER_LIMITS.maxWait)
    if (!admitted) throw new Refusal('unavailable', 'too many messages with large headers, try again later')
    try {
      return await this.request(raw, connection)
    } finally {
      this.largeHeaders.release()
    }
  }

  /** Milliseconds in which the thread was busy, since its start. */
  readBusyTime(): number {
    return busyTimeOf(this.worker)
  }

  async stop(): Promise<void> {
    this.isStopped = true
    this.largeHeaders.close()
    const worker = this.worker
    if (worker !== null) this.discardWorker(worker, new Error('the authentication thread is stopped'))
    await worker?.terminate()
  }

  private request(raw: Buffer, connection: Connection): Promise<AuthenticationResult> {
    return new Promise((resolve, reject) => {
      if (this.isStopped) return reject(new Error('the authentication thread is stopped'))
      this.worker ??= this.startWorker()
      const worker = this.worker
      const id = ++this.lastId
      const timer = setTimeout(
        () => this.discardWorker(worker, new Error(`not authenticated within ${TIME_LIMIT} ms`)),
        TIME_LIMIT,
      )
      this.jobs.set(id, { raw, timer, resolve, reject })
      const moved = raw.length >= MOVE_THRESHOLD
      // A small Buffer may be a view of shared memory, all of which would be copied.
      const bytes = moved ? raw : new Uint8Array(raw)
      this.post(worker, { id, raw: bytes, moved, connection, now: this.deps.clock() })
    })
  }

  /** To a thread that is busy, messages of one turn of the event loop are sent together: each post has a price. */
  private post(worker: Worker, message: MessageToCheck): void {
    if (this.jobs.size === 1) {
      this.postBatch(worker, [message])
      return
    }
    const batch = this.gathered
    if (batch.length === 0) setImmediate(() => this.postBatch(worker, batch))
    batch.push(message)
  }

  private postBatch(worker: Worker, messages: readonly MessageToCheck[]): void {
    if (worker !== this.worker) return
    this.gathered = []
    const memory = messages.map(({ raw }) => raw.buffer as ArrayBuffer)
    worker.postMessage({ kind: 'messages', messages } satisfies ToAuthenticator, memory)
  }

  private startWorker(): Worker {
    const worker = new Worker(new URL('./authentication-worker.js', import.meta.url), threadOptions)
    worker.on('message', (incoming: FromAuthenticator) => {
      if (worker === this.worker) this.onMessage(worker, incoming)
    })
    worker.on('error', (error) => this.discardWorker(worker, error))
    worker.once('exit', () => this.discardWorker(worker, new Error('the authentication thread ended')))
    return worker
  }

  private onMessage(worker: Worker, incoming: FromAuthenticator): void {
    if (incoming.kind === 'outcomes') {
      for (const outcome of incoming.outcomes) this.settle(outcome)
      return
    }
    for (const [question, asked] of incoming.questions) void this.answerQuery(worker, question, asked)
  }

  private settle(outcome: Outcome): void {
    const job = this.finishJob(outcome.id)
    if (job === undefined) return
    if (outcome.kind === 'found') {
      const { authentication, raw } = outcome
      job.resolve({ authentication, raw: raw === null ? job.raw : toBuffer(raw) })
      return
    }
    const { refusal, message } = outcome
    job.reject(
      refusal === null ? new Error(`authentication failed: ${message}`) : new Refusal(refusal.kind, refusal.message),
    )
  }

  /** Answers of one turn of the event loop are sent together. */
  private async answerQuery(worker: Worker, question: number, { name, type }: DnsQuery): Promise<void> {
    const { resolver } = this.deps
    const asked: Promise<DnsAnswer> = type === 'MX' ? resolver.resolveMx(name) : resolver.resolveRecords(name, type)
    const answer = await asked.catch((): DnsAnswer => ({ kind: 'failure', detail: 'EFAULT' }))
    if (worker !== this.worker) return
    if (this.answers.length === 0) setImmediate(() => this.postAnswers())
    this.answers.push([question, answer, resolver.freshUntil?.(name, type) ?? 0])
  }

  private postAnswers(): void {
    this.worker?.postMessage({ kind: 'answers', answers: this.answers } satisfies ToAuthenticator)
    this.answers = []
  }

  private finishJob(id: number): Job | undefined {
    const job = this.jobs.get(id)
    this.jobs.delete(id)
    clearTimeout(job?.timer)
    return job
  }

  private discardWorker(worker: Worker, cause: Error): void {
    if (worker !== this.worker) return
    this.worker = null
    this.answers = []
    this.gathered = []
    void worker.terminate()
    for (const id of [...this.jobs.keys()]) {
      this.finishJob(id)?.reject(new Error('a message was not authenticated', { cause }))
    }
  }
}

function toBuffer(bytes: Uint8Array<ArrayBuffer>): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
