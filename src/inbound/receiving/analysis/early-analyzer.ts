/**
 * Takes a message apart before it is answered, so that its record, its score and its event are in the commit that
 * stores it, or it is refused for its score. Nothing depends on it.
 *
 * A message that is not analyzed in time is accepted and processed later (`inbound-processor.ts`). The same holds for a
 * message that comes while many others are being analyzed, one that no process can read, and one that was being
 * analyzed when the daemon crashed (`crash-guard.ts`, with a separate file): its client sends it again, and it must not
 * crash the daemon each time.
 */
import { hash } from 'node:crypto'
import type { Log } from '../../../base/platform/log.js'
import type { SpamContext } from '../../spam/facts/spam-input.js'
import type { CrashGuard } from './crash-guard.js'
import type { AnalyzedContent, InboundReader } from './inbound-analyzer.js'

interface AnalyzerDeps {
  readonly mime: Pick<InboundReader, 'analyze'>
  readonly crashGuard: Pick<CrashGuard, 'suspects' | 'begin' | 'finish' | 'close'>
  readonly log: Pick<Log, 'info'>
}

export interface EarlyMessage {
  /** The bytes as received. They identify the message when it is sent again. */
  readonly received: Buffer
  /** Copies the bytes that are read, because the received ones go to the writer at the same time. */
  readonly copy: () => Buffer
  readonly workspaceId: string
  /** Null if it is yet to be analyzed. */
  readonly content: AnalyzedContent | null
  readonly contextOf: () => SpamContext
  /** The id of its session, for the log. */
  readonly session: string
}

interface EarlyAnalysis extends AnalyzedContent {
  readonly raw: Buffer
}

/** Messages of up to 1 MB each. */
const MAX_AT_ONCE = 100
/** So many bytes and the size identify a message when it is sent again. */
const RECOGNIZED_BYTES = 65_536

export class EarlyAnalyzer {
  private readonly underWay = new Set<Promise<unknown>>()
  private readonly feared: ReadonlySet<string>

  constructor(private readonly deps: AnalyzerDeps) {
    this.feared = new Set(deps.crashGuard.suspects.map(({ id }) => id))
  }

  /**
   * Resolves to what `act` makes of the analysis. Resolves to null if there is no result within `timeLimit`
   * milliseconds, or if something failed. `act` may still be running then, so it may only read. Never rejects.
   */
  async analyze<Result>(
    message: EarlyMessage,
    timeLimit: number,
    act: (analysis: EarlyAnalysis) => Promise<Result>,
  ): Promise<Result | null> {
    const { underWay } = this
    if (underWay.size >= MAX_AT_ONCE) return null
    const guard = message.content === null ? this.guardMessage(message.received, message.workspaceId) : null
    if (guard?.isFeared === true) return null
    const work = { isGivenUp: false }
    const result = this.takeApart(message, guard, work)
      .then((analysis) => (analysis === null ? null : act(analysis)))
      .finally(() => {
        underWay.delete(result)
        guard?.finish()
      })
    underWay.add(result)
    try {
      return await withinTime(result, timeLimit)
    } catch (error) {
      this.deps.log.info({ err: error, session: message.session }, 'a message was not analyzed before its answer')
      return null
    } finally {
      work.isGivenUp = true
    }
  }

  /** Serves what reads a message elsewhere before it is answered. */
  guardMessage(received: Buffer, workspaceId: string): Pick<MessageGuard, 'isFeared' | 'begin' | 'finish'> {
    const id = recognizableId(received)
    return new MessageGuard(this.deps.crashGuard, { id, workspaceId }, this.feared.has(id))
  }

  /** Resolves when no message is being analyzed. Call it after the processes that parse have ended. */
  async stop(): Promise<void> {
    await Promise.allSettled(this.underWay)
    this.deps.crashGuard.close()
  }

  /** Null if it cannot be read, or its time was over before its turn came. */
  private async takeApart(
    { copy, workspaceId, contextOf, received, content }: EarlyMessage,
    guard: Pick<MessageGuard, 'begin'> | null,
    work: { readonly isGivenUp: boolean },
  ): Promise<EarlyAnalysis | null> {
    if (content !== null) return { raw: copy(), summary: content.summary, analysis: content.analysis }
    let raw: Buffer | undefined
    const source = (): Buffer | undefined => {
      if (work.isGivenUp) return undefined
      guard?.begin()
      raw = copy()
      return raw
    }
    const result = await this.deps.mime.analyze(workspaceId, source, contextOf(), received.length)
    if (result.kind === 'unreadable' || result.analysis === null || raw === undefined) return null
    return { raw, summary: result.summary, analysis: result.analysis }
  }
}

/** Records that a message is being read, as long as it is. */
class MessageGuard {
  constructor(
    private readonly crashGuard: Pick<CrashGuard, 'begin' | 'finish'>,
    private readonly message: Parameters<CrashGuard['begin']>[0],
    /** It was being read when the daemon crashed: it must not be read before it is stored. */
    readonly isFeared: boolean,
  ) {}

  begin(): void {
    this.crashGuard.begin(this.message)
  }

  /** Call it at the end, even without `begin`. */
  finish(): void {
    this.crashGuard.finish(this.message.id)
  }
}

function recognizableId(received: Buffer): string {
  // It is no checksum: a message made to have the id of another one would free its slot in the guard's file.
  return `early-${hash('sha256', received.subarray(0, RECOGNIZED_BYTES)).slice(0, 32)}-${received.length}`
}

async function withinTime<Result>(result: Promise<Result>, limit: number): Promise<Result> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`not analyzed within ${limit} ms`)), limit)
  })
  return Promise.race([result, late]).finally(() => clearTimeout(timer))
}
