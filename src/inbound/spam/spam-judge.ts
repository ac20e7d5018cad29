/**
 * Decides whether a message is spam: rules, the classifier of its workspace, circumstances of arrival, and rspamd
 * if configured, merged into one score whose contributions are named.
 *
 * The report adds up to the score, to a hundredth; the score decides the status. Contributions of rules and
 * classifier are as many as there are rules; those of block lists and of rspamd are bounded and sanitized where
 * they are made.
 */
import type { Config } from '../../base/config/complete.js'
import { parseJson, toJson } from '../../base/storage/tables/columns.js'
import type { SpamContribution } from '../../base/storage/tables/inbound-tables.js'
import { parseArrival } from '../../records/messages/inbound/inbound-email.js'
import type { InboundContent, InboundEmail } from '../../records/messages/inbound/inbound-record.js'
import { buildLiftContribution } from './arrival-points.js'
import type { LearnedCounts } from './bayes/learned-counts.js'
import { computeSpamProbability } from './bayes/score.js'
import { unpackKeys } from './bayes/token-keys.js'
import type { ContentAnalysis } from './content-analysis.js'
import { type ClassifierOpinion, collectOwnContributions } from './own-points.js'
import { spamContextOf } from './received-spam-message.js'
import type { ConfiguredRspamd } from './rspamd/configured-rspamd.js'
import type { RspamdVerdict } from './rspamd/rspamd-answer.js'
import { collectRspamdContributions } from './rspamd-points.js'
import { type SpamThresholds, spamStatusOf, sumScores } from './rules/spam-report.js'

interface JudgeDeps {
  readonly learned: LearnedCounts
  readonly settings: () => Pick<Config['spam'], 'suspicious_score' | 'spam_score'>
  readonly rspamd: Pick<ConfiguredRspamd, 'client'>
}

export type SpamVerdict = Pick<InboundContent, 'spam_status' | 'spam_score' | 'spam_report'>

/** The facts about a message that are judged. It need not be stored. */
export type JudgedEmail = Pick<
  InboundEmail,
  | 'id'
  | 'workspace_id'
  | 'envelope_from'
  | 'envelope_to'
  | 'client_address'
  | 'helo'
  | 'authentication'
  | 'arrival'
  | 'received_at'
>

export class SpamJudge {
  constructor(private readonly deps: JudgeDeps) {}

  /** `analysis` is null if the content was too much for the process that analyzed it. */
  async judge(email: JudgedEmail, raw: Buffer, analysis: ContentAnalysis | null): Promise<SpamVerdict> {
    const { suspicious_score: suspicious, spam_score: spam } = this.deps.settings()
    const thresholds = { suspicious, spam }
    const pendingVerdict = this.askRspamd(email, raw)
    const arrival = parseArrival(email)
    const { rules, keys } = analysis ?? missingAnalysis
    const opinion = await classifierOpinion(this.deps.learned, email, keys)
    const ownContributions = collectOwnContributions(rules, opinion, arrival, thresholds)
    const verdict = await pendingVerdict
    const merged =
      verdict === null
        ? ownContributions
        : [...ownContributions, ...collectRspamdContributions(sumScores(ownContributions), verdict, thresholds)]
    return toVerdict([...merged, ...buildLiftContribution(arrival, sumScores(merged), thresholds)], thresholds)
  }

  private async askRspamd(email: JudgedEmail, raw: Buffer): Promise<RspamdVerdict | null> {
    const { client } = this.deps.rspamd
    if (client === null) return null
    const { origin } = spamContextOf(email)
    return client.check({ id: email.id, raw, origin, recipients: parseJson(email.envelope_to) })
  }
}

const missingAnalysis: ContentAnalysis = {
  rules: [
    {
      name: 'CONTENT_NOT_SCORED',
      score: 0,
      description: 'the content was not scored, because reading it took too long',
    },
  ],
  keys: '',
}

/** `packed` has the keys of its tokens. Null if too little was learned, or if there are none. */
async function classifierOpinion(
  learned: LearnedCounts,
  email: JudgedEmail,
  packed: string,
): Promise<ClassifierOpinion | null> {
  if (packed === '') return null
  const { workspace_id: workspaceId, received_at: receivedAt } = email
  const keys = unpackKeys(Buffer.from(packed, 'base64'))
  const probabilities = await learned.findProbabilities(workspaceId, keys)
  if (probabilities === null) return null
  const recent = await learned.countRecent(workspaceId, receivedAt)
  return { probability: computeSpamProbability(probabilities), recent }
}

function toVerdict(contributions: readonly SpamContribution[], thresholds: SpamThresholds): SpamVerdict {
  const score = sumScores(contributions)
  return {
    spam_status: spamStatusOf(score, thresholds),
    spam_score: Math.round(score * 100),
    spam_report: toJson(contributions.toSorted((a, b) => b.score - a.score)),
  }
}
