/**
 * Is a message spam? Our rules, the classifier of its workspace, how it came, and rspamd where
 * one is configured, joined to one score whose parts are named.
 *
 * The sum of the report is the score, to a hundredth; the score makes the status. Lines of
 * rules and classifier are ours and as many as there are rules; those of block lists and of rspamd
 * are bounded and cleaned where they are made.
 */
import { arrivalOf, type InboundContent, type InboundEmail } from '../../messages/inbound-email.js'
import type { MimeParts } from '../../messages/mime-parts-protocol.js'
import type { Read } from '../../storage/prepared.js'
import { liftingContribution } from './arrival-points.js'
import { bayesCounts } from './bayes-records.js'
import { bayesScore } from './bayes-score.js'
import { bayesTokens } from './bayes-tokens.js'
import { ownContributions } from './own-points.js'
import { receivedSpamMessage } from './received-spam-message.js'
import type { AskRspamd } from './rspamd.js'
import { rspamdContributions } from './rspamd-points.js'
import type { SpamMessage } from './spam-message.js'
import { type SpamContribution, type SpamThresholds, spamStatus, totalScore } from './spam-report.js'

export interface SpamVerdictDeps {
  readonly read: Read
  readonly thresholds: SpamThresholds
  /** Null: none is configured. */
  readonly rspamd: AskRspamd | null
}

export type SpamVerdict = Pick<InboundContent, 'spam_status' | 'spam_score' | 'spam_report'>

export type JudgeSpam = (email: InboundEmail, raw: Buffer, parts: MimeParts) => Promise<SpamVerdict>

export function spamVerdict({ read, thresholds, rspamd }: SpamVerdictDeps): JudgeSpam {
  return async (email, raw, parts) => {
    const message = receivedSpamMessage(email, raw, parts)
    const asked = asking(rspamd, email, raw, message)
    const arrival = arrivalOf(email)
    const own = ownContributions(message, learnedProbability(read, email.workspace_id, message), arrival, thresholds)
    const verdict = await asked
    const merged = verdict === null ? own : [...own, ...rspamdContributions(totalScore(own), verdict, thresholds)]
    return verdictOf([...merged, ...liftingContribution(arrival, totalScore(merged), thresholds)], thresholds)
  }
}

function asking(
  rspamd: AskRspamd | null,
  { id, envelope_to }: InboundEmail,
  raw: Buffer,
  { origin }: SpamMessage,
): ReturnType<AskRspamd> {
  if (rspamd === null || origin === null) return Promise.resolve(null)
  return rspamd({ id, raw, origin, recipients: JSON.parse(envelope_to) as readonly string[] })
}

/** Null: too little was learned. */
function learnedProbability(read: Read, workspaceId: string, message: SpamMessage): number | null {
  const tokens = bayesTokens(message)
  return bayesScore(tokens, bayesCounts(read, workspaceId, tokens))
}

function verdictOf(contributions: readonly SpamContribution[], thresholds: SpamThresholds): SpamVerdict {
  const score = totalScore(contributions)
  return {
    spam_status: spamStatus(score, thresholds),
    spam_score: Math.round(score * 100),
    spam_report: JSON.stringify(contributions.toSorted((a, b) => b.score - a.score)),
  }
}
