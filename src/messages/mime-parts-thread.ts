/**
 * One thread that takes messages apart, started when it is first needed and again after its
 * death. It has one message at a time, a time for it, and a heap of its own.
 *
 * The time runs from where the thread takes the message up, so a slow start of the thread is
 * not the message's fault. Known limit: memory outside of V8's heap (the message itself, what
 * is decoded of it) is bounded only by the size of the message.
 */
import { Worker } from 'node:worker_threads'
import { assertNever } from '../mail/assert-never.js'
import { threadOptions } from '../platform/thread-options.js'
import type {
  AttachmentResult,
  FromMimeThread,
  MimeParts,
  MimeResult,
  StudyResult,
  ThreadData,
  ToMimeThread,
  Unreadable,
  Wanted,
} from './mime-parts-protocol.js'

type Answer = MimeResult | AttachmentResult | StudyResult

export interface ThreadLimits {
  /** Milliseconds for one message. */
  readonly time: number
  /** Megabytes of heap. */
  readonly memory: number
}

export class MimeThread {
  private worker: Worker | null = null
  /** Whoever waits for the message that the thread has now. */
  private answer: ((result: Answer) => void) | null = null
  /** Of the message that is being studied. */
  private parsed: MimeParts | null = null
  private timer: NodeJS.Timeout | undefined

  /** `study`: the module of a `Study`; null: nobody asks for one. */
  constructor(
    private readonly limits: ThreadLimits,
    private readonly study: URL | null = null,
  ) {}

  /** One after the other. Whatever happens to the thread is an answer. */
  async parse(raw: Buffer, kind: 'parts' | 'readable' = 'parts'): Promise<MimeResult> {
    const answer = await this.ask(raw, { kind })
    if (answer.kind === 'parts' || answer.kind === 'unreadable') return answer
    throw new Error(`the parts of a message were asked for, and the thread says ${answer.kind}`)
  }

  /** As `parse`; `place`: of the attachment among those that `parse` tells of. */
  async attachment(raw: Buffer, place: number): Promise<AttachmentResult> {
    const answer = await this.ask(raw, { kind: 'attachment', place })
    if (answer.kind === 'attachment' || answer.kind === 'none' || answer.kind === 'unreadable') return answer
    throw new Error(`an attachment was asked for, and the thread says ${answer.kind}`)
  }

  /** The parts, and what the study makes of them. */
  async studied(raw: Buffer, facts: unknown): Promise<StudyResult> {
    const answer = await this.ask(raw, { kind: 'studied', facts })
    if (answer.kind === 'studied' || answer.kind === 'unreadable') return answer
    throw new Error(`a study was asked for, and the thread says ${answer.kind}`)
  }

  private ask(raw: Buffer, wanted: Wanted): Promise<Answer> {
    this.worker ??= this.started()
    const { worker } = this
    // A copy, because what is transferred is gone here, and a Buffer may share its memory with others.
    const message: ToMimeThread = { raw: new Uint8Array(raw), wanted }
    return new Promise((resolve) => {
      this.answer = resolve
      worker.ref()
      worker.postMessage(message, [message.raw.buffer])
    })
  }

  async end(): Promise<void> {
    const { worker } = this
    this.give({ kind: 'unreadable', why: 'broken', message: 'stopped' })
    this.worker = null
    await worker?.terminate()
  }

  private started(): Worker {
    const workerData: ThreadData = { study: this.study?.href ?? null }
    const worker = new Worker(new URL('./mime-parts-worker.js', import.meta.url), {
      ...threadOptions,
      workerData,
      resourceLimits: { maxOldGenerationSizeMb: this.limits.memory, maxYoungGenerationSizeMb: 32 },
    })
    worker.on('message', (said: FromMimeThread) => this.hear(worker, said))
    worker.on('error', (error: Error & { code?: unknown }) =>
      this.lose(worker, error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? 'memory' : 'broken', error.message),
    )
    worker.on('exit', () => this.lose(worker, 'broken', 'the thread ended'))
    return worker
  }

  /** What a thread says after it was given up is nobody's any more: another one may have a message by now. */
  private hear(worker: Worker, said: FromMimeThread): void {
    if (worker !== this.worker) return
    const { time } = this.limits
    switch (said.kind) {
      case 'begun':
        this.timer = setTimeout(() => this.lose(worker, 'time', `not read within ${time} ms`), time)
        break
      case 'parsed':
        this.parsed = said.parts
        break
      case 'studied':
        this.give(this.studyOf(said.study) ?? { kind: 'unreadable', why: 'broken', message: 'nothing was parsed' })
        break
      case 'parts':
      case 'none':
        this.give(said)
        break
      case 'attachment': {
        const { kind, attachment, memory } = said
        this.give({ kind, attachment, bytes: Buffer.from(memory, 0, attachment.size) })
        break
      }
      case 'broken':
        this.give({ kind: 'unreadable', why: 'broken', message: said.message })
        break
      default:
        assertNever(said)
    }
  }

  private lose(worker: Worker, why: Unreadable, message: string): void {
    if (worker !== this.worker) return
    this.worker = null
    void worker.terminate()
    this.give(this.studyOf(null) ?? { kind: 'unreadable', why, message })
  }

  /** What took the thread down after its message was taken apart cost the message its study alone. */
  private studyOf(study: unknown): StudyResult | null {
    return this.parsed === null ? null : { kind: 'studied', parts: this.parsed, study }
  }

  /** A thread with nothing to do keeps no process alive. */
  private give(result: Answer): void {
    clearTimeout(this.timer)
    this.parsed = null
    this.worker?.unref()
    this.answer?.(result)
    this.answer = null
  }
}
