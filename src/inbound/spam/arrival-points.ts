/**
 * Contributions from the circumstances of a message's arrival: block lists that list the client, allow lists that
 * trust it, and a client that sent before the greeting. Pure.
 *
 * Limit: 20 listings of each kind.
 */
import type { Arrival, SpamContribution } from '../../base/storage/tables/inbound-tables.js'
import { roundScore, type SpamThresholds } from './rules/spam-report.js'

const MAX_LISTINGS = 20
/** Hardly any mail program does it, most programs for bulk spam do; alone it flags no message. */
const EARLY_TALKER_SCORE = 2.5

const trustWords = ['no', 'low', 'medium', 'high']

export function collectArrivalContributions({
  earlyTalker,
  listings,
  allowListings,
}: Arrival): readonly SpamContribution[] {
  const blockContributions = listings.slice(0, MAX_LISTINGS).map(({ zone, weight, answer }) => ({
    name: `DNSBL_${symbolOf(zone)}`,
    score: weight,
    description: `the client is listed at ${zone} (${answer})`,
  }))
  const allowContributions = allowListings.slice(0, MAX_LISTINGS).map(({ zone, weight, trust, answer }) => ({
    name: `DNSWL_${symbolOf(zone)}`,
    score: -roundScore(weight * trust),
    description: `${zone} has ${trustWords[trust] ?? 'some'} trust in the client (${answer})`,
  }))
  const listingContributions = [...blockContributions, ...allowContributions]
  if (!earlyTalker) return listingContributions
  return [
    ...listingContributions,
    { name: 'EARLY_TALKER', score: EARLY_TALKER_SCORE, description: 'the client spoke before it was greeted' },
  ]
}

const reasonTexts: Readonly<Record<string, string>> = {
  'dmarc-quarantine': "the author's domain asks to treat what it does not vouch for as spam",
  'dmarc-reject': "the author's domain asks to refuse what it does not vouch for",
  'dmarc-strict': 'its recipient refuses what its author does not vouch for, and others got it too',
  'several-author-domains': 'its authors are of several domains, or of none that can be asked',
}

/**
 * The contribution for a message that is spam whatever its score. It is named after the reason, and lifts `score` to
 * the spam threshold.
 */
export function buildLiftContribution(
  { spamReason }: Arrival,
  score: number,
  thresholds: SpamThresholds,
): readonly SpamContribution[] {
  if (spamReason === null) return []
  const why = reasonTexts[spamReason] ?? 'it was taken as spam when it came'
  return [
    {
      name: symbolOf(spamReason),
      score: Math.max(0, roundScore(thresholds.spam - score)),
      description: `${why}: lifts the score to that of spam`,
    },
  ]
}

function symbolOf(words: string): string {
  return words
    .toUpperCase()
    .replace(/[^A-Z0-9]+/g, '_')
    .slice(0, 60)
}
