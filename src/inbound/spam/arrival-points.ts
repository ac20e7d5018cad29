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
    description: `${zone} lists the client (${answer})`,
  }))
  const allowContributions = allowListings.slice(0, MAX_LISTINGS).map(({ zone, weight, trust, answer }) => ({
    name: `DNSWL_${symbolOf(zone)}`,
    score: -roundScore(weight * trust),
    description: `${zone} lists the client with ${trustWords[trust] ?? 'some'} trust (${answer})`,
  }))
  const listingContributions = [...blockContributions, ...allowContributions]
  if (!earlyTalker) return listingContributions
  return [
    ...listingContributions,
    { name: 'EARLY_TALKER', score: EARLY_TALKER_SCORE, description: 'the client sent data before the greeting' },
  ]
}

const reasonTexts: Readonly<Record<string, string>> = {
  'dmarc-quarantine': "DMARC fails, and the author's domain asks receivers to treat such mail as spam",
  'dmarc-reject': "DMARC fails, and the author's domain asks receivers to refuse such mail",
  'dmarc-strict': 'DMARC fails, one recipient refuses such mail, and the message has other recipients too',
  'several-author-domains': 'the authors have several domains, or none for which DMARC can be checked',
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
  const why = reasonTexts[spamReason] ?? 'the message was classified as spam when it arrived'
  return [
    {
      name: symbolOf(spamReason),
      score: Math.max(0, roundScore(thresholds.spam - score)),
      description: `${why}; this raises the score to the limit for spam`,
    },
  ]
}

function symbolOf(words: string): string {
  return words
    .toUpperCase()
    .replace(/[^A-Z0-9]+/g, '_')
    .slice(0, 60)
}
