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
import { inTurn } from '../../platform/in-turn.js'
import { MimeProcess, type ProcessLimits } from './mime-parts-process.js'
import type { AttachmentResult, DigestResult, MimeResult, ReadableResult, StudyResult } from './mime-parts-protocol.js'

export interface MimeLimits extends ProcessLimits {
  readonly processes: number
  /** Octets of a message from which on it is large. */
  readonly large: number
  /** Messages that wait, in all and of one party. */
  readonly waiting: number
  readonly waitingOfParty: number
}

export const defaultMimeLimits: MimeLimits = {
  time: 5_000,
  timePerMegabyte: 500,
  memory: 160,
  resident: 384,
  idle: 30_000,
  processes: 2,
  large: 4_194_304,
  waiting: 10_000,
  waitingOfParty: 1_000,
}

/** Gives the bytes of a message when its turn has come; undefined: they are gone. */
export type RawSource = () => Buffer | undefined

interface Job {
  /** Ends the waiting of whoever asked. */
  readonly run: (process: MimeProcess) => Promise<void>
  readonly reject: (error: unknown) => void
}

export class MimeReader {
  private readonly idle: MimeProcess[]
  private readonly all: readonly MimeProcess[]
  /** By party, in the order of their turns; never an empty queue. */
  private readonly queues = new Map<string, Job[]>()
  private waiting = 0
  /** Processes that each party has now. */
  private readonly busy = new Map<string, number>()
  private closed = false
  private readonly oneLarge = inTurn()

  /** `study`: the module of a `Study` (`mime-parts-protocol.ts`). */
  constructor(
    private readonly limits: MimeLimits = defaultMimeLimits,
    study: URL | null = null,
  ) {
    this.all = Array.from({ length: limits.processes }, () => new MimeProcess(limits, study))
    this.idle = [...this.all]
  }

  /** Throws a Refusal: `rate-limited` where too many of the party wait already, `unavailable` where too many do in all or no process can be started. */
  async read(party: string, source: RawSource): Promise<MimeResult> {
    return this.inTurn(party, source, (process, raw) => process.parse(raw))
  }

  /** For people: as `read`, with bodies as JSON texts, and where the message has HTML alone, with a text that says what it shows. */
  async readable(party: string, source: RawSource): Promise<ReadableResult> {
    return this.inTurn(party, source, (process, raw) => process.readable(raw))
  }

  /**
   * As `read`, and what the study of this reader makes of it, in the same process and within the same
   * limits. `size`: of the message, where it is known: a large one is not even fetched before its turn.
   */
  async studied(party: string, source: RawSource, facts: unknown, size = 0): Promise<StudyResult> {
    return this.inTurn(party, source, (process, raw) => process.studied(raw, facts), size)
  }

  /** What the `Digest` of a module makes of the message, within the same limits. */
  async digested(party: string, source: RawSource, module: URL, facts: unknown): Promise<DigestResult> {
    return this.inTurn(party, source, (process, raw) => process.digested(raw, module, facts))
  }

  /** The bytes of one attachment. Throws as `read` does, and waits in the same queue. */
  async attachment(party: string, source: RawSource, place: number): Promise<AttachmentResult> {
    return this.inTurn(party, source, (process, raw) => process.attachment(raw, place))
  }

  private async inTurn<Result>(
    party: string,
    source: RawSource,
    ask: (process: MimeProcess, raw: Buffer) => Promise<Result>,
    size = 0,
  ): Promise<Result | typeof gone> {
    const queue = this.queues.get(party) ?? []
    if (this.closed) throw busy()
    if (queue.length >= this.limits.waitingOfParty) throw tooMany(queue.length)
    if (queue.length > 0 && this.waiting >= this.limits.waiting) throw busy()
    return new Promise((resolve, reject) => {
      const fetched = async (process: MimeProcess, alone: boolean): Promise<Result | typeof gone> => {
        const raw = source()
        if (raw === undefined) return gone
        return alone || raw.length < this.limits.large ? ask(process, raw) : this.oneLarge(() => ask(process, raw))
      }
      const run = async (process: MimeProcess): Promise<void> => {
        const isLarge = size >= this.limits.large
        resolve(await (isLarge ? this.oneLarge(() => fetched(process, true)) : fetched(process, false)))
      }
      queue.push({ run, reject })
      this.queues.set(party, queue)
      this.waiting += 1
      this.pump()
    })
  }

  async close(): Promise<void> {
    this.closed = true
    const left = [...this.queues.values()].flat()
    this.queues.clear()
    this.waiting = 0
    for (const { reject } of left) reject(busy())
    await Promise.all(this.all.map((process) => process.end()))
  }

  private pump(): void {
    for (;;) {
      const [process] = this.idle
      const party = process === undefined ? undefined : this.nextParty()
      const job = party === undefined ? undefined : this.take(party)
      if (process === undefined || party === undefined || job === undefined) return
      this.idle.shift()
      this.busy.set(party, (this.busy.get(party) ?? 0) + 1)
      void this.work(process, party, job)
    }
  }

  private nextParty(): string | undefined {
    for (const party of this.queues.keys()) if (this.mayStart(party)) return party
    return undefined
  }

  /** The party's oldest; with what is left it stands behind all others. */
  private take(party: string): Job | undefined {
    const queue = this.queues.get(party) ?? []
    const job = queue.shift()
    this.queues.delete(party)
    if (queue.length > 0) this.queues.set(party, queue)
    this.waiting -= 1
    return job
  }

  private mayStart(party: string): boolean {
    return (this.busy.get(party) ?? 0) < Math.max(this.limits.processes - 1, 1)
  }

  private async work(process: MimeProcess, party: string, { run, reject }: Job): Promise<void> {
    try {
      // Awaited whatever comes of it: who ends within the turn in which it began would call the next out of itself.
      await run(process)
    } catch (error) {
      reject(error)
    }
    const left = (this.busy.get(party) ?? 1) - 1
    if (left === 0) this.busy.delete(party)
    else this.busy.set(party, left)
    this.idle.unshift(process) // one that runs already goes before one that has yet to start
    this.pump()
  }
}

const gone = { kind: 'unreadable', why: 'gone', message: 'its bytes are not kept any more' } as const

/** Of the party's own making, and over as soon as its messages are read. */
function tooMany(waiting: number): Refusal {
  const message = `${waiting} messages of this workspace are waiting to be read: try again in 1 s`
  return new Refusal('rate-limited', message, { retry_after: 1 })
}

function busy(): Refusal {
  return new Refusal('unavailable', 'too many messages are being read, try again later')
}
