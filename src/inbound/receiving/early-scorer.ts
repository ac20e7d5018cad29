/**
 * Scores a message before it is answered, for domains that refuse spam: it is refused only if it is spam for each
 * workspace that would get it. One that is over 1 MB, or that is not analyzed in time (`early-analyzer.ts`), is accepted
 * and scored when it is processed.
 */
import type { Authentication } from '../../base/mail/authentication-results.js'
import { uuidv7 } from '../../base/platform/ids.js'
import { toJson } from '../../base/storage/tables/columns.js'
import type { Arrival } from '../../base/storage/tables/inbound-tables.js'
import type { SpamContext } from '../spam/facts/spam-input.js'
import { spamContextOf } from '../spam/received-spam-message.js'
import type { JudgedEmail, SpamJudge } from '../spam/spam-judge.js'
import type { EarlyAnalyzer } from './analysis/early-analyzer.js'
import type { ReceivedMessage } from './authentication/received-message.js'
import type { InboundDestination } from './recipients/destinations.js'

interface ScorerDeps {
  readonly analyzer: Pick<EarlyAnalyzer, 'analyze'>
  readonly judge: Pick<SpamJudge, 'judge'>
  /** Milliseconds. The default is ten seconds. */
  readonly timeLimit?: number
}

export interface ScoredMessage {
  readonly message: ReceivedMessage
  readonly authentication: Authentication
  readonly destinations: readonly InboundDestination[]
  readonly arrival: Arrival
  readonly now: number
}

/** Bytes of a message. */
const MAX_SIZE = 1_048_576
export const REFUSAL_TIME_LIMIT = 10_000

export class EarlyScorer {
  constructor(private readonly deps: ScorerDeps) {}

  /** Whether the message is spam for all of its destinations. Never rejects. */
  async isSpamForAll(scored: ScoredMessage): Promise<boolean> {
    const { analyzer, judge, timeLimit = REFUSAL_TIME_LIMIT } = this.deps
    const { bytes, client } = scored.message
    const raw = bytes.read()
    const emails = scored.destinations.flatMap((destination) => toEmail(scored, destination))
    const [first] = emails
    if (raw.length > MAX_SIZE || first === undefined || emails.length < scored.destinations.length) return false
    const { workspace_id: workspaceId } = first
    const { session } = client
    const contextOf = (): SpamContext => spamContextOf(first)
    const message = { received: raw, copy: () => Buffer.from(raw), workspaceId, content: null, contextOf, session }
    const isSpam = await analyzer.analyze(message, timeLimit, async ({ raw: copy, analysis }) => {
      for (const email of emails) {
        if ((await judge.judge(email, copy, analysis)).spam_status !== 'spam') return false
      }
      return true
    })
    return isSpam ?? false
  }
}

/** A report gets none. */
function toEmail(
  { message, authentication, arrival, now }: ScoredMessage,
  to: InboundDestination,
): readonly JudgedEmail[] {
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
