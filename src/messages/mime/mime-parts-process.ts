/**
 * One process that takes messages apart, started when it is first needed and again after its
 * death, ended when it had nothing to do for a while. It has one message at a time, a time for it,
 * and limits of its heap and of all its memory.
 *
 * A process and not a thread: one that runs out of memory may take its whole process with it.
 * It is given nothing of our environment, and what it writes to its standard error is read, bounded
 * and told only where the process could not begin.
 *
 * The time runs from where the process has begun and is given the message, so a slow start is not
 * the message's fault; nor is one that fails: that is a Refusal `unavailable`, and no answer about
 * the message.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { Duplex } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { assertNever } from '../../mail/assert-never.js'
import { Refusal } from '../../mail/refusal.js'
import { createFrameReader, writeFrame } from '../../platform/processes/byte-frames.js'
import type {
  AnalysisResult,
  AttachmentResult,
  BodyLengths,
  DigestResult,
  FromMimeProcess,
  MimeOutline,
  MimeParts,
  MimeRequest,
  MimeResult,
  ProcessData,
  ReadableParts,
  ReadableResult,
  ToMimeProcess,
  UnreadableReason,
} from './mime-parts-protocol.js'

type ProcessResult = MimeResult | ReadableResult | AttachmentResult | AnalysisResult | DigestResult

export interface ProcessLimits {
  /** Milliseconds for one message, and more for each megabyte of it: many are slow where the machine is busy. */
  readonly time: number
  readonly timePerMegabyte: number
  /** Megabytes of heap. */
  readonly memory: number
  /** Megabytes of all memory of the process. */
  readonly resident: number
  /** Milliseconds after which a process that has nothing to do ends. */
  readonly idle: number
}

/** Milliseconds for a process to begin. */
const START_TIMEOUT = 30_000
/** Characters of its standard error that are told. */
const MAX_STDERR = 2_000
const MB = 1_048_576
/** Octets of a frame: a message of the largest size that any listener takes, and what is told of it. */
const FRAME_LIMITS = { value: 67_108_864, bytes: 1_073_741_824 }

interface RunningProcess {
  readonly child: ChildProcess
  readonly stream: Duplex
  readonly ready: Promise<void>
  markReady: () => void
  hasStarted: boolean
  stderrTail: string
}

interface PendingRequest {
  readonly resolve: (result: ProcessResult) => void
  readonly reject: (error: Refusal) => void
}

export class MimeProcess {
  private running: RunningProcess | null = null
  /** Of who waits for the message that the process has now. */
  private pending: PendingRequest | null = null
  /** Of the message that is being studied. */
  private outline: MimeOutline | null = null
  private timer: NodeJS.Timeout | undefined
  private isEnded = false

  /** `study`: the module of a `Study`; null: none is asked for. */
  constructor(
    private readonly limits: ProcessLimits,
    private readonly analysisModule: URL | null = null,
  ) {}

  /** The id of the process, while there is one. */
  get pid(): number | undefined {
    return this.running?.child.pid
  }

  /** One after the other. Whatever happens to a process that has begun is an answer; throws a Refusal where none begins. */
  async parse(raw: Buffer): Promise<MimeResult> {
    const answer = await this.request(raw, { kind: 'parts' })
    if (answer.kind === 'parts' || answer.kind === 'unreadable') return answer
    throw new Error(`the parts of a message were asked for, and the process says ${answer.kind}`)
  }

  /** As `parse`, with bodies for an answer in JSON. */
  async parseForDisplay(raw: Buffer): Promise<ReadableResult> {
    const answer = await this.request(raw, { kind: 'readable' })
    if (answer.kind === 'readable' || answer.kind === 'unreadable') return answer
    throw new Error(`a message to be read was asked for, and the process says ${answer.kind}`)
  }

  /** As `parse`; `place`: of the attachment among those that `parse` tells of. */
  async readAttachment(raw: Buffer, index: number): Promise<AttachmentResult> {
    const answer = await this.request(raw, { kind: 'attachment', index })
    if (answer.kind === 'attachment' || answer.kind === 'none' || answer.kind === 'unreadable') return answer
    throw new Error(`an attachment was asked for, and the process says ${answer.kind}`)
  }

  /** What is in the message, and what the study makes of it. */
  async analyze(raw: Buffer, facts: unknown): Promise<AnalysisResult> {
    const answer = await this.request(raw, { kind: 'studied', facts })
    if (answer.kind === 'studied' || answer.kind === 'unreadable') return answer
    throw new Error(`a study was asked for, and the process says ${answer.kind}`)
  }

  /** What the `Digest` of a module makes of the message. */
  async digest(raw: Buffer, module: URL, facts: unknown): Promise<DigestResult> {
    const answer = await this.request(raw, { kind: 'digested', module: module.href, facts })
    if (answer.kind === 'digested' || answer.kind === 'unreadable') return answer
    throw new Error(`a digest was asked for, and the process says ${answer.kind}`)
  }

  /** For good: what is asked for later is not read. */
  async end(): Promise<void> {
    this.isEnded = true
    const { running } = this
    if (running === null) return
    running.child.ref()
    const gone = new Promise<void>((resolve) => running.child.once('exit', () => resolve()))
    this.discardChild(running, 'broken', 'stopped')
    if (running.child.exitCode === null && running.child.signalCode === null) await gone
  }

  private async request(raw: Buffer, request: MimeRequest): Promise<ProcessResult> {
    clearTimeout(this.timer)
    if (this.isEnded) return { kind: 'unreadable', why: 'broken', message: 'stopped' }
    this.running ??= this.startChild()
    const { running } = this
    const answered = new Promise<ProcessResult>((resolve, reject) => {
      this.pending = { resolve, reject }
    })
    await Promise.race([running.ready, answered])
    if (running === this.running) {
      const time = Math.round(this.limits.time + (this.limits.timePerMegabyte * raw.length) / MB)
      this.timer = setTimeout(() => this.discardChild(running, 'time', `not read within ${time} ms`), time)
      running.child.ref()
      writeFrame(running.stream, { request } satisfies ToMimeProcess, [raw])
    }
    return answered
  }

  private startChild(): RunningProcess {
    const running = startProcess(this.limits, this.analysisModule)
    const { child, stream } = running
    const read = createFrameReader<FromMimeProcess>(FRAME_LIMITS, (said, bytes) => this.onMessage(running, said, bytes))
    stream.on('data', (chunk: Buffer) => {
      try {
        read(chunk)
      } catch (error) {
        this.discardChild(running, 'broken', error instanceof Error ? error.message : String(error))
      }
    })
    // A wire that breaks is a process that ends.
    stream.on('error', () => undefined)
    child.on('error', (error) => this.discardChild(running, 'broken', error.message))
    child.on('exit', (code, signal) => this.discardChild(running, ...exitReasonOf(code, signal, running.stderrTail)))
    this.timer = setTimeout(
      () => this.discardChild(running, 'broken', `not begun within ${START_TIMEOUT} ms`),
      START_TIMEOUT,
    )
    return running
  }

  /** What a process says after it was given up is for no one: another one may have a message by now. */
  private onMessage(running: RunningProcess, said: FromMimeProcess, bytes: Buffer): void {
    if (running !== this.running) return
    switch (said.kind) {
      case 'ready':
        clearTimeout(this.timer)
        running.stderrTail = ''
        running.hasStarted = true
        running.markReady()
        break
      case 'outlined':
        this.outline = said.outline
        break
      case 'studied':
        this.finishRequest(
          this.analysisResultOf(said.analysis) ?? { kind: 'unreadable', why: 'broken', message: 'nothing was parsed' },
        )
        break
      case 'parts':
        this.finishRequest({ kind: 'parts', parts: { ...said.parts, ...bodiesOf(bytes, said.bodies) } })
        break
      case 'readable':
        this.finishRequest({ kind: 'readable', parts: { ...said.parts, ...jsonBodiesOf(bytes, said.bodies) } })
        break
      case 'none':
      case 'digested':
        this.finishRequest(said)
        break
      case 'attachment':
        this.finishRequest({ ...said, bytes })
        break
      case 'broken':
        this.finishRequest({ kind: 'unreadable', why: 'broken', message: said.message })
        break
      default:
        assertNever(said)
    }
  }

  private discardChild(running: RunningProcess, why: UnreadableReason, message: string): void {
    if (running !== this.running) return
    this.running = null
    running.child.kill('SIGKILL')
    running.stream.destroy()
    if (!running.hasStarted && !this.isEnded) {
      this.pending?.reject(new Refusal('unavailable', `no process to take messages apart: ${message}`))
      this.pending = null
    }
    this.finishRequest(this.analysisResultOf(null) ?? { kind: 'unreadable', why, message })
  }

  /** What took the process down after its message was taken apart cost the message its study alone. */
  private analysisResultOf(analysis: unknown): AnalysisResult | null {
    return this.outline === null ? null : { kind: 'studied', outline: this.outline, analysis }
  }

  /** A process with nothing to do keeps ours not alive, and ends after a while. */
  private finishRequest(result: ProcessResult): void {
    clearTimeout(this.timer)
    this.outline = null
    const { running } = this
    if (running !== null) {
      unrefProcess(running)
      this.timer = setTimeout(() => this.discardChild(running, 'broken', 'not needed'), this.limits.idle).unref()
    }
    this.pending?.resolve(result)
    this.pending = null
  }
}

function startProcess({ memory, resident }: ProcessLimits, study: URL | null): RunningProcess {
  const data: ProcessData = { analysisModule: study?.href ?? null, resident }
  const program = fileURLToPath(new URL('./mime-parts-worker.js', import.meta.url))
  const options = [`--max-old-space-size=${memory}`, '--max-semi-space-size=4', '--enable-source-maps']
  const child = spawn(process.execPath, [...options, program, JSON.stringify(data)], {
    stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
    env: {},
  })
  let markReady = (): void => undefined
  const ready = new Promise<void>((resolve) => {
    markReady = resolve
  })
  const [, , , stream] = child.stdio
  if (!(stream instanceof Duplex)) throw new Error('the process has no pipe')
  const running: RunningProcess = { child, stream, ready, markReady, hasStarted: false, stderrTail: '' }
  child.stderr?.on('data', (chunk: Buffer) => {
    running.stderrTail = `${running.stderrTail}${chunk.toString('latin1')}`.slice(-MAX_STDERR)
  })
  return running
}

function unrefProcess({ child, stream: wire }: RunningProcess): void {
  child.unref()
  for (const stream of [wire, child.stderr]) (stream as { unref?: () => void } | null)?.unref?.()
}

/** V8 aborts where a heap is full, and Linux, like our watch over the process, kills what holds too much. */
function exitReasonOf(
  code: number | null,
  signal: NodeJS.Signals | null,
  lastWords: string,
): [UnreadableReason, string] {
  if (signal === 'SIGABRT' || signal === 'SIGKILL' || signal === 'SIGTRAP' || code === 134) {
    return ['memory', 'out of memory']
  }
  return ['broken', `the process ended with ${signal ?? code}: ${lastWords}`]
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
