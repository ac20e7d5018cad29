/**
 * Scores a message before it is answered, for domains that refuse spam: it is refused only if it is spam for each
 * workspace that would get it.
 *
 * A message is accepted without a score, and scored later when it is processed, if it is over 1 MB, if its score takes
 * longer than ten seconds, if twenty others are being scored, or if it cannot be analyzed. The same holds for a message
 * that was being scored when the process crashed (`crash-guard.ts`, with a file of its own): its client sends it again,
 * and it must not crash the process each time.
 */
import { createHash } from 'node:crypto'
import type { Authentication } from '../mail/authentication-results.js'
import { uuidv7 } from '../platform/ids.js'
import type { Log } from '../platform/log.js'
import { spamContextOf } from '../spam/received-spam-message.js'
import type { JudgedEmail, JudgeSpam } from '../spam/spam-verdict.js'
import { toJson } from '../storage/tables/columns.js'
import type { Arrival } from '../storage/tables/inbound-tables.js'
import type { CrashGuard } from './crash-guard.js'
import type { Destination } from './destinations.js'
import type { InboundReader } from './inbound-processor.js'
import type { ReceivedMessage } from './received-message.js'

interface EarlyScoreDeps {
  readonly mime: Pick<InboundReader, 'analyze'>
  readonly judgeSpam: JudgeSpam
  readonly crashGuard: CrashGuard
  readonly log: Pick<Log, 'info'>
  /** Milliseconds; default: ten seconds. */
  readonly timeLimit?: number
}

interface ScoredMessage {
  readonly message: ReceivedMessage
  readonly authentication: Authentication
  readonly destinations: readonly Destination[]
  readonly arrival: Arrival
  readonly now: number
}

/** Whether the message is spam for all of its destinations. Never rejects. */
export type IsSpamForAll = (scored: ScoredMessage) => Promise<boolean>

/** Bytes of a message. */
const MAX_SIZE = 1_048_576
const TIME_LIMIT = 10_000
const MAX_AT_ONCE = 20
/** Bytes by which a message is recognized when it is sent again, beside its size. */
const RECOGNIZED_BYTES = 65_536

interface EarlyScorer {
  readonly isSpamForAll: IsSpamForAll
  /** Resolves when no message is being scored. To be called after the end of the processes that parse. */
  readonly stop: () => Promise<void>
}

export function createEarlyScorer(deps: EarlyScoreDeps): EarlyScorer {
  const { crashGuard, log, timeLimit = TIME_LIMIT } = deps
  const feared = new Set(crashGuard.suspects.map(({ id }) => id))
  const underWay = new Set<Promise<boolean>>()
  const isSpamForAll: IsSpamForAll = async (scored) => {
    const { raw, client } = scored.message
    if (raw.length > MAX_SIZE || underWay.size >= MAX_AT_ONCE) return false
    const id = recognizableId(raw)
    if (feared.has(id)) return false
    const work = { isGivenUp: false }
    const verdict = scoreForAll(deps, scored, id, work).finally(() => {
      underWay.delete(verdict)
      crashGuard.finish(id)
    })
    underWay.add(verdict)
    try {
      return await withinTime(verdict, timeLimit)
    } catch (error) {
      log.info({ err: error, session: client.session }, 'a message was not scored before its answer')
      return false
    } finally {
      work.isGivenUp = true
    }
  }
  return {
    isSpamForAll,
    stop: async () => {
      await Promise.allSettled(underWay)
      crashGuard.close()
    },
  }
}

async function scoreForAll(
  { mime, judgeSpam, crashGuard }: EarlyScoreDeps,
  scored: ScoredMessage,
  id: string,
  work: { readonly isGivenUp: boolean },
): Promise<boolean> {
  const emails = scored.destinations.flatMap((destination) => toEmail(scored, destination))
  const [first] = emails
  if (first === undefined || emails.length < scored.destinations.length) return false
  const { raw } = scored.message
  let copy: Buffer | undefined
  const source = (): Buffer | undefined => {
    // The message itself goes to the writer, perhaps before its analysis is over.
    if (work.isGivenUp) return undefined
    crashGuard.begin({ id, workspaceId: first.workspace_id })
    copy = Buffer.from(raw)
    return copy
  }
  const result = await mime.analyze(first.workspace_id, source, spamContextOf(first), raw.length)
  if (result.kind === 'unreadable' || result.analysis === null || copy === undefined) return false
  for (const email of emails) {
    if ((await judgeSpam(email, copy, result.analysis)).spam_status !== 'spam') return false
  }
  return true
}

/** None for reports. */
function toEmail({ message, authentication, arrival, now }: ScoredMessage, to: Destination): readonly JudgedEmail[] {
  if (to.kind !== 'mail') return []
  const { client, envelopeFrom } = message
  return [
    {
      id: uuidv7(now),
      workspace_id: to.workspaceId,
      envelope_from: envelopeFrom,
      envelope_to: toJson(to.addresses),
      client_address: client.address,
      helo: client.helo,
      authentication: toJson(authentication),
      arrival: toJson(arrival),
      received_at: now,
    },
  ]
}

function recognizableId(raw: Buffer): string {
  const digest = createHash('sha256').update(raw.subarray(0, RECOGNIZED_BYTES)).update(` ${raw.length}`).digest('hex')
  return `early-${digest.slice(0, 40)}`
}

async function withinTime(verdict: Promise<boolean>, limit: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no score within ${limit} ms`)), limit)
  })
  return Promise.race([verdict, late]).finally(() => clearTimeout(timer))
}
