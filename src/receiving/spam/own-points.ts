/**
 * Our own score of a message: rules, classifier, and how it came. Pure.
 *
 * Rules on content and the classifier look at the same words and links. Their sum would count each
 * of them twice: it called 6 messages of the labelled ham spam, newsletters all, the rules alone 1
 * and the classifier alone none (docs/spam.md). So where both speak against a message, the
 * higher one counts. What the classifier never sees (authentication, the client, block lists) is
 * evidence of its own and is added, and so is whatever speaks for a message.
 */
import type { Arrival } from '../../messages/inbound-email.js'
import { arrivalContributions } from './arrival-points.js'
import { bayesContribution } from './bayes-points.js'
import { authenticationRules } from './rules/authentication.js'
import type { SpamMessage } from './spam-message.js'
import { type SpamContribution, spamReport, totalScore } from './spam-report.js'

const outsideContent = new Set(authenticationRules.map(({ name }) => name))

/** `probability`: of the classifier. */
export function ownContributions(
  message: SpamMessage,
  probability: number | null,
  arrival: Arrival,
): readonly SpamContribution[] {
  const rules = spamReport(message).contributions
  const learned = bayesContribution(probability)
  const content = totalScore(rules.filter(({ name }) => !outsideContent.has(name)))
  return [
    ...rules,
    ...(learned === null ? [] : [learned, ...sameEvidence(content, learned.score)]),
    ...arrivalContributions(arrival),
  ]
}

function sameEvidence(content: number, learned: number): readonly SpamContribution[] {
  const twice = countedTwice(content, learned)
  if (twice === 0) return []
  const description = 'rules and classifier look at the same words: what both found counts once'
  return [{ name: 'SAME_EVIDENCE', score: -twice, description }]
}

/** What to take off the sum of two scores that stand for the same evidence. */
export function countedTwice(one: number, other: number): number {
  return one > 0 && other > 0 ? Math.min(one, other) : 0
}
