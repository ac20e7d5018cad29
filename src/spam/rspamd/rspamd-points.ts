/**
 * What rspamd's verdict adds to our own score. Pure.
 *
 * Scale: the score from which rspamd refuses (15 as it is shipped) becomes our least score of
 * spam, and everything below in proportion. What rspamd would mark has at least our least
 * score of `suspicious`, what it would refuse at least that of `spam`: rules of its operator and
 * virus scanners decide there without a score.
 *
 * Merging: both look at the same header, words, addresses and results, so a sum would count each
 * trick twice, and two doubts about an honest newsletter would make it spam. Nor is the one's
 * silence evidence against what the other found, as an average would have it. So where both speak
 * against a message the lower one is taken off again, and the higher one counts. A score below
 * zero speaks for the message, which we hardly ever do ourselves: it counts in full, down to
 * what our own classifier may take away.
 *
 * The symbols are shown with what they weigh here; the line `RSPAMD` takes up what is left, so
 * that the report adds up. Limit: the 40 heaviest symbols.
 */

import type { SpamContribution } from '../../storage/tables/inbound-tables.js'
import { overlapOf } from '../own-points.js'
import { roundScore, type SpamThresholds, sumScores } from '../spam-report.js'
import type { RspamdAction, RspamdSymbol, RspamdVerdict } from './rspamd-answer.js'

const MAX_SYMBOLS = 40
const MAX_HAM_SCORE = 3

/** `own`: the score of everything else. */
export function collectRspamdContributions(
  own: number,
  verdict: RspamdVerdict,
  thresholds: SpamThresholds,
): readonly SpamContribution[] {
  const factor = thresholds.spam / verdict.requiredScore
  const symbols = selectShownSymbols(verdict.symbols).map(({ name, score, description }) => ({
    name: `RSPAMD_${name}`,
    score: roundScore(score * factor),
    description,
  }))
  const theirs = Math.max(verdict.score * factor, -MAX_HAM_SCORE, minScoreOf(verdict.action, thresholds))
  const said = `rspamd gives ${roundScore(verdict.score)} of ${roundScore(verdict.requiredScore)}`
  return [
    ...symbols,
    {
      name: 'RSPAMD',
      score: roundScore(theirs - overlapOf(own, theirs) - sumScores(symbols)),
      description: `${said}, ${roundScore(theirs)} here; what both found counts once`,
    },
  ]
}

function minScoreOf(action: RspamdAction, { suspicious, spam }: SpamThresholds): number {
  switch (action) {
    case 'reject':
      return spam
    case 'add header':
      return suspicious
    case 'none':
      return Number.NEGATIVE_INFINITY
  }
}

/** Those that weigh something; of a verdict without any, those that are there. */
function selectShownSymbols(symbols: readonly RspamdSymbol[]): readonly RspamdSymbol[] {
  const weighty = symbols.filter(({ score }) => score !== 0)
  return (weighty.length > 0 ? weighty : symbols)
    .toSorted((a, b) => Math.abs(b.score) - Math.abs(a.score))
    .slice(0, MAX_SYMBOLS)
}
