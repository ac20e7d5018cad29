/**
 * The score of a message: the sum of the weights of the rules that match, each with its name.
 *
 * Pure. Scores are rounded to a hundredth, so that the parts shown add up to the sum.
 */
import type { SpamContribution, SpamStatus } from '../../../base/storage/tables/inbound-tables.js'
import { collectSpamFacts } from '../facts/spam-facts.js'
import type { SpamMessage } from '../facts/spam-message.js'
import { spamRules } from './all-rules.js'

interface SpamReport {
  readonly score: number
  /** Heaviest first. */
  readonly contributions: readonly SpamContribution[]
}

/** Lowest scores of each status. */
export interface SpamThresholds {
  readonly suspicious: number
  readonly spam: number
}

export const defaultSpamThresholds: SpamThresholds = { suspicious: 4, spam: 8 }

export function scoreByRules(message: SpamMessage): SpamReport {
  const facts = collectSpamFacts(message)
  const contributions = spamRules
    .filter((rule) => rule.test(facts))
    .map(({ name, weight, description }) => ({ name, score: weight, description }))
    .sort((a, b) => b.score - a.score)
  return { score: sumScores(contributions), contributions }
}

export function sumScores(contributions: readonly SpamContribution[]): number {
  return roundScore(contributions.reduce((sum, { score }) => sum + score, 0))
}

export function roundScore(score: number): number {
  return Math.round(score * 100) / 100
}

export function spamStatusOf(score: number, thresholds: SpamThresholds = defaultSpamThresholds): SpamStatus {
  if (score >= thresholds.spam) return 'spam'
  return score >= thresholds.suspicious ? 'suspicious' : 'clean'
}
