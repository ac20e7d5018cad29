/**
 * One thread that looks at inbound mail, as the main thread sees it.
 *
 * The memory of a large message is moved to the thread and back, not copied. If the thread dies with it, its bytes are gone.
 *
 * A thread that dies, or works on a message for longer than `TIME_LIMIT`, is replaced; its messages are rejected
 * and get a temporary reply.
 */
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import type { Authentication, Connection } from '../../../base/mail/authentication-results.js'
import { Refusal } from '../../../base/mail/refusal.js'
import type { Clock } from '../../../base/platform/clock.js'
import type { RecordResolver } from '../../../base/platform/dns/resolver.js'
import { threadOptions } from '../../../base/platform/processes/thread-options.js'
import { busyTimeOf } from '../../../base/platform/thread-load.js'
import type { MessageBytes } from '../../../base/storage/db/message-bytes.js'
import { type Json, parseJson, toJson } from '../../../base/storage/tables/columns.js'
import type { DnsQuery, FoundAnswer } from '../authentication/kept-answers.js'
import type { TraceFacts } from '../authentication/trace-fields.js'
import { type StoredForm, unpackForm } from './packed-form.js'
import type {
  DatedAnswer,
  FoundMessage,
  FromMessageThread,
  MessageToCheck,
  RefusedMessage,
  ToMessageThread,
} from './thread-protocol.js'

export interface CheckedMessage {
  readonly authentication: Authentication
  /** The same as it is stored. */
  readonly authenticationJson: Json<Authentication>
  /** Null if it was not asked for. */
  readonly form: StoredForm | null
}

export interface MessageThreadDeps {
  readonly resolver: RecordResolver
  readonly clock: Clock
  /** A thread could not be started, or ended without a message in hand. */
  readonly onFailure: (cause: unknown) => void
}

/** Messages of this size in octets and above are moved. */
export const MOVE_THRESHOLD = 65_536
/**
 * Milliseconds for one message. That is many times what six of the largest take on one slow core, each hashed twice.
 */
const TIME_LIMIT = 120_000
/** Milliseconds until a thread is started ahead again. */
const START_PAUSE = 10_000

interface Job {
  readonly bytes: MessageBytes
  readonly timer: NodeJS.Timeout
  readonly resolve: (checked: CheckedMessage) => void
  readonly reject: (error: Error) => void
}

export class MessageThread {
  private readonly jobs = new Map<number, Job>()
  private worker: Worker | null = null
  private hasLoaded = false
  private lastStart = Number.NEGATIVE_INFINITY
  private lastId = 0
  private isStopped = false
  private answers: DatedAnswer[] = []
  private gathered: MessageToCheck[] = []

  constructor(private readonly deps: MessageThreadDeps) {}

  /** Messages that it works on. */
  get load(): number {
    return this.jobs.size
  }

  /** False until its code is loaded, which takes longer than some messages. */
  get isReady(): boolean {
    return this.hasLoaded
  }

  /** Starts the thread, so that its code is loaded before there is a message for it. One that cannot run is not tried all the time. */
  startAhead(): void {
    if (this.worker !== null || performance.now() - this.lastStart < START_PAUSE) return
    try {
      this.worker = this.startWorker()
    } catch (error) {
      this.deps.onFailure(error)
    }
  }

  /** Resolves once its code is loaded, or the thread has ended, or after `limit` milliseconds. */
  async loadCode(limit: number): Promise<void> {
    this.startAhead()
    const { worker } = this
    if (worker === null || this.hasLoaded) return
    const ended = new AbortController()
    const { signal } = ended
    const ready = once(worker, 'message', { signal }) // the first one says that it is ready
    const waiting = [ready, once(worker, 'exit', { signal }), pause(limit, null, { signal })]
    await Promise.race(waiting).catch(() => undefined)
    ended.abort()
    await Promise.allSettled(waiting)
  }

  /** Milliseconds in which it was busy, since its start. */
  readBusyTime(): number {
    return busyTimeOf(this.worker)
  }

  async stop(): Promise<void> {
    this.isStopped = true
    const { worker } = this
    if (worker !== null) this.discardWorker(worker, new Error('the thread is stopped'))
    await worker?.terminate()
  }

  /** `trace` asks for the stored form of a small message. Rejects with a `Refusal` if the message cannot be checked. */
  check(bytes: MessageBytes, connection: Connection, trace: TraceFacts | null): Promise<CheckedMessage> {
    return new Promise((resolve, reject) => {
      if (this.isStopped) return reject(new Error('the thread is stopped'))
      this.worker ??= this.startWorker()
      const { worker } = this
      const id = ++this.lastId
      const timer = setTimeout(
        () => this.discardWorker(worker, new Error(`not authenticated within ${TIME_LIMIT} ms`)),
        TIME_LIMIT,
      )
      this.jobs.set(id, { bytes, timer, resolve, reject })
      const raw = bytes.read()
      const moved = raw.length >= MOVE_THRESHOLD
      // A small Buffer may be a view of shared memory, all of which would be copied.
      const sent = moved ? (raw as Buffer<ArrayBuffer>) : new Uint8Array(raw)
      const facts = toJson({ connection, trace: moved ? null : trace })
      this.post(worker, { id, raw: sent, moved, now: this.deps.clock(), facts })
    })
  }

  /** Messages of one turn of the event loop are sent to a busy thread together, because each post has a price. */
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
    const memory = messages.map(({ raw }) => raw.buffer)
    worker.postMessage({ kind: 'messages', messages } satisfies ToMessageThread, memory)
  }

  private startWorker(): Worker {
    this.lastStart = performance.now()
    const worker = new Worker(new URL('./message-worker.js', import.meta.url), threadOptions)
    worker.on('message', (incoming: FromMessageThread) => {
      if (worker === this.worker) this.onMessage(worker, incoming)
    })
    worker.on('error', (error) => this.discardWorker(worker, error))
    worker.once('exit', () => this.discardWorker(worker, new Error('the thread ended')))
    return worker
  }

  private onMessage(worker: Worker, incoming: FromMessageThread): void {
    if (incoming.kind === 'ready') {
      this.hasLoaded = true
      return
    }
    if (incoming.kind === 'questions') {
      for (const [question, asked] of incoming.questions) void this.answerQuery(worker, question, asked)
      return
    }
    const job = this.finishJob(incoming.id)
    if (job === undefined) return
    if (incoming.kind === 'found') job.resolve(toCheckedMessage(incoming, job.bytes))
    else job.reject(toError(incoming))
  }

  /** Answers of one turn of the event loop are sent together. */
  private async answerQuery(worker: Worker, question: number, { name, type }: DnsQuery): Promise<void> {
    const { resolver } = this.deps
    const asked: Promise<FoundAnswer> = type === 'MX' ? resolver.resolveMx(name) : resolver.resolveRecords(name, type)
    const answer = await asked.catch((): FoundAnswer => ({ kind: 'failure', detail: 'EFAULT' }))
    if (worker !== this.worker) return
    if (this.answers.length === 0) setImmediate(() => this.postAnswers())
    this.answers.push([question, answer, resolver.freshUntil?.(name, type) ?? 0])
  }

  private postAnswers(): void {
    this.worker?.postMessage({ kind: 'answers', answers: this.answers } satisfies ToMessageThread)
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
    this.hasLoaded = false
    this.answers = []
    this.gathered = []
    void worker.terminate()
    if (this.jobs.size === 0 && !this.isStopped) this.deps.onFailure(cause)
    for (const id of [...this.jobs.keys()]) {
      this.finishJob(id)?.reject(new Error('a message was not authenticated', { cause }))
    }
  }
}

function toCheckedMessage(found: FoundMessage, bytes: MessageBytes): CheckedMessage {
  if (found.raw !== null) bytes.giveBack(found.raw)
  return {
    authentication: parseJson(found.authentication),
    authenticationJson: found.authentication,
    form: found.form === null ? null : unpackForm(found.form, bytes.read()),
  }
}

function toError({ refusal, message }: RefusedMessage): Error {
  return refusal === null ? new Error(`authentication failed: ${message}`) : new Refusal(refusal.kind, refusal.message)
}
