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
import type { ContentAnalysis } from '../spam/content-analysis.js'
import type { SpamContext } from '../spam/spam-input.js'
import type { CrashGuard } from './crash-guard.js'
import type { InboundSummary } from './inbound-content.js'
import type { InboundReader } from './inbound-processor.js'

interface EarlyAnalysisDeps {
  readonly mime: Pick<InboundReader, 'analyze'>
  readonly crashGuard: CrashGuard
  readonly log: Pick<Log, 'info'>
}

export interface EarlyMessage {
  /** As received: by these bytes it is recognized when it is sent again. */
  readonly received: Buffer
  /** Makes the bytes that are read, in memory of their own: what was received goes to the writer meanwhile. */
  readonly copy: () => Buffer
  readonly workspaceId: string
  readonly context: SpamContext
  /** The id of its session, for the log. */
  readonly session: string
}

interface EarlyAnalysis {
  readonly raw: Buffer
  readonly summary: InboundSummary
  readonly analysis: ContentAnalysis
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

interface EarlyAnalyzer {
  readonly analyzeEarly: AnalyzeEarly
  /** Resolves when no message is being analyzed. To be called after the end of the processes that parse. */
  readonly stop: () => Promise<void>
}

export function createEarlyAnalyzer(deps: EarlyAnalysisDeps): EarlyAnalyzer {
  const { crashGuard, log } = deps
  const feared = new Set(crashGuard.suspects.map(({ id }) => id))
  const underWay = new Set<Promise<unknown>>()
  const analyzeEarly: AnalyzeEarly = async (message, timeLimit, act) => {
    if (underWay.size >= MAX_AT_ONCE) return null
    const id = recognizableId(message.received)
    if (feared.has(id)) return null
    const work = { isGivenUp: false }
    const result = analyze(deps, message, id, work)
      .then((analysis) => (analysis === null ? null : act(analysis)))
      .finally(() => {
        underWay.delete(result)
        crashGuard.finish(id)
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
    stop: async () => {
      await Promise.allSettled(underWay)
      crashGuard.close()
    },
  }
}

/** Null: it cannot be read, or its time was over before its turn came. */
async function analyze(
  { mime, crashGuard }: EarlyAnalysisDeps,
  { copy, workspaceId, context, received }: EarlyMessage,
  id: string,
  work: { readonly isGivenUp: boolean },
): Promise<EarlyAnalysis | null> {
  let raw: Buffer | undefined
  const source = (): Buffer | undefined => {
    if (work.isGivenUp) return undefined
    crashGuard.begin({ id, workspaceId })
    raw = copy()
    return raw
  }
  const result = await mime.analyze(workspaceId, source, context, received.length)
  if (result.kind === 'unreadable' || result.analysis === null || raw === undefined) return null
  return { raw, summary: result.summary, analysis: result.analysis }
}

function recognizableId(received: Buffer): string {
  return `early-${hash('sha256', received.subarray(0, RECOGNIZED_BYTES)).slice(0, 32)}-${received.length}`
}

async function withinTime<Result>(result: Promise<Result>, limit: number): Promise<Result> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`not analyzed within ${limit} ms`)), limit)
  })
  return Promise.race([result, late]).finally(() => clearTimeout(timer))
}
