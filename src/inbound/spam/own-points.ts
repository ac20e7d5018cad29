/**
 * Our own score of a message: rules, classifier, and circumstances of arrival. Pure.
 *
 * Rules on content and the classifier look at the same words and links, so their sum would count each of them twice. On
 * the labelled ham the sum flagged 6 messages as spam, all newsletters, the rules alone 1 and the classifier alone none
 * (docs/spam.md). Therefore, if both speak against a message, the higher score counts. And if a classifier that has
 * learned enough does not take the message for spam, rules on content make it suspicious at most: they know spam in
 * general, the classifier knows the mail of this workspace.
 *
 * Evidence that the classifier never sees (authentication, the client, block lists, whether names agree with domains)
 * is independent and is added. Evidence for a message is added too.
 */
import type { Arrival, SpamContribution } from '../../base/storage/tables/inbound-tables.js'
import { collectArrivalContributions } from './arrival-points.js'
import { limitClassifier } from './bayes/classifier-limits.js'
import { type BayesContribution, buildBayesContribution } from './bayes/points.js'
import type { TokenCount } from './bayes/score.js'
import { authenticationRules } from './rules/authentication.js'
import { gtubeRules } from './rules/gtube.js'
import { impersonationRules } from './rules/impersonation.js'
import { roundScore, type SpamThresholds, sumScores } from './rules/spam-report.js'

const impersonationRuleNames = new Set(impersonationRules.map(({ name }) => name))

const nonContentRuleNames = new Set(
  [...authenticationRules, ...gtubeRules, ...impersonationRules].map(({ name }) => name),
)

/** Points from which the classifier calls a message spam: a probability of 0.9. */
const AGREEMENT_SCORE = 5

export interface ClassifierOpinion {
  readonly probability: number
  /** Learned messages that were received in the last 180 days. */
  readonly recent: TokenCount
}

/** `rules` are those that match. `opinion` is null if the classifier has learned too little. */
export function collectOwnContributions(
  rules: readonly SpamContribution[],
  opinion: ClassifierOpinion | null,
  arrival: Arrival,
  thresholds: SpamThresholds,
): readonly SpamContribution[] {
  return [
    ...rules,
    ...(opinion === null ? [] : collectClassifierContributions(rules, opinion, thresholds)),
    ...collectArrivalContributions(arrival),
  ]
}

function collectClassifierContributions(
  rules: readonly SpamContribution[],
  { probability, recent }: ClassifierOpinion,
  thresholds: SpamThresholds,
): readonly SpamContribution[] {
  const contribution = buildBayesContribution(probability)
  const dmarcPass = rules.some(({ name }) => name === 'DMARC_PASS')
  const contentScore = sumScores(rules.filter(({ name }) => !nonContentRuleNames.has(name)))
  const impersonationScore = sumScores(rules.filter(({ name }) => impersonationRuleNames.has(name)))
  const limits = limitClassifier(contribution, { recent, dmarcPass, contentScore, impersonationScore }, thresholds)
  return [
    contribution,
    ...limits,
    ...mergeEvidence(contentScore, contribution, sumScores([contribution, ...limits]), thresholds),
  ]
}

/**
 * Corrects the sum for evidence that rules on content and the classifier share. `learned` are the points left to the
 * classifier.
 */
function mergeEvidence(
  content: number,
  contribution: BayesContribution,
  learned: number,
  thresholds: SpamThresholds,
): readonly SpamContribution[] {
  const shared = overlapOf(content, learned)
  const joined = content + learned - shared
  const agrees = contribution.score >= Math.min(AGREEMENT_SCORE, thresholds.spam)
  const limit = agrees ? joined : thresholds.spam - 0.01
  return [
    ...buildReduction(
      'SAME_EVIDENCE',
      shared,
      'the rules and the classifier read the same words, so only the higher of their scores counts',
    ),
    ...buildReduction(
      'CLASSIFIER_DOUBTS',
      joined - limit,
      'the classifier does not consider the message spam, so rules on content can only make it suspicious',
    ),
  ]
}

function buildReduction(name: string, by: number, description: string): readonly SpamContribution[] {
  return by > 0 ? [{ name, score: -roundScore(by), description }] : []
}

/** The amount to subtract from the sum of two scores that stand for the same evidence. */
export function overlapOf(one: number, other: number): number {
  return one > 0 && other > 0 ? Math.min(one, other) : 0
}
