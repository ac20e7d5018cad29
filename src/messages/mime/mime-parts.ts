/**
 * Takes messages apart: bodies, header fields, attachments. It is done in processes of their own, because a
 * message from anywhere may take any time and any memory.
 *
 * Everything is bounded: time and memory of each message, the number of processes, the number of messages that
 * wait. Turns go round among the workspaces, and no workspace ever has all processes, so a workspace that is sent
 * bombs delays itself alone. However many messages wait in all, a workspace of which none waits may always add one.
 * A waiting message holds no bytes; they are read when its turn comes. Large messages are parsed one
 * at a time, or their memory would add up.
 */
import { Refusal } from '../../mail/refusal.js'
import { createSerialRunner } from '../../platform/serial-runner.js'
import type { ProcessLimits } from './mime-child.js'
import { MimeProcess } from './mime-parts-process.js'
import type {
  AnalysisResult,
  AttachmentResult,
  ContentAnalyzer,
  DigestResult,
  MessageDigester,
  MimeResult,
  ReadableResult,
} from './mime-parts-protocol.js'

export interface MimeLimits extends ProcessLimits {
  readonly processes: number
  /** Messages of this size in octets and above are large. */
  readonly largeSize: number
  /** Messages that wait, in all and of one workspace. */
  readonly maxWaiting: number
  readonly maxWaitingPerWorkspace: number
}

export const defaultMimeLimits: MimeLimits = {
  time: 5_000,
  timePerMegabyte: 500,
  memory: 160,
  resident: 384,
  idle: 30_000,
  processes: 2,
  largeSize: 4_194_304,
  maxWaiting: 10_000,
  maxWaitingPerWorkspace: 1_000,
}

/** Reads the bytes of a message when its turn has come; undefined: they are gone. */
type RawSource = () => Buffer | undefined

interface Job<Process> {
  /** Settles the promise of the caller. */
  readonly run: (process: Process) => Promise<void>
  readonly reject: (error: unknown) => void
}

export class MimeReader<Summary = unknown, Facts = never, Analysis = unknown> {
  private readonly idleProcesses: MimeProcess<Summary, Facts, Analysis>[]
  private readonly processes: readonly MimeProcess<Summary, Facts, Analysis>[]
  /** By workspace, in the order of their turns; never an empty queue. */
  private readonly queues = new Map<string, Job<MimeProcess<Summary, Facts, Analysis>>[]>()
  private waitingCount = 0
  /** Processes that each workspace has now. */
  private readonly busyByWorkspace = new Map<string, number>()
  private isClosed = false
  private readonly runLargeAlone = createSerialRunner()

  /** `analyzer`: needed for `analyze` alone. */
  constructor(
    private readonly limits: MimeLimits = defaultMimeLimits,
    analyzer: ContentAnalyzer<Summary, Facts, Analysis> | null = null,
  ) {
    this.processes = Array.from({ length: limits.processes }, () => new MimeProcess(limits, analyzer))
    this.idleProcesses = [...this.processes]
  }

  /**
   * Throws a Refusal: `rate-limited` if too many messages of the workspace wait already, `unavailable` if too many
   * wait in all or if no process can be started.
   */
  async read(workspaceId: string, source: RawSource): Promise<MimeResult> {
    return this.enqueueJob(workspaceId, source, (process, raw) => process.parse(raw))
  }

  /** As `read`, with bodies as JSON texts; a message that has only HTML gets a text made of it. */
  async readForDisplay(workspaceId: string, source: RawSource): Promise<ReadableResult> {
    return this.enqueueJob(workspaceId, source, (process, raw) => process.parseForDisplay(raw))
  }

  /**
   * What the analyzer of this reader makes of the message, within the same limits. `size`: of the message,
   * where it is known: a large one is not fetched before its turn.
   */
  async analyze(
    workspaceId: string,
    source: RawSource,
    facts: Facts,
    size = 0,
  ): Promise<AnalysisResult<Summary, Analysis>> {
    return this.enqueueJob(workspaceId, source, (process, raw) => process.analyze(raw, facts), size)
  }

  /** What the digester makes of the message, within the same limits. */
  async digest<DigestFacts, Digest>(
    workspaceId: string,
    source: RawSource,
    digester: MessageDigester<DigestFacts, Digest>,
    facts: DigestFacts,
  ): Promise<DigestResult<Digest>> {
    return this.enqueueJob(workspaceId, source, (process, raw) => process.digest(raw, digester, facts))
  }

  /** The bytes of one attachment. Throws as `read` does, and waits in the same queue. */
  async readAttachment(workspaceId: string, source: RawSource, place: number): Promise<AttachmentResult> {
    return this.enqueueJob(workspaceId, source, (process, raw) => process.readAttachment(raw, place))
  }

  private async enqueueJob<Result>(
    workspaceId: string,
    source: RawSource,
    ask: (process: MimeProcess<Summary, Facts, Analysis>, raw: Buffer) => Promise<Result>,
    size = 0,
  ): Promise<Result | typeof goneResult> {
    const queue = this.queues.get(workspaceId) ?? []
    if (this.isClosed) throw buildBusy()
    if (queue.length >= this.limits.maxWaitingPerWorkspace) throw buildTooManyWaiting(queue.length)
    if (queue.length > 0 && this.waitingCount >= this.limits.maxWaiting) throw buildBusy()
    return new Promise((resolve, reject) => {
      const fetchAndAsk = async (
        process: MimeProcess<Summary, Facts, Analysis>,
        alone: boolean,
      ): Promise<Result | typeof goneResult> => {
        const raw = source()
        if (raw === undefined) return goneResult
        return alone || raw.length < this.limits.largeSize
          ? ask(process, raw)
          : this.runLargeAlone(() => ask(process, raw))
      }
      const run = async (process: MimeProcess<Summary, Facts, Analysis>): Promise<void> => {
        const isLarge = size >= this.limits.largeSize
        resolve(await (isLarge ? this.runLargeAlone(() => fetchAndAsk(process, true)) : fetchAndAsk(process, false)))
      }
      queue.push({ run, reject })
      this.queues.set(workspaceId, queue)
      this.waitingCount += 1
      this.startJobs()
    })
  }

  async close(): Promise<void> {
    this.isClosed = true
    const left = [...this.queues.values()].flat()
    this.queues.clear()
    this.waitingCount = 0
    for (const { reject } of left) reject(buildBusy())
    await Promise.all(this.processes.map((process) => process.end()))
  }

  private startJobs(): void {
    for (;;) {
      const [process] = this.idleProcesses
      const workspaceId = process === undefined ? undefined : this.nextWorkspace()
      const job = workspaceId === undefined ? undefined : this.takeJob(workspaceId)
      if (process === undefined || workspaceId === undefined || job === undefined) return
      this.idleProcesses.shift()
      this.busyByWorkspace.set(workspaceId, (this.busyByWorkspace.get(workspaceId) ?? 0) + 1)
      void this.runJob(process, workspaceId, job)
    }
  }

  private nextWorkspace(): string | undefined {
    for (const workspaceId of this.queues.keys()) if (this.mayStart(workspaceId)) return workspaceId
    return undefined
  }

  /** The workspace's oldest job; the workspace then goes to the end of the round. */
  private takeJob(workspaceId: string): Job<MimeProcess<Summary, Facts, Analysis>> | undefined {
    const queue = this.queues.get(workspaceId) ?? []
    const job = queue.shift()
    this.queues.delete(workspaceId)
    if (queue.length > 0) this.queues.set(workspaceId, queue)
    this.waitingCount -= 1
    return job
  }

  private mayStart(workspaceId: string): boolean {
    return (this.busyByWorkspace.get(workspaceId) ?? 0) < Math.max(this.limits.processes - 1, 1)
  }

  private async runJob(
    process: MimeProcess<Summary, Facts, Analysis>,
    workspaceId: string,
    { run, reject }: Job<MimeProcess<Summary, Facts, Analysis>>,
  ): Promise<void> {
    try {
      // Awaited even if it settled at once, so that the next job never starts inside the call stack of this one.
      await run(process)
    } catch (error) {
      reject(error)
    }
    const left = (this.busyByWorkspace.get(workspaceId) ?? 1) - 1
    if (left === 0) this.busyByWorkspace.delete(workspaceId)
    else this.busyByWorkspace.set(workspaceId, left)
    this.idleProcesses.unshift(process) // a process that runs already is preferred to one that has to be started
    this.startJobs()
  }
}

/** What those who only read messages need. */
export type MessageReader = Pick<MimeReader, 'read' | 'readForDisplay' | 'readAttachment'>

const goneResult = { kind: 'unreadable', why: 'gone', message: 'its bytes are no longer stored' } as const

/** The workspace caused it, and it ends as soon as its messages are read. */
function buildTooManyWaiting(waiting: number): Refusal {
  const message = `${waiting} messages of this workspace are waiting to be read: try again in 1 s`
  return new Refusal('rate-limited', message, { retry_after: 1 })
}

function buildBusy(): Refusal {
  return new Refusal('unavailable', 'too many messages are being read, try again later')
}
