/**
 * Looks at mail that is on disk and was answered 250: takes it apart, lets it be judged, and
 * writes down what came of it, all in one commit.
 *
 * The database is its queue: whatever has status `received` is taken up, after a crash too. A
 * message that cannot be taken apart has failed, and its bytes stay; so has one over which a
 * bug of ours stumbles, or it would be taken up for ever. A fault of the database stops the
 * taking for a second, and then the same messages come again.
 *
 * Many are taken up at once, a share of each workspace (`waiting-mail.ts`), because they may wait
 * long for their turn in the processes (`messages/mime/mime-parts.ts`). None holds its bytes while it waits.
 *
 * What was in hand when our process died (`in-hand.ts`) is looked at first, one at a time; what was in
 * hand at two deaths is not looked at again: it has failed, unread.
 */
import { Refusal } from '../mail/refusal.js'
import {
  type InboundEmail,
  markFailed,
  rawOfInbound,
  stillWaits,
  waitingById,
} from '../messages/inbound/inbound-email.js'
import type { MimeReader } from '../messages/mime/mime-parts.js'
import type { MimeOutline, Unread } from '../messages/mime/mime-parts-protocol.js'
import type { Clock } from '../platform/clock.js'
import type { Log } from '../platform/log.js'
import { freeMemory } from '../platform/memory/free-memory.js'
import type { Read } from '../storage/prepared.js'
import { type Commit, Missed, StorageFault, type Write } from '../storage/writer/write.js'
import type { HeldMessage, InHand } from './in-hand.js'
import type { ReportFacts } from './reports/report-digest.js'
import { WaitingMail } from './waiting-mail.js'

export interface Judged {
  /** They hold `markProcessed`, or remove the record. */
  readonly writes: readonly Write[]
  /** Called once they are on disk. */
  readonly committed?: () => void
}

/** What shall be written of a message. `study`: what the processes made of it; null: it was too much for them. */
export type Judge = (email: InboundEmail, raw: Buffer, outline: MimeOutline, study: unknown) => Judged | Promise<Judged>
/** The same of a report, of which the digest counts, whatever message it returns. */
export type JudgeReport = (email: InboundEmail, digest: unknown) => Judged | Promise<Judged>

export interface ProcessorDeps {
  readonly read: Read
  readonly commit: Commit
  readonly clock: Clock
  readonly log: Log
  readonly mime: Pick<MimeReader, 'studied' | 'digested'>
  /** The module of the `Digest` of reports. */
  readonly reportDigest: URL
  readonly inHand: InHand
  /** What the study is told of a message beside its bytes. */
  readonly factsOf: (email: InboundEmail) => unknown
  readonly judge: Judge
  readonly judgeReport: JudgeReport
}

const POLL = 1_000
/** Deaths of our process after which what was in hand is not looked at again. */
const MOST_DEATHS = 2

export class InboundProcessor {
  private readonly underWay = new Set<Promise<void>>()
  private readonly waiting: WaitingMail
  /** What was in hand at too many deaths, until that it has failed is on disk: how many those were. */
  private readonly deadly: Map<string, number>
  private timer: NodeJS.Timeout | null = null
  /** What was in hand at a death is looked at, and nothing else. */
  private suspecting = false
  private resting = false
  private stopping = false

  constructor(private readonly deps: ProcessorDeps) {
    this.waiting = new WaitingMail(deps.read)
    const deadly = deps.inHand.suspects.filter(({ deaths }) => deaths >= MOST_DEATHS)
    this.deadly = new Map(deadly.map(({ id, deaths }) => [id, deaths]))
  }

  start(): void {
    // A rest is over when the timer strikes next.
    this.timer = setInterval(() => {
      this.resting = false
      this.takeUp(() => this.waiting.nextOfAll())
    }, POLL)
    this.suspecting = true
    const suspects = this.lookAtSuspects().finally(() => {
      this.suspecting = false
      this.underWay.delete(suspects)
      this.takeUp(() => this.waiting.nextOfAll())
    })
    this.underWay.add(suspects)
  }

  private async lookAtSuspects(): Promise<void> {
    for (const suspect of this.deps.inHand.suspects) {
      if (this.stopping) return
      try {
        await this.lookAtSuspect(suspect)
      } catch (error) {
        this.rest(error)
      }
    }
  }

  private async lookAtSuspect({ id, workspaceId }: HeldMessage): Promise<void> {
    const [email] = waitingById(this.deps.read, { id, workspaceId })
    if (email === undefined) this.deps.inHand.done(id)
    else await this.process(email)
  }

  /** Something new of the workspace is on disk. */
  notice(workspaceId: string): void {
    this.takeUp(() => this.waiting.next(workspaceId))
  }

  /**
   * Takes nothing more up; resolves when what is under way is over. The rest waits for the next start,
   * as does what the processes give up because they are ended: so nobody's bombs hold up a stop.
   */
  async stop(): Promise<void> {
    this.stopping = true
    if (this.timer !== null) clearInterval(this.timer)
    await Promise.all(this.underWay)
  }

  private takeUp(next: () => Iterable<InboundEmail>): void {
    if (this.stopping || this.resting || this.suspecting) return
    try {
      for (const email of next()) this.begin(email)
    } catch (error) {
      this.rest(error)
    }
  }

  private begin(email: InboundEmail): void {
    const work = this.process(email).finally(() => {
      this.underWay.delete(work)
      if (this.waiting.ended(email)) this.notice(email.workspace_id)
    })
    this.underWay.add(work)
  }

  private async process(email: InboundEmail): Promise<void> {
    const { commit, log } = this.deps
    try {
      const judged = await this.judged(email)
      if (judged === null) return
      await commit(judged.writes)
      judged.committed?.()
    } catch (error) {
      if (error instanceof Missed) this.missed(email, error)
      // Its workspace has others waiting for the processes: nobody else's mail need wait for that.
      else if (error instanceof Refusal && error.kind === 'rate-limited') return
      else if (error instanceof StorageFault || error instanceof Refusal) this.rest(error)
      else {
        log.error({ err: error, inbound: email.id }, 'a message could not be judged')
        await this.fail(email)
      }
    } finally {
      if (!this.deadly.has(email.id)) this.deps.inHand.done(email.id)
    }
  }

  /** Deleted meanwhile, mostly; where what it acts on had changed, it is judged again when the timer strikes. */
  private missed(email: InboundEmail, error: Missed): void {
    try {
      const { id, workspace_id: workspaceId } = email
      if (stillWaits(this.deps.read, email)) {
        this.deps.log.info({ err: error, inbound: id, workspace: workspaceId }, 'what a message acts on had changed')
      }
    } catch (fault) {
      this.rest(fault)
    }
  }

  /** Null: not now, we are stopping. */
  private async judged(email: InboundEmail): Promise<Judged | null> {
    const deaths = this.deadly.get(email.id)
    if (deaths !== undefined) return this.unlooked(email, deaths)
    return email.kind === 'mail' ? this.judgedMail(email) : this.judgedReport(email)
  }

  private async judgedReport(email: InboundEmail): Promise<Judged | null> {
    const { mime, reportDigest, judgeReport } = this.deps
    const facts: ReportFacts = { envelopeFrom: email.envelope_from }
    const result = await mime.digested(email.workspace_id, () => this.taken(email), reportDigest, facts)
    return result.kind === 'digested' ? judgeReport(email, result.digest) : this.unread(email, result)
  }

  private async judgedMail(email: InboundEmail): Promise<Judged | null> {
    const { mime, judge } = this.deps
    let raw: Buffer | undefined
    const source = (): Buffer | undefined => {
      raw = this.taken(email)
      return raw
    }
    const result = await mime.studied(email.workspace_id, source, this.deps.factsOf(email), email.size)
    if (result.kind === 'unreadable' || raw === undefined) return this.unread(email, result)
    const judged = await judge(email, raw, result.outline, result.study)
    // The process has read it to its end, or there would be no outline.
    freeMemory(raw)
    return judged
  }

  /** Its bytes; it is in hand from now on. */
  private taken(email: InboundEmail): Buffer | undefined {
    this.deps.inHand.take({ id: email.id, workspaceId: email.workspace_id })
    return this.rawOf(email)
  }

  /** Null: not now, we are stopping. */
  private unread(email: InboundEmail, result: Unread | { readonly kind: 'studied' }): Judged | null {
    if (this.stopping) return null
    const why = result.kind === 'unreadable' ? { why: result.why, reason: result.message } : { why: 'gone' }
    return this.failed(email, why)
  }

  private rawOf({ id, workspace_id: workspaceId }: InboundEmail): Buffer | undefined {
    return rawOfInbound(this.deps.read, { id, workspaceId })[0]?.raw
  }

  private failed({ id, workspace_id: workspaceId }: InboundEmail, why: Readonly<Record<string, unknown>>): Judged {
    this.deps.log.info({ inbound: id, ...why }, 'a message cannot be taken apart')
    return { writes: [markFailed({ id, workspaceId, at: this.deps.clock() })] }
  }

  private unlooked({ id, workspace_id: workspaceId }: InboundEmail, deaths: number): Judged {
    this.deps.log.error({ inbound: id, deaths }, 'a message was in hand whenever the process died, and is not read')
    const writes = [markFailed({ id, workspaceId, at: this.deps.clock() })]
    return { writes, committed: () => this.deadly.delete(id) }
  }

  private async fail({ id, workspace_id: workspaceId }: InboundEmail): Promise<void> {
    try {
      await this.deps.commit([markFailed({ id, workspaceId, at: this.deps.clock() })])
    } catch (error) {
      if (!(error instanceof Missed)) this.rest(error)
    }
  }

  private rest(error: unknown): void {
    const isTheEnd = this.stopping && error instanceof Refusal
    if (!this.resting && !isTheEnd) this.deps.log.error({ err: error }, 'mail that came in cannot be looked at now')
    this.resting = true
  }
}
