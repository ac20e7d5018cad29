/**
 * Messages taken apart: bodies, header fields, and what is attached. Done in threads of their
 * own, because a message from anywhere may take as long as it likes.
 *
 * Bounded in every direction: time and memory for each message, threads, those that wait. A
 * party (a workspace) never has all threads, so whoever sends us bombs waits for its own bombs
 * and the others go on. What waits holds no bytes; they are read when their turn comes.
 */
import { Refusal } from '../mail/refusal.js'
import type { MimeResult } from './mime-parts-protocol.js'
import { MimeThread, type ThreadLimits } from './mime-parts-thread.js'

export interface MimeLimits extends ThreadLimits {
  readonly threads: number
  /** Messages that wait, in all and of one party. */
  readonly waiting: number
  readonly waitingOfParty: number
}

export const defaultMimeLimits: MimeLimits = { time: 5_000, memory: 256, threads: 2, waiting: 128, waitingOfParty: 32 }

/** Gives the bytes of a message when its turn has come; undefined: they are gone. */
export type RawSource = () => Buffer | undefined

interface Job {
  readonly party: string
  readonly source: RawSource
  readonly resolve: (result: MimeResult) => void
  readonly reject: (error: unknown) => void
}

export class MimeReader {
  private readonly idle: MimeThread[]
  private readonly all: readonly MimeThread[]
  private readonly waiting: Job[] = []
  /** Threads that each party has now. */
  private readonly busy = new Map<string, number>()
  private closed = false

  constructor(private readonly limits: MimeLimits = defaultMimeLimits) {
    this.all = Array.from({ length: limits.threads }, () => new MimeThread(limits))
    this.idle = [...this.all]
  }

  /** Throws a Refusal `unavailable` where too many wait already. */
  async read(party: string, source: RawSource): Promise<MimeResult> {
    const { waiting, waitingOfParty } = this.limits
    const own = this.waiting.filter((job) => job.party === party).length
    if (this.closed || this.waiting.length >= waiting || own >= waitingOfParty) throw busy()
    return new Promise((resolve, reject) => {
      this.waiting.push({ party, source, resolve, reject })
      this.pump()
    })
  }

  async close(): Promise<void> {
    this.closed = true
    for (const { reject } of this.waiting.splice(0)) reject(busy())
    await Promise.all(this.all.map((thread) => thread.end()))
  }

  private pump(): void {
    for (;;) {
      const next = this.waiting.findIndex(({ party }) => this.mayStart(party))
      const [thread] = this.idle
      if (next === -1 || thread === undefined) return
      const [job] = this.waiting.splice(next, 1)
      if (job === undefined) return
      this.idle.shift()
      this.busy.set(job.party, (this.busy.get(job.party) ?? 0) + 1)
      void this.work(thread, job)
    }
  }

  private mayStart(party: string): boolean {
    return (this.busy.get(party) ?? 0) < Math.max(this.limits.threads - 1, 1)
  }

  private async work(thread: MimeThread, { party, source, resolve, reject }: Job): Promise<void> {
    try {
      const raw = source()
      resolve(raw === undefined ? gone : await thread.parse(raw))
    } catch (error) {
      reject(error)
    }
    const left = (this.busy.get(party) ?? 1) - 1
    if (left === 0) this.busy.delete(party)
    else this.busy.set(party, left)
    this.idle.push(thread)
    this.pump()
  }
}

const gone: MimeResult = { kind: 'unreadable', why: 'gone', message: 'its bytes are not kept any more' }

function busy(): Refusal {
  return new Refusal('unavailable', 'too many messages are being read, try again later')
}
