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

import type { SpamContribution } from '../../storage/tables/inbound-tables.js'
import type { SpamThresholds } from '../spam-report.js'
import type { BayesContribution } from './points.js'
import type { TokenCount } from './score.js'

const MIN_RECENT_MESSAGES = 200
const MAX_UNSEASONED_SCORE = 2
/** Below the bound of `suspicious`, against a DMARC pass. */
const DMARC_MARGIN = 1

export interface TrustInput {
  /** Messages learned whose mail is of the last 180 days. */
  readonly recent: TokenCount
  readonly dmarcPass: boolean
  /** What rules gave for its words. */
  readonly contentScore: number
  /** What rules gave for what it pretends to be. */
  readonly impersonationScore: number
}

/** Lines that take points off what the classifier gives, or add to what it takes. */
export function limitClassifier(
  { score }: BayesContribution,
  { recent, dmarcPass, contentScore, impersonationScore }: TrustInput,
  { suspicious }: SpamThresholds,
): readonly SpamContribution[] {
  const least =
    impersonationScore > 0 ? Math.min(MAX_UNSEASONED_SCORE, Math.max(0, contentScore)) : MAX_UNSEASONED_SCORE
  const bounded = knowsRecentMail(recent) ? score : Math.max(-least, Math.min(score, MAX_UNSEASONED_SCORE))
  const vouched = dmarcPass ? Math.min(bounded, Math.max(0, suspicious - DMARC_MARGIN)) : bounded
  return [
    ...buildAdjustment(
      'CLASSIFIER_UNSEASONED',
      bounded - score,
      'the classifier has learned fewer than 200 spam and 200 ham of the last 180 days: at most 2 points',
    ),
    ...buildAdjustment(
      'CLASSIFIER_AND_DMARC',
      vouched - bounded,
      "the author's domain vouches for it: words alone do not flag it",
    ),
  ]
}

function knowsRecentMail({ spam, ham }: TokenCount): boolean {
  return spam >= MIN_RECENT_MESSAGES && ham >= MIN_RECENT_MESSAGES
}

function buildAdjustment(name: string, by: number, description: string): readonly SpamContribution[] {
  return by === 0 ? [] : [{ name, score: by, description }]
}
