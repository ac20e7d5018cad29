/**
 * How far the classifier is trusted: what bounds the points of its probability. Pure.
 *
 * - Words of old mail say little about the mail of today. Trained on mail of twenty years ago it takes
 *   a quarter of all modern transactional mail for spam, whose words it knows from spam alone. Until it has
 *   learned 200 messages of spam and 200 of ham of the last 180 days it moves a score by at most
 *   2 points, up or down: below the 4 of `suspicious`. Where a message pretends to be of another, it takes off
 *   no more than rules gave for its words: fraud copies the words of honest mail.
 * - Against a DMARC pass it gives a point less than `suspicious`: alone it flags no message whose author's
 *   domain vouches for it, also where the client costs that message a little.
 */

import type { SpamContribution, SpamThresholds } from '../spam-report.js'
import type { BayesContribution } from './points.js'
import type { TokenCount } from './score.js'

const LEAST_RECENT = 200
const YOUNG_POINTS = 2
/** Below the bound of `suspicious`, against a DMARC pass. */
const BELOW = 1

export interface Trust {
  /** Messages learned whose mail is of the last 180 days. */
  readonly recent: TokenCount
  readonly dmarcPass: boolean
  /** What rules gave for its words. */
  readonly content: number
  /** What rules gave for what it pretends to be. */
  readonly pretence: number
}

/** Lines that take points off what the classifier gives, or add to what it takes. */
export function limitingTrust(
  { score }: BayesContribution,
  { recent, dmarcPass, content, pretence }: Trust,
  { suspicious }: SpamThresholds,
): readonly SpamContribution[] {
  const least = pretence > 0 ? Math.min(YOUNG_POINTS, Math.max(0, content)) : YOUNG_POINTS
  const bounded = knowsRecentMail(recent) ? score : Math.max(-least, Math.min(score, YOUNG_POINTS))
  const vouched = dmarcPass ? Math.min(bounded, Math.max(0, suspicious - BELOW)) : bounded
  return [
    ...moving(
      'CLASSIFIER_UNSEASONED',
      bounded - score,
      'the classifier has learned fewer than 200 spam and 200 ham of the last 180 days: at most 2 points',
    ),
    ...moving(
      'CLASSIFIER_AND_DMARC',
      vouched - bounded,
      "the author's domain vouches for it: words alone do not flag it",
    ),
  ]
}

function knowsRecentMail({ spam, ham }: TokenCount): boolean {
  return spam >= LEAST_RECENT && ham >= LEAST_RECENT
}

function moving(name: string, by: number, description: string): readonly SpamContribution[] {
  return by === 0 ? [] : [{ name, score: by, description }]
}
