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
 * What the classifier never sees (authentication, the client, block lists) is evidence of its
 * own and is added, and so is whatever speaks for a message.
 */
import type { Arrival } from '../../messages/inbound-email.js'
import { arrivalContributions } from './arrival-points.js'
import { type BayesContribution, bayesContribution } from './bayes-points.js'
import { authenticationRules } from './rules/authentication.js'
import { gtubeRules } from './rules/gtube.js'
import { hundredths, type SpamContribution, type SpamThresholds, totalScore } from './spam-report.js'

const outsideContent = new Set([...authenticationRules, ...gtubeRules].map(({ name }) => name))

/** From so many points on the classifier takes a message for spam: a probability of 0.9. */
const AGREES = 5

/** `rules`: those that hold. `probability`: of the classifier; null: it has learned too little. */
export function ownContributions(
  rules: readonly SpamContribution[],
  probability: number | null,
  arrival: Arrival,
  thresholds: SpamThresholds,
): readonly SpamContribution[] {
  const learned = bayesContribution(probability)
  const content = totalScore(rules.filter(({ name }) => !outsideContent.has(name)))
  return [
    ...rules,
    ...(learned === null ? [] : joining(content, learned, thresholds)),
    ...arrivalContributions(arrival),
  ]
}

/** What the classifier says, and what that makes of what the rules on content said. */
function joining(content: number, learned: BayesContribution, thresholds: SpamThresholds): readonly SpamContribution[] {
  const twice = countedTwice(content, learned.score)
  const joined = content + learned.score - twice
  const agrees = learned.score >= Math.min(AGREES, thresholds.spam)
  const most = agrees ? joined : thresholds.spam - 0.01
  return [
    learned,
    ...lowering('SAME_EVIDENCE', twice, 'rules and classifier look at the same words: what both found counts once'),
    ...lowering(
      'CLASSIFIER_DOUBTS',
      joined - most,
      'the classifier does not take it for spam: rules on content alone make it suspicious at most',
    ),
  ]
}

function lowering(name: string, by: number, description: string): readonly SpamContribution[] {
  return by > 0 ? [{ name, score: -hundredths(by), description }] : []
}

/** What to take off the sum of two scores that stand for the same evidence. */
export function countedTwice(one: number, other: number): number {
  return one > 0 && other > 0 ? Math.min(one, other) : 0
}
