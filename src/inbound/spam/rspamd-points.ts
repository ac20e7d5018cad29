/**
 * Adds rspamd's verdict to our score. Pure.
 *
 * Scale: the score from which rspamd refuses (15 by default) becomes our spam threshold, and lower scores are scaled in
 * proportion. A message that rspamd would mark gets at least our `suspicious` threshold, one that it would refuse at
 * least our `spam` threshold: its operator's rules and virus scanners decide there without a score.
 *
 * Merging: both filters look at the same header, words, addresses and results. A sum would count each trick twice, and
 * two doubts about an honest newsletter would make it spam; an average would take the silence of one as evidence
 * against the findings of the other. So if both speak against a message, the lower score is subtracted again and the
 * higher one counts. A score below zero speaks for the message, which our rules hardly ever do: it counts in full, down
 * to what our classifier may subtract.
 *
 * Symbols are shown with their scaled weight; the line `RSPAMD` holds the rest, so that the report adds up. Limit: the
 * 40 heaviest symbols.
 */
import type { SpamContribution } from '../../base/storage/tables/inbound-tables.js'
import { overlapOf } from './own-points.js'
import type { RspamdAction, RspamdSymbol, RspamdVerdict } from './rspamd/rspamd-answer.js'
import { roundScore, type SpamThresholds, sumScores } from './rules/spam-report.js'

const MAX_SYMBOLS = 40
const MAX_HAM_SCORE = 3

/** `own` is the score of everything else. */
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
  const sentence = `rspamd's score is ${roundScore(verdict.score)} of ${roundScore(verdict.requiredScore)}`
  return [
    ...symbols,
    {
      name: 'RSPAMD',
      score: roundScore(theirs - overlapOf(own, theirs) - sumScores(symbols)),
      description: `${sentence}, which is ${roundScore(theirs)} here; only the higher of both scores counts`,
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

/** Symbols with a weight; all of them if none has one. */
function selectShownSymbols(symbols: readonly RspamdSymbol[]): readonly RspamdSymbol[] {
  const weighty = symbols.filter(({ score }) => score !== 0)
  return (weighty.length > 0 ? weighty : symbols)
    .toSorted((a, b) => Math.abs(b.score) - Math.abs(a.score))
    .slice(0, MAX_SYMBOLS)
}
