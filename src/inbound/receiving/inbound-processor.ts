/**
 * Processes mail that is on disk and was answered 250 before it was processed (`early-processor.ts`): takes it apart, has
 * it scored, and writes the result, all in one commit.
 *
 * The database is the queue: messages of this node with status `received` are processed, after a crash too. A message that
 * cannot be parsed fails and keeps its bytes; so does one that triggers an internal error, or it would be
 * tried for ever. A database fault pauses processing for a second, and then the same messages are tried again.
 *
 * Many messages are started at once, a share of each workspace (`waiting-mail.ts`), because they may wait long for
 * their turn in the processes (`messages/mime/mime-parts.ts`). None holds its bytes while it waits.
 *
 * Messages that were in progress when our process crashed (`crash-guard.ts`) are processed first, one at a time;
 * one that was in progress at two crashes fails unread.
 */
import { Refusal } from '../../base/mail/refusal.js'
import type { Clock } from '../../base/platform/clock.js'
import type { Log } from '../../base/platform/log.js'
import { freeMemory } from '../../base/platform/memory/free-memory.js'
import type { Store } from '../../base/storage/db/database.js'
import { StorageFault, WriteConflict } from '../../base/storage/db/write.js'
import {
  isUnprocessed,
  markFailed,
  markProcessed,
  readInboundRaw,
  unprocessedById,
} from '../../records/messages/inbound/inbound-email.js'
import type { InboundEmail } from '../../records/messages/inbound/inbound-record.js'
import type { RawSource } from '../../records/messages/mime/mime-parts.js'
import type { UnreadableResult } from '../../records/messages/mime/mime-parts-protocol.js'
import { spamContextOf } from '../spam/received-spam-message.js'
import type { CrashGuard, GuardedMessage } from './analysis/crash-guard.js'
import type { InboundReader } from './analysis/inbound-analyzer.js'
import type { ProcessingResult } from './analysis/processing-result.js'
import type { DomainReportFiler } from './domain-reports/domain-report-filer.js'
import { messageDigester as domainReportDigester } from './domain-reports/report-digest.js'
import type { MailProcessor } from './mail-processor.js'
import type { BounceReturner } from './reports/bounce-returner.js'
import { messageDigester } from './reports/report-digest.js'
import { WaitingMail } from './waiting-mail.js'

export interface ProcessorDeps extends Store {
  /** The name of this node, whose messages are processed. */
  readonly node: string
  readonly clock: Clock
  readonly log: Log
  readonly mime: Pick<InboundReader, 'analyze' | 'digest'>
  readonly crashGuard: Pick<CrashGuard, 'suspects' | 'begin' | 'finish'>
  readonly mail: Pick<MailProcessor, 'process'>
  /** Bounces of forwarded mail, and behind them all other reports about mail. */
  readonly reports: Pick<BounceReturner, 'process'>
  readonly domainReports: Pick<DomainReportFiler, 'handles' | 'refuse' | 'file'>
}

const POLL_INTERVAL = 1_000
/** Crashes of our process after which a message in progress is not read again. */
const MAX_DEATHS = 2

export class InboundProcessor {
  private readonly inProgress = new Set<Promise<void>>()
  private readonly waitingMail: WaitingMail
  /** Number of crashes of each message that was in progress at too many, until its failure is on disk. */
  private readonly deathCounts: Map<string, number>
  private timer: NodeJS.Timeout | null = null
  /** Messages of the last crash are being processed, and no others. */
  private isCheckingSuspects = false
  private isPaused = false
  private isOutageLogged = false
  private isStopping = false
  private isTakingAll = false

  constructor(private readonly deps: ProcessorDeps) {
    this.waitingMail = new WaitingMail(deps.read, deps.node)
    const deadly = deps.crashGuard.suspects.filter(({ deaths }) => deaths >= MAX_DEATHS)
    this.deathCounts = new Map(deadly.map(({ id, deaths }) => [id, deaths]))
  }

  start(): void {
    // A pause ends at the next tick.
    this.timer = setInterval(() => {
      this.isPaused = false
      this.startAll()
    }, POLL_INTERVAL)
    this.isCheckingSuspects = true
    this.track(this.processSuspects(), () => {
      this.isCheckingSuspects = false
      this.startAll()
    })
  }

  private async processSuspects(): Promise<void> {
    for (const suspect of this.deps.crashGuard.suspects) {
      if (this.isStopping) return
      try {
        await this.processSuspect(suspect)
      } catch (error) {
        this.pause(error)
      }
    }
  }

  private async processSuspect({ id, workspaceId }: GuardedMessage): Promise<void> {
    const [email] = await unprocessedById(this.deps.read, { node: this.deps.node, id, workspaceId })
    if (email === undefined) this.deps.crashGuard.finish(id)
    else await this.process(email)
  }

  /** A new message of the workspace is on disk. */
  onStored(workspaceId: string): void {
    if (this.mayStart()) this.track(this.startOfWorkspace(workspaceId))
  }

  /**
   * Starts no more messages; resolves when those in progress are finished. The rest waits for the next start, and so
   * does a message if its process is ended, so slow messages do not delay a stop.
   */
  async stop(): Promise<void> {
    this.isStopping = true
    if (this.timer !== null) clearInterval(this.timer)
    while (this.inProgress.size > 0) await Promise.all(this.inProgress)
  }

  private mayStart(): boolean {
    return !this.isStopping && !this.isPaused && !this.isCheckingSuspects
  }

  /** Looks for messages of all workspaces. */
  startAll(): void {
    if (this.isTakingAll || !this.mayStart()) return
    this.isTakingAll = true
    this.track(this.startFound(), () => {
      this.isTakingAll = false
    })
  }

  private async startFound(): Promise<void> {
    try {
      for await (const email of this.waitingMail.takeAll()) {
        if (this.isStopping) return
        this.startMessage(email)
      }
    } catch (error) {
      this.pause(error)
    }
  }

  private async startOfWorkspace(workspaceId: string): Promise<void> {
    try {
      for (const email of await this.waitingMail.takeOfWorkspace(workspaceId)) this.startMessage(email)
    } catch (error) {
      this.pause(error)
    }
  }

  /** A message that was taken is started even if a pause has begun: it would be taken by no one else. */
  private startMessage(email: InboundEmail): void {
    if (this.isStopping) return
    this.track(this.process(email), () => {
      if (this.waitingMail.finish(email)) this.onStored(email.workspace_id)
    })
  }

  /** The work counts as in progress until it ends. It never rejects. */
  private track(work: Promise<void>, onEnd: () => void = () => undefined): void {
    const tracked = work.finally(() => {
      this.inProgress.delete(tracked)
      onEnd()
    })
    this.inProgress.add(tracked)
  }

  private async process(email: InboundEmail): Promise<void> {
    const { commit, log } = this.deps
    try {
      const processed = await this.evaluate(email)
      if (processed === null) return
      await commit(processed.writes)
      this.isOutageLogged = false
      processed.onCommitted?.()
    } catch (error) {
      if (error instanceof WriteConflict) await this.handleMiss(email, error)
      // The workspace has many messages waiting for the processes; mail of others need not wait for that.
      else if (error instanceof Refusal && error.kind === 'rate-limited') return
      else if (error instanceof StorageFault || error instanceof Refusal) this.pause(error)
      else {
        log.error({ err: error, inbound: email.id }, 'a message could not be processed')
        await this.failMessage(email)
      }
    } finally {
      if (!this.deathCounts.has(email.id)) this.deps.crashGuard.finish(email.id)
    }
  }

  /**
   * Most misses mean that the message was deleted. If the state that it acts on has changed, it is processed again at
   * the next tick.
   */
  private async handleMiss(email: InboundEmail, error: WriteConflict): Promise<void> {
    try {
      const { id, workspace_id: workspaceId } = email
      if (await isUnprocessed(this.deps.read, email)) {
        this.deps.log.info(
          { err: error, inbound: id, workspace: workspaceId },
          'a message is processed again: its records have changed',
        )
      }
    } catch (fault) {
      this.pause(fault)
    }
  }

  /** Null if the service is stopping. */
  private async evaluate(email: InboundEmail): Promise<ProcessingResult | null> {
    const deaths = this.deathCounts.get(email.id)
    if (deaths !== undefined) return this.buildCrashFailure(email, deaths)
    const source = (): Promise<Buffer | undefined> => this.readGuarded(email)
    return email.kind === 'mail' ? this.evaluateMail(email, source) : this.evaluateReport(email, source)
  }

  private async evaluateReport(email: InboundEmail, source: RawSource): Promise<ProcessingResult | null> {
    const { mime, reports, domainReports } = this.deps
    if (await domainReports.handles(email)) return this.evaluateDomainReport(email, source)
    const facts = { envelopeFrom: email.envelope_from }
    const result = await mime.digest(email.workspace_id, source, messageDigester, facts)
    return result.kind === 'digested' ? reports.process(email, result.digest) : this.handleUnreadable(email, result)
  }

  /** A report that cannot be read is not kept: anyone may write to its address. */
  private async evaluateDomainReport(email: InboundEmail, source: RawSource): Promise<ProcessingResult | null> {
    const { mime, domainReports } = this.deps
    const refused = domainReports.refuse(email)
    if (refused !== null) return refused
    const result = await mime.digest(email.workspace_id, source, domainReportDigester, {})
    return result.kind === 'unreadable' && this.isStopping ? null : await domainReports.file(email, result)
  }

  private async evaluateMail(email: InboundEmail, source: RawSource): Promise<ProcessingResult | null> {
    const { mime, mail } = this.deps
    let raw: Buffer | undefined
    const noted = async (): Promise<Buffer | undefined> => {
      raw = await source()
      return raw
    }
    const result = await mime.analyze(email.workspace_id, noted, spamContextOf(email), email.size)
    if (result.kind === 'unreadable' || raw === undefined) return this.handleUnreadable(email, result)
    const { content, writes, onCommitted } = await mail.process(email, raw, result.summary, result.analysis)
    // The process has read it to its end, or there would be no summary.
    freeMemory(raw)
    return { writes: [markProcessed(content), ...writes], onCommitted }
  }

  /** Reads the bytes of the message. From now on it is in progress. */
  private readGuarded(email: InboundEmail): Promise<Buffer | undefined> {
    const place = { id: email.id, workspaceId: email.workspace_id }
    this.deps.crashGuard.begin(place)
    return readInboundRaw(this.deps.read, place)
  }

  /** Null if the service is stopping. */
  private handleUnreadable(
    email: InboundEmail,
    result: UnreadableResult | { readonly kind: 'analyzed' },
  ): ProcessingResult | null {
    if (this.isStopping) return null
    const why = result.kind === 'unreadable' ? { why: result.why, reason: result.message } : { why: 'gone' }
    return this.buildFailure(email, why)
  }

  private buildFailure(
    { id, workspace_id: workspaceId }: InboundEmail,
    why: Readonly<Record<string, unknown>>,
  ): ProcessingResult {
    this.deps.log.info({ inbound: id, ...why }, 'a message cannot be parsed')
    return { writes: [markFailed({ id, workspaceId, at: this.deps.clock() })] }
  }

  private buildCrashFailure({ id, workspace_id: workspaceId }: InboundEmail, deaths: number): ProcessingResult {
    this.deps.log.error(
      { inbound: id, deaths },
      'a message is filed as failed, unread: it was in progress at repeated crashes',
    )
    const writes = [markFailed({ id, workspaceId, at: this.deps.clock() })]
    return { writes, onCommitted: () => this.deathCounts.delete(id) }
  }

  private async failMessage({ id, workspace_id: workspaceId }: InboundEmail): Promise<void> {
    try {
      await this.deps.commit([markFailed({ id, workspaceId, at: this.deps.clock() })])
    } catch (error) {
      if (!(error instanceof WriteConflict)) this.pause(error)
    }
  }

  private pause(error: unknown): void {
    const isTheEnd = this.isStopping && error instanceof Refusal
    if (!this.isOutageLogged && !isTheEnd) this.deps.log.error({ err: error }, 'inbound mail cannot be processed now')
    this.isOutageLogged = true
    this.isPaused = true
  }
}
