/**
 * Messages taken apart: bodies, header fields, and what is attached. Done in processes of their
 * own, because a message from anywhere may take as long, and as much memory, as it likes.
 *
 * Bounded in every direction: time and memory for each message, processes, those that wait. The
 * turn goes round among the parties (workspaces), and none of them ever has all processes: so
 * whoever sends us bombs waits for its own bombs, and the others go on. However many wait, a
 * party of which nothing waits has a place. What waits holds no bytes; they are read when
 * their turn comes. Of large messages one is taken apart at a time, or their memory would add up.
 */
import { Refusal } from '../../mail/refusal.js'
import { createSerialRunner } from '../../platform/serial-runner.js'
import { MimeProcess, type ProcessLimits } from './mime-parts-process.js'
import type {
  AnalysisResult,
  AttachmentResult,
  DigestResult,
  MimeResult,
  ReadableResult,
} from './mime-parts-protocol.js'

export interface MimeLimits extends ProcessLimits {
  readonly processes: number
  /** Octets of a message from which on it is large. */
  readonly largeSize: number
  /** Messages that wait, in all and of one party. */
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

/** Gives the bytes of a message when its turn has come; undefined: they are gone. */
export type RawSource = () => Buffer | undefined

interface Job {
  /** Ends the waiting of whoever asked. */
  readonly run: (process: MimeProcess) => Promise<void>
  readonly reject: (error: unknown) => void
}

export class MimeReader {
  private readonly idleProcesses: MimeProcess[]
  private readonly processes: readonly MimeProcess[]
  /** By party, in the order of their turns; never an empty queue. */
  private readonly queues = new Map<string, Job[]>()
  private waitingCount = 0
  /** Processes that each party has now. */
  private readonly busyByWorkspace = new Map<string, number>()
  private isClosed = false
  private readonly runLargeAlone = createSerialRunner()

  /** `study`: the module of a `Study` (`mime-parts-protocol.ts`). */
  constructor(
    private readonly limits: MimeLimits = defaultMimeLimits,
    study: URL | null = null,
  ) {
    this.processes = Array.from({ length: limits.processes }, () => new MimeProcess(limits, study))
    this.idleProcesses = [...this.processes]
  }

  /** Throws a Refusal: `rate-limited` where too many of the party wait already, `unavailable` where too many do in all or no process can be started. */
  async read(party: string, source: RawSource): Promise<MimeResult> {
    return this.enqueueJob(party, source, (process, raw) => process.parse(raw))
  }

  /** For people: as `read`, with bodies as JSON texts, and where the message has HTML alone, with a text that says what it shows. */
  async readForDisplay(party: string, source: RawSource): Promise<ReadableResult> {
    return this.enqueueJob(party, source, (process, raw) => process.parseForDisplay(raw))
  }

  /**
   * As `read`, and what the study of this reader makes of it, in the same process and within the same
   * limits. `size`: of the message, where it is known: a large one is not even fetched before its turn.
   */
  async analyze(party: string, source: RawSource, facts: unknown, size = 0): Promise<AnalysisResult> {
    return this.enqueueJob(party, source, (process, raw) => process.analyze(raw, facts), size)
  }

  /** What the `Digest` of a module makes of the message, within the same limits. */
  async digest(party: string, source: RawSource, module: URL, facts: unknown): Promise<DigestResult> {
    return this.enqueueJob(party, source, (process, raw) => process.digest(raw, module, facts))
  }

  /** The bytes of one attachment. Throws as `read` does, and waits in the same queue. */
  async readAttachment(party: string, source: RawSource, place: number): Promise<AttachmentResult> {
    return this.enqueueJob(party, source, (process, raw) => process.readAttachment(raw, place))
  }

  private async enqueueJob<Result>(
    party: string,
    source: RawSource,
    ask: (process: MimeProcess, raw: Buffer) => Promise<Result>,
    size = 0,
  ): Promise<Result | typeof goneResult> {
    const queue = this.queues.get(party) ?? []
    if (this.isClosed) throw buildBusy()
    if (queue.length >= this.limits.maxWaitingPerWorkspace) throw buildTooManyWaiting(queue.length)
    if (queue.length > 0 && this.waitingCount >= this.limits.maxWaiting) throw buildBusy()
    return new Promise((resolve, reject) => {
      const fetchAndAsk = async (process: MimeProcess, alone: boolean): Promise<Result | typeof goneResult> => {
        const raw = source()
        if (raw === undefined) return goneResult
        return alone || raw.length < this.limits.largeSize
          ? ask(process, raw)
          : this.runLargeAlone(() => ask(process, raw))
      }
      const run = async (process: MimeProcess): Promise<void> => {
        const isLarge = size >= this.limits.largeSize
        resolve(await (isLarge ? this.runLargeAlone(() => fetchAndAsk(process, true)) : fetchAndAsk(process, false)))
      }
      queue.push({ run, reject })
      this.queues.set(party, queue)
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
      const party = process === undefined ? undefined : this.nextWorkspace()
      const job = party === undefined ? undefined : this.takeJob(party)
      if (process === undefined || party === undefined || job === undefined) return
      this.idleProcesses.shift()
      this.busyByWorkspace.set(party, (this.busyByWorkspace.get(party) ?? 0) + 1)
      void this.runJob(process, party, job)
    }
  }

  private nextWorkspace(): string | undefined {
    for (const party of this.queues.keys()) if (this.mayStart(party)) return party
    return undefined
  }

  /** The party's oldest; with what is left it stands behind all others. */
  private takeJob(party: string): Job | undefined {
    const queue = this.queues.get(party) ?? []
    const job = queue.shift()
    this.queues.delete(party)
    if (queue.length > 0) this.queues.set(party, queue)
    this.waitingCount -= 1
    return job
  }

  private mayStart(party: string): boolean {
    return (this.busyByWorkspace.get(party) ?? 0) < Math.max(this.limits.processes - 1, 1)
  }

  private async runJob(process: MimeProcess, party: string, { run, reject }: Job): Promise<void> {
    try {
      // Awaited whatever comes of it: who ends within the turn in which it began would call the next out of itself.
      await run(process)
    } catch (error) {
      reject(error)
    }
    const left = (this.busyByWorkspace.get(party) ?? 1) - 1
    if (left === 0) this.busyByWorkspace.delete(party)
    else this.busyByWorkspace.set(party, left)
    this.idleProcesses.unshift(process) // one that runs already goes before one that has yet to start
    this.startJobs()
  }
}

const goneResult = { kind: 'unreadable', why: 'gone', message: 'its bytes are not kept any more' } as const

/** Of the party's own making, and over as soon as its messages are read. */
function buildTooManyWaiting(waiting: number): Refusal {
  const message = `${waiting} messages of this workspace are waiting to be read: try again in 1 s`
  return new Refusal('rate-limited', message, { retry_after: 1 })
}

function buildBusy(): Refusal {
  return new Refusal('unavailable', 'too many messages are being read, try again later')
}
