/**
 * One process that parses messages. It is started when it is first needed and again after it exits, and ended when it
 * is idle for a while. It reads one message after the other, each with a time limit, within limits of its heap and of
 * all its memory. Its standard error is read, bounded, and quoted only if the process could not start.
 *
 * The time limit starts when the running process has answered the message before, so neither a slow start nor other
 * messages count against a message. If no process can start, that is a Refusal `unavailable` and says nothing about the
 * message.
 *
 * The end of the process is blamed on a message only if it was alone there. If there were several, answers of messages
 * before the one that caused it may be lost, so all are given back, to be read alone.
 */
import { assertNever } from '../../../base/mail/assert-never.js'
import { Refusal } from '../../../base/mail/refusal.js'
import { createFrameReader } from '../../../base/platform/processes/byte-frames.js'
import { exitReasonOf, type MimeChild, type ProcessLimits, startMimeChild, unrefMimeChild } from './mime-child.js'
import type {
  AnalysisResult,
  AttachmentResult,
  BodyLengths,
  ContentAnalyzer,
  DigestResult,
  Display,
  FromMimeProcess,
  MessageDigester,
  MessageRenderer,
  MimeParts,
  MimeRequest,
  MimeResult,
  ReadableParts,
  ReadableResult,
  RenderResult,
  ToMimeProcess,
  UnreadableReason,
} from './mime-parts-protocol.js'

type ProcessResult<Summary, Analysis> =
  | MimeResult
  | ReadableResult
  | AttachmentResult
  | AnalysisResult<Summary, Analysis>
  | DigestResult<unknown>
  | RenderResult
  | { readonly kind: 'unread' }

/** Milliseconds for a process to start. */
const START_TIMEOUT = 30_000
const MB = 1_048_576
/** Octets of a frame: room for the largest message that any listener accepts, and for its result. */
const FRAME_LIMITS = { value: 67_108_864, bytes: 1_073_741_824 }

interface PendingRequest<Result> {
  readonly raw: Buffer
  readonly request: MimeRequest
  readonly resolve: (result: Result) => void
  readonly reject: (error: Refusal) => void
}

export class MimeProcess<Summary = unknown, Facts = never, Analysis = unknown> {
  private running: MimeChild | null = null
  /** The requests in the order of their answers. The process is busy with the first. */
  private pending: PendingRequest<ProcessResult<Summary, Analysis>>[] = []
  /** The summary of the first request. */
  private summary: { readonly value: Summary } | null = null
  private timer: NodeJS.Timeout | undefined
  private isEnded = false

  /** Only `analyze` needs `analyzer`. */
  constructor(
    private readonly limits: ProcessLimits,
    private readonly analyzer: ContentAnalyzer<Summary, Facts, Analysis> | null = null,
  ) {}

  /** The id of the process, if one is running. */
  get pid(): number | undefined {
    return this.running?.child.pid
  }

  /**
   * Parses a message. Whatever happens to a running process is a result; throws a Refusal if none can start. Make no
   * other call until it resolves.
   */
  async parse(raw: Buffer): Promise<MimeResult> {
    const answer = await this.request(raw, { kind: 'parts' })
    if (answer.kind === 'parts' || answer.kind === 'unreadable') return answer
    throw new Error(`the parts of a message were requested, and the process answered ${answer.kind}`)
  }

  /** Does what `parse` does, with bodies for an answer in JSON. */
  async parseForDisplay(raw: Buffer, display: Display): Promise<ReadableResult> {
    const answer = await this.request(raw, { kind: 'readable', ...display })
    if (answer.kind === 'readable' || answer.kind === 'unreadable') return answer
    throw new Error(`a readable message was requested, and the process answered ${answer.kind}`)
  }

  /** Reads an attachment; otherwise like `parse`. `index` is its place among those that `parse` returns. */
  async readAttachment(raw: Buffer, index: number): Promise<AttachmentResult> {
    const answer = await this.request(raw, { kind: 'attachment', index })
    if (answer.kind === 'attachment' || answer.kind === 'none' || answer.kind === 'unreadable') return answer
    throw new Error(`an attachment was requested, and the process answered ${answer.kind}`)
  }

  /** Resolves to the analysis, or null if the process ended, perhaps for another message. Calls may overlap. */
  async analyze(raw: Buffer, facts: Facts): Promise<AnalysisResult<Summary, Analysis> | null> {
    const answer = await this.request(raw, { kind: 'analyzed', facts })
    if (answer.kind === 'unread') return null
    if (answer.kind === 'analyzed' || answer.kind === 'unreadable') return answer
    throw new Error(`an analysis was requested, and the process answered ${answer.kind}`)
  }

  /** Resolves to the result of the digester. */
  async digest<DigestFacts, Digest>(
    raw: Buffer,
    { module }: MessageDigester<DigestFacts, Digest>,
    facts: DigestFacts,
  ): Promise<DigestResult<Digest>> {
    const answer = await this.request(raw, { kind: 'digested', module: module.href, facts })
    // The digester of that module made the value, so it has this type.
    if (answer.kind === 'digested') return { kind: 'digested', digest: answer.digest as Digest }
    if (answer.kind === 'unreadable') return answer
    throw new Error(`a digest was requested, and the process answered ${answer.kind}`)
  }

  /** Resolves to the result of the renderer. */
  async render<Facts>(raw: Buffer, { module }: MessageRenderer<Facts>, facts: Facts): Promise<RenderResult> {
    const answer = await this.request(raw, { kind: 'rendered', module: module.href, facts })
    if (answer.kind === 'rendered' || answer.kind === 'unreadable') return answer
    throw new Error(`a document was requested, and the process answered ${answer.kind}`)
  }

  /** Ends the process permanently: later requests are not read. */
  async end(): Promise<void> {
    this.isEnded = true
    const { running } = this
    if (running === null) return
    running.child.ref()
    const gone = new Promise<void>((resolve) => running.child.once('exit', () => resolve()))
    this.discardChild(running, 'broken', 'stopped')
    if (running.child.exitCode === null && running.child.signalCode === null) await gone
  }

  private request(raw: Buffer, request: MimeRequest): Promise<ProcessResult<Summary, Analysis>> {
    if (this.isEnded) return Promise.resolve({ kind: 'unreadable', why: 'broken', message: 'stopped' })
    return new Promise((resolve, reject) => {
      const pending = { raw, request, resolve, reject }
      this.pending.push(pending)
      void this.send(pending)
    })
  }

  private async send(pending: PendingRequest<ProcessResult<Summary, Analysis>>): Promise<void> {
    const { raw, request } = pending
    if (this.pending.length === 1) clearTimeout(this.timer)
    const running = this.running ?? this.tryToStart()
    if (running === null) return
    await running.ready
    if (running !== this.running) return
    if (this.pending[0] === pending) this.startTimer(running, raw)
    running.child.ref()
    running.frames.write({ request } satisfies ToMimeProcess, [raw])
  }

  private startTimer(running: MimeChild, { length }: Buffer): void {
    const time = Math.round(this.limits.time + (this.limits.timePerMegabyte * length) / MB)
    clearTimeout(this.timer)
    this.timer = setTimeout(() => this.discardChild(running, 'time', `not read within ${time} ms`), time)
  }

  private tryToStart(): MimeChild | null {
    try {
      this.running = this.startChild()
      return this.running
    } catch (error) {
      this.refuseAll(error instanceof Error ? error.message : String(error))
      return null
    }
  }

  private refuseAll(message: string): void {
    for (const { reject } of this.pending.splice(0))
      reject(new Refusal('unavailable', `no process can parse messages: ${message}`))
  }

  private startChild(): MimeChild {
    const running = startMimeChild(this.limits, this.analyzer?.module ?? null)
    const { child, stream } = running
    const read = createFrameReader<FromMimeProcess<Summary, Analysis>>(FRAME_LIMITS, (message, bytes) =>
      this.onMessage(running, message, bytes),
    )
    stream.on('data', (chunk: Buffer) => {
      try {
        read(chunk)
      } catch (error) {
        this.discardChild(running, 'broken', error instanceof Error ? error.message : String(error))
      }
    })
    // A broken stream means that the process ended.
    stream.on('error', () => undefined)
    child.on('error', (error) => this.discardChild(running, 'broken', error.message))
    // `exit` would come too early: answers that are still in the pipe come first.
    child.on('close', (code, signal) => this.discardChild(running, ...exitReasonOf(code, signal, running.stderrTail)))
    this.timer = setTimeout(
      () => this.discardChild(running, 'broken', `not begun within ${START_TIMEOUT} ms`),
      START_TIMEOUT,
    )
    return running
  }

  /** Ignores messages of a discarded process, because another one may have a request by now. */
  private onMessage(running: MimeChild, frame: FromMimeProcess<Summary, Analysis>, bytes: Buffer): void {
    if (running !== this.running) return
    switch (frame.kind) {
      case 'ready':
        clearTimeout(this.timer)
        running.stderrTail = ''
        running.hasStarted = true
        running.markReady()
        break
      case 'summarized':
        this.summary = { value: frame.summary }
        break
      case 'analyzed':
        this.finishRequest(
          this.analysisResultOf(frame.analysis) ?? { kind: 'unreadable', why: 'broken', message: 'nothing was parsed' },
        )
        break
      case 'parts':
        this.finishRequest({ kind: 'parts', parts: { ...frame.parts, ...bodiesOf(bytes, frame.bodies) } })
        break
      case 'readable':
        this.finishRequest({ kind: 'readable', parts: { ...frame.parts, ...jsonBodiesOf(bytes, frame.bodies) } })
        break
      case 'none':
      case 'digested':
        this.finishRequest(frame)
        break
      case 'attachment':
      case 'rendered':
        this.finishRequest({ ...frame, bytes })
        break
      case 'broken':
        this.finishRequest({ kind: 'unreadable', why: 'broken', message: frame.message })
        break
      default:
        assertNever(frame)
    }
  }

  private discardChild(running: MimeChild, why: UnreadableReason, message: string): void {
    if (running !== this.running) return
    this.running = null
    running.child.kill('SIGKILL')
    running.stream.destroy()
    if (!running.hasStarted && !this.isEnded) this.refuseAll(message)
    else if (this.pending.length > 1) this.giveBack()
    this.finishRequest(this.analysisResultOf(null) ?? { kind: 'unreadable', why, message })
  }

  /** Gives the last request back first, because each goes to the front of its queue. */
  private giveBack(): void {
    for (const { resolve } of this.pending.splice(0).reverse()) resolve({ kind: 'unread' })
  }

  /** Returns the result of a message whose analysis ended the process: its summary, and no analysis. */
  private analysisResultOf(analysis: Analysis | null): AnalysisResult<Summary, Analysis> | null {
    return this.summary === null ? null : { kind: 'analyzed', summary: this.summary.value, analysis }
  }

  private finishRequest(result: ProcessResult<Summary, Analysis>): void {
    clearTimeout(this.timer)
    this.summary = null
    this.pending.shift()?.resolve(result)
    const { running } = this
    if (running === null) return
    const [next] = this.pending
    if (next === undefined) this.rest(running)
    else this.startTimer(running, next.raw)
  }

  /** Lets our process end although this one is idle, and ends this one after a while. */
  private rest(running: MimeChild): void {
    unrefMimeChild(running)
    this.timer = setTimeout(() => this.discardChild(running, 'broken', 'not needed'), this.limits.idle).unref()
  }
}

function jsonBodiesOf(bytes: Buffer, { html, text }: BodyLengths): Pick<ReadableParts, 'html' | 'text'> {
  const end = html ?? 0
  return {
    html: html === null ? null : bytes.subarray(0, end),
    text: text === null ? null : bytes.subarray(end, end + text),
  }
}

function bodiesOf(bytes: Buffer, lengths: BodyLengths): Pick<MimeParts, 'html' | 'text'> {
  const { html, text } = jsonBodiesOf(bytes, lengths)
  return { html: html?.toString() ?? null, text: text?.toString() ?? null }
}
