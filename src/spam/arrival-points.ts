/**
 * What the way a message came adds to its score: block lists that know the client, a client
 * that spoke before it was greeted. Pure.
 *
 * Limit: 20 listings.
 */
import type { Arrival, SpamContribution } from '../storage/tables/inbound-tables.js'
import { roundScore, type SpamThresholds } from './spam-report.js'

const MAX_LISTINGS = 20
/** Hardly any mail program does it, most programs that send to long lists do; alone it flags nobody. */
const EARLY_TALKER_SCORE = 2.5

export function collectArrivalContributions({ earlyTalker, listings }: Arrival): readonly SpamContribution[] {
  const listingContributions = listings.slice(0, MAX_LISTINGS).map(({ zone, weight, answer }) => ({
    name: `DNSBL_${symbolOf(zone)}`,
    score: weight,
    description: `the client is listed at ${zone} (${answer})`,
  }))
  if (!earlyTalker) return listingContributions
  return [
    ...listingContributions,
    { name: 'EARLY_TALKER', score: EARLY_TALKER_SCORE, description: 'the client spoke before it was greeted' },
  ]
}

const reasonTexts: Readonly<Record<string, string>> = {
  'dmarc-quarantine': "the author's domain asks to treat what it does not vouch for as spam",
  'dmarc-reject': "the author's domain asks to refuse what it does not vouch for",
  'several-author-domains': 'its authors are of several domains, or of none that can be asked',
}

/** A message that is spam whatever its score: what lifts `score` to the least of spam, by the reason's name. */
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
