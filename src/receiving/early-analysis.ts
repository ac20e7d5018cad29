/**
 * Takes a message apart before it is answered, so that its record, its score and its event are in the commit that
 * stores it, or it is refused for its score.
 *
 * Nothing depends on it: a message that is not analyzed in time is accepted and processed later (`inbound-processor.ts`),
 * as is one that comes while many others are being analyzed, or that no process can read. The same holds for a message
 * that was being analyzed when the daemon crashed (`crash-guard.ts`, with a file of its own): its client sends it
 * again, and it must not crash the daemon each time.
 */
import { hash } from 'node:crypto'
import type { Log } from '../platform/log.js'
import type { SpamContext } from '../spam/spam-input.js'
import type { CrashGuard } from './crash-guard.js'
import type { AnalyzedContent } from './inbound-analyzer.js'
import type { InboundReader } from './inbound-processor.js'

interface EarlyAnalysisDeps {
  readonly mime: Pick<InboundReader, 'analyze'>
  readonly crashGuard: CrashGuard
  readonly log: Pick<Log, 'info'>
}

export interface EarlyMessage {
  /** The bytes as received: by them the message is recognized when it is sent again. */
  readonly received: Buffer
  /** Makes the bytes that are read, in memory of their own: what was received goes to the writer meanwhile. */
  readonly copy: () => Buffer
  readonly workspaceId: string
  /** Null: it is yet to be analyzed. */
  readonly content: AnalyzedContent | null
  readonly contextOf: () => SpamContext
  /** The id of its session, for the log. */
  readonly session: string
}

interface EarlyAnalysis extends AnalyzedContent {
  readonly raw: Buffer
}

/**
 * Resolves to what `act` makes of the analysis, or to null if there is nothing within `timeLimit` milliseconds, or if
 * something failed. What `act` has begun by then goes on, so it may only read. Never rejects.
 */
export type AnalyzeEarly = <Result>(
  message: EarlyMessage,
  timeLimit: number,
  act: (analysis: EarlyAnalysis) => Promise<Result>,
) => Promise<Result | null>

/** Messages of up to 1 MB each. */
const MAX_AT_ONCE = 100
/** Bytes by which a message is recognized when it is sent again, beside its size. */
const RECOGNIZED_BYTES = 65_536

interface MessageGuard {
  /** It was being read when the daemon crashed: it must not be read before it is stored. */
  readonly isFeared: boolean
  readonly begin: () => void
  /** To be called at the end, also without `begin`. */
  readonly finish: () => void
}

export interface EarlyAnalyzer {
  readonly analyzeEarly: AnalyzeEarly
  /** For what reads a message elsewhere before it is answered. */
  readonly guardMessage: (received: Buffer, workspaceId: string) => MessageGuard
  /** Resolves when no message is being analyzed. To be called after the end of the processes that parse. */
  readonly stop: () => Promise<void>
}

export function createEarlyAnalyzer(deps: EarlyAnalysisDeps): EarlyAnalyzer {
  const { crashGuard, log } = deps
  const guardMessage = createGuards(crashGuard)
  const underWay = new Set<Promise<unknown>>()
  const analyzeEarly: AnalyzeEarly = async (message, timeLimit, act) => {
    if (underWay.size >= MAX_AT_ONCE) return null
    const guard = message.content === null ? guardMessage(message.received, message.workspaceId) : null
    if (guard?.isFeared === true) return null
    const work = { isGivenUp: false }
    const result = analyze(deps, message, guard, work)
      .then((analysis) => (analysis === null ? null : act(analysis)))
      .finally(() => {
        underWay.delete(result)
        guard?.finish()
      })
    underWay.add(result)
    try {
      return await withinTime(result, timeLimit)
    } catch (error) {
      log.info({ err: error, session: message.session }, 'a message was not analyzed before its answer')
      return null
    } finally {
      work.isGivenUp = true
    }
  }
  return {
    analyzeEarly,
    guardMessage,
    stop: async () => {
      await Promise.allSettled(underWay)
      crashGuard.close()
    },
  }
}

function createGuards(crashGuard: CrashGuard): EarlyAnalyzer['guardMessage'] {
  const feared = new Set(crashGuard.suspects.map(({ id }) => id))
  return (received, workspaceId) => {
    const id = recognizableId(received)
    return {
      isFeared: feared.has(id),
      begin: () => crashGuard.begin({ id, workspaceId }),
      finish: () => crashGuard.finish(id),
    }
  }
}

/** Null: it cannot be read, or its time was over before its turn came. */
async function analyze(
  { mime }: EarlyAnalysisDeps,
  { copy, workspaceId, contextOf, received, content }: EarlyMessage,
  guard: MessageGuard | null,
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
  const result = await mime.analyze(workspaceId, source, contextOf(), received.length)
  if (result.kind === 'unreadable' || result.analysis === null || raw === undefined) return null
  return { raw, summary: result.summary, analysis: result.analysis }
}

function recognizableId(received: Buffer): string {
  // Not a checksum: a message made to have the id of another one would free its slot in the guard's file.
  return `early-${hash('sha256', received.subarray(0, RECOGNIZED_BYTES)).slice(0, 32)}-${received.length}`
}

async function withinTime<Result>(result: Promise<Result>, limit: number): Promise<Result> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`not analyzed within ${limit} ms`)), limit)
  })
  return Promise.race([result, late]).finally(() => clearTimeout(timer))
}
