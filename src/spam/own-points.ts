/**
 * Our own score of a message: rules, classifier, and how it came. Pure.
 *
 * Rules on content and the classifier look at the same words and links. Their sum would count each
 * of them twice: it called 6 messages of the labelled ham spam, newsletters all, the rules alone 1
 * and the classifier alone none (docs/spam.md). So where both speak against a message, the
 * higher one counts. And where a classifier that has learned does not take it for spam itself,
 * rules on content make it suspicious at most: they know spam in general, it knows the mail
 * of this workspace.
 *
 * What the classifier never sees (authentication, the client, block lists, whether names agree with
 * domains) is evidence of its own and is added, and so is whatever speaks for a message.
 */
import type { Arrival, SpamContribution } from '../storage/tables/inbound-tables.js'
import { collectArrivalContributions } from './arrival-points.js'
import { limitClassifier } from './bayes/classifier-limits.js'
import { type BayesContribution, buildBayesContribution } from './bayes/points.js'
import type { TokenCount } from './bayes/score.js'
import { authenticationRules } from './rules/authentication.js'
import { gtubeRules } from './rules/gtube.js'
import { impersonationRules } from './rules/impersonation.js'
import { roundScore, type SpamThresholds, sumScores } from './spam-report.js'

const impersonationRuleNames = new Set(impersonationRules.map(({ name }) => name))

const nonContentRuleNames = new Set(
  [...authenticationRules, ...gtubeRules, ...impersonationRules].map(({ name }) => name),
)

/** From so many points on the classifier takes a message for spam: a probability of 0.9. */
const AGREEMENT_SCORE = 5

export interface ClassifierOpinion {
  readonly probability: number
  /** Messages learned whose mail is of the last 180 days. */
  readonly recent: TokenCount
}

/** `rules`: those that hold. `opinion`: null: the classifier has learned too little to have one. */
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
  const said = buildBayesContribution(probability)
  const dmarcPass = rules.some(({ name }) => name === 'DMARC_PASS')
  const contentScore = sumScores(rules.filter(({ name }) => !nonContentRuleNames.has(name)))
  const impersonationScore = sumScores(rules.filter(({ name }) => impersonationRuleNames.has(name)))
  const limits = limitClassifier(said, { recent, dmarcPass, contentScore, impersonationScore }, thresholds)
  return [said, ...limits, ...mergeEvidence(contentScore, said, sumScores([said, ...limits]), thresholds)]
}

/** What the classifier's opinion makes of what the rules on content said; `learned`: the points left to it. */
function mergeEvidence(
  content: number,
  said: BayesContribution,
  learned: number,
  thresholds: SpamThresholds,
): readonly SpamContribution[] {
  const twice = overlapOf(content, learned)
  const joined = content + learned - twice
  const agrees = said.score >= Math.min(AGREEMENT_SCORE, thresholds.spam)
  const most = agrees ? joined : thresholds.spam - 0.01
  return [
    ...buildReduction(
      'SAME_EVIDENCE',
      twice,
      'rules and classifier look at the same words: what both found counts once',
    ),
    ...buildReduction(
      'CLASSIFIER_DOUBTS',
      joined - most,
      'the classifier does not take it for spam: rules on content alone make it suspicious at most',
    ),
  ]
}

function buildReduction(name: string, by: number, description: string): readonly SpamContribution[] {
  return by > 0 ? [{ name, score: -roundScore(by), description }] : []
}

/** What to take off the sum of two scores that stand for the same evidence. */
export function overlapOf(one: number, other: number): number {
  return one > 0 && other > 0 ? Math.min(one, other) : 0
}
