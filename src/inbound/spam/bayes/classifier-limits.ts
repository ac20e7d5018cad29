/**
 * Limits on the points that the classifier's probability may give. Pure.
 *
 * - Words of old mail say little about current mail. A classifier trained on mail that is twenty years old takes a
 *   quarter of all modern transactional mail for spam, because it knows those words from spam alone. Until it
 *   has learned 200 messages of spam and 200 of ham from the last 180 days, it moves a score by at most 2 points
 *   up or down, which is below the 4 of `suspicious`. If a message impersonates a brand or a person, the classifier
 *   subtracts no more than the rules added for its wording: fraud copies the words of honest mail.
 * - Against a DMARC pass it adds at most one point less than `suspicious`: alone it flags no message whose author's
 *   domain vouches for it, even if the client costs that message some points.
 */
import type { SpamContribution } from '../../../base/storage/tables/inbound-tables.js'
import type { SpamThresholds } from '../rules/spam-report.js'
import type { BayesContribution } from './points.js'
import type { TokenCount } from './score.js'

const MIN_RECENT_MESSAGES = 200
const MAX_UNSEASONED_SCORE = 2
/** Subtracted from the `suspicious` threshold to get the limit against a DMARC pass. */
const DMARC_MARGIN = 1

interface TrustInput {
  /** Learned messages that were received in the last 180 days. */
  readonly recent: TokenCount
  readonly dmarcPass: boolean
  /** Score of the rules on wording. */
  readonly contentScore: number
  /** Score of the rules on impersonation. */
  readonly impersonationScore: number
}

/** Contributions that reduce the classifier's points, in either direction. */
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
      'the classifier has learned fewer than 200 spam or 200 ham of the last 180 days, so it counts at most 2 points',
    ),
    ...buildAdjustment(
      'CLASSIFIER_AND_DMARC',
      vouched - bounded,
      "DMARC passes for the author's domain, so the words alone do not make the message suspicious",
    ),
  ]
}

/** Whether the classifier has its full weight. */
export function knowsRecentMail({ spam, ham }: TokenCount): boolean {
  return spam >= MIN_RECENT_MESSAGES && ham >= MIN_RECENT_MESSAGES
}

function buildAdjustment(name: string, by: number, description: string): readonly SpamContribution[] {
  return by === 0 ? [] : [{ name, score: by, description }]
}
