/**
 * Is a message spam? Our rules, the classifier of its workspace, how it came, and rspamd where
 * one is configured, joined to one score whose parts are named.
 *
 * The sum of the report is the score, to a hundredth; the score makes the status. Lines of
 * rules and classifier are ours and as many as there are rules; those of block lists and of rspamd
 * are bounded and cleaned where they are made.
 */
import { arrivalOf, type InboundContent, type InboundEmail } from '../messages/inbound/inbound-email.js'
import type { Read } from '../storage/prepared.js'
import { liftingContribution } from './arrival-points.js'
import { recentlyLearned } from './bayes/days.js'
import { bayesCounts } from './bayes/records.js'
import { bayesScore } from './bayes/score.js'
import { type ClassifierOpinion, ownContributions } from './own-points.js'
import { circumstancesOf } from './received-spam-message.js'
import type { AskRspamd } from './rspamd/rspamd.js'
import { rspamdContributions } from './rspamd/rspamd-points.js'
import { type SpamContribution, type SpamThresholds, spamStatus, totalScore } from './spam-report.js'
import type { SpamStudy } from './spam-study.js'

export interface SpamVerdictDeps {
  readonly read: Read
  readonly thresholds: SpamThresholds
  /** Null: none is configured. */
  readonly rspamd: AskRspamd | null
}

export type SpamVerdict = Pick<InboundContent, 'spam_status' | 'spam_score' | 'spam_report'>

/** `study`: of its content; null: the content was too much for the process that looked at it. */
export type JudgeSpam = (email: InboundEmail, raw: Buffer, study: SpamStudy | null) => Promise<SpamVerdict>

export function spamVerdict({ read, thresholds, rspamd }: SpamVerdictDeps): JudgeSpam {
  return async (email, raw, study) => {
    const asked = asking(rspamd, email, raw)
    const arrival = arrivalOf(email)
    const { rules, tokens } = study ?? notStudied
    const own = ownContributions(rules, classifierOpinion(read, email, tokens), arrival, thresholds)
    const verdict = await asked
    const merged = verdict === null ? own : [...own, ...rspamdContributions(totalScore(own), verdict, thresholds)]
    return verdictOf([...merged, ...liftingContribution(arrival, totalScore(merged), thresholds)], thresholds)
  }
}

const notStudied: SpamStudy = {
  rules: [{ name: 'CONTENT_NOT_SCORED', score: 0, description: 'its content took too long to look at' }],
  tokens: [],
}

function asking(rspamd: AskRspamd | null, email: InboundEmail, raw: Buffer): ReturnType<AskRspamd> {
  if (rspamd === null) return Promise.resolve(null)
  const { origin } = circumstancesOf(email)
  return rspamd({ id: email.id, raw, origin, recipients: JSON.parse(email.envelope_to) as readonly string[] })
}

/** Null: too little was learned, or there is nothing to ask about. */
function classifierOpinion(read: Read, email: InboundEmail, tokens: readonly string[]): ClassifierOpinion | null {
  const { workspace_id: workspaceId, received_at: receivedAt } = email
  const probability = tokens.length === 0 ? null : bayesScore(tokens, bayesCounts(read, workspaceId, tokens))
  return probability === null ? null : { probability, recent: recentlyLearned(read, workspaceId, receivedAt) }
}

function verdictOf(contributions: readonly SpamContribution[], thresholds: SpamThresholds): SpamVerdict {
  const score = totalScore(contributions)
  return {
    spam_status: spamStatus(score, thresholds),
    spam_score: Math.round(score * 100),
    spam_report: JSON.stringify(contributions.toSorted((a, b) => b.score - a.score)),
  }
}
