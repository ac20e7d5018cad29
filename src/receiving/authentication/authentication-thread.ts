/**
 * Authentication of incoming messages on a thread of its own: hashing 34 MB takes a second of CPU
 * for each way of hashing, and a header of 2 MB as long.
 *
 * The memory of a large message is moved to the thread and back, not copied: the caller's Buffer
 * is empty from then on, and the result brings the bytes. Messages with a large header are few at
 * a time, because mailauth makes many objects of each of its fields.
 *
 * A thread that dies, or has a message for longer than `TIME`, is replaced; what it had is
 * rejected, and answered as any fault of ours: temporarily.
 */
import { Worker } from 'node:worker_threads'
import { assertNever } from '../../mail/assert-never.js'
import { scanHeader } from '../../mail/header-fields.js'
import { Refusal } from '../../mail/refusal.js'
import type { Authentication, Connection } from '../../messages/inbound/authentication-results.js'
import type { Clock } from '../../platform/clock.js'
import type { RecordResolver } from '../../platform/dns/resolver.js'
import { threadOptions } from '../../platform/processes/thread-options.js'
import { type WaitingLine, waitingLine } from '../../platform/waiting-line.js'
import type { DnsAnswer, DnsQuestion, FromAuthenticator, ToAuthenticator } from './authentication-protocol.js'

export interface Authenticated {
  readonly found: Authentication
  /** The bytes that were given. */
  readonly raw: Buffer
}

/** `raw` is not to be used any more once this was called. */
export type Authenticate = (raw: Buffer, connection: Connection) => Promise<Authenticated>

export interface AuthenticationDeps {
  readonly resolver: RecordResolver
  readonly clock: Clock
}

/** Octets from which on a message is moved. */
const LARGE = 65_536
/** Octets of a header of which there are only so many at a time, and the wait for a place in milliseconds. */
const LARGE_HEADER = 131_072
const LARGE_HEADERS = { places: 4, waiting: 100, patience: 60_000 }
/** Milliseconds for one message: six of the largest, each hashed twice, take a third of it on one slow core. */
const TIME = 120_000

interface Job {
  readonly raw: Buffer
  readonly timer: NodeJS.Timeout
  readonly resolve: (authenticated: Authenticated) => void
  readonly reject: (error: Error) => void
}

export class AuthenticationThread {
  private readonly deps: AuthenticationDeps
  private readonly jobs = new Map<number, Job>()
  private readonly largeHeaders: WaitingLine = waitingLine(LARGE_HEADERS.places, LARGE_HEADERS.waiting)
  private worker: Worker | null = null
  private last = 0
  private stopped = false
  private answers: (readonly [number, DnsAnswer])[] = []

  constructor(deps: AuthenticationDeps) {
    this.deps = deps
  }

  /** Rejects with a `Refusal` where the message cannot be judged. */
  readonly authenticate: Authenticate = async (raw, connection) => {
    if (scanHeader(raw).end < LARGE_HEADER) return this.ask(raw, connection)
    const admitted = await this.largeHeaders.enter(LARGE_HEADERS.patience)
    if (!admitted) throw new Refusal('unavailable', 'too many messages with large headers, try again later')
    try {
      return await this.ask(raw, connection)
    } finally {
      this.largeHeaders.leave()
    }
  }

  async stop(): Promise<void> {
    this.stopped = true
    this.largeHeaders.close()
    const worker = this.worker
    if (worker !== null) this.lose(worker, new Error('authentication has ended'))
    await worker?.terminate()
  }

  private ask(raw: Buffer, connection: Connection): Promise<Authenticated> {
    return new Promise((resolve, reject) => {
      if (this.stopped) return reject(new Error('authentication has ended'))
      this.worker ??= this.started()
      const worker = this.worker
      const id = ++this.last
      const timer = setTimeout(() => this.lose(worker, new Error(`not authenticated within ${TIME} ms`)), TIME)
      this.jobs.set(id, { raw, timer, resolve, reject })
      const moved = raw.length >= LARGE
      // A small Buffer may be a window on memory of others, all of which would be copied.
      const bytes = moved ? raw : new Uint8Array(raw)
      const message: ToAuthenticator = { kind: 'message', id, raw: bytes, moved, connection, now: this.deps.clock() }
      worker.postMessage(message, [bytes.buffer as ArrayBuffer])
    })
  }

  private started(): Worker {
    const worker = new Worker(new URL('./authentication-worker.js', import.meta.url), threadOptions)
    worker.on('message', (said: FromAuthenticator) => {
      if (worker === this.worker) this.hear(worker, said)
    })
    worker.on('error', (error) => this.lose(worker, error))
    worker.once('exit', () => this.lose(worker, new Error('the authentication thread ended')))
    return worker
  }

  private hear(worker: Worker, said: FromAuthenticator): void {
    switch (said.kind) {
      case 'questions':
        for (const [question, asked] of said.questions) void this.resolve(worker, question, asked)
        return
      case 'found': {
        const job = this.ended(said.id)
        job?.resolve({ found: said.found, raw: said.raw === null ? job.raw : bufferOf(said.raw) })
        return
      }
      case 'refused': {
        const { refusal, message } = said
        this.ended(said.id)?.reject(
          refusal === null
            ? new Error(`authentication failed: ${message}`)
            : new Refusal(refusal.kind, refusal.message),
        )
        return
      }
      default:
        assertNever(said)
    }
  }

  /** Answers of one turn go together. */
  private async resolve(worker: Worker, question: number, { name, type }: DnsQuestion): Promise<void> {
    const { resolver } = this.deps
    const asked: Promise<DnsAnswer> = type === 'MX' ? resolver.mx(name) : resolver.records(name, type)
    const answer = await asked.catch((): DnsAnswer => ({ kind: 'failure', detail: 'EFAULT' }))
    if (worker !== this.worker) return
    if (this.answers.length === 0) setImmediate(() => this.post())
    this.answers.push([question, answer])
  }

  private post(): void {
    this.worker?.postMessage({ kind: 'answers', answers: this.answers } satisfies ToAuthenticator)
    this.answers = []
  }

  private ended(id: number): Job | undefined {
    const job = this.jobs.get(id)
    this.jobs.delete(id)
    clearTimeout(job?.timer)
    return job
  }

  private lose(worker: Worker, cause: Error): void {
    if (worker !== this.worker) return
    this.worker = null
    this.answers = []
    void worker.terminate()
    for (const id of [...this.jobs.keys()]) {
      this.ended(id)?.reject(new Error('a message was not authenticated', { cause }))
    }
  }
}

function bufferOf(bytes: Uint8Array<ArrayBuffer>): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
