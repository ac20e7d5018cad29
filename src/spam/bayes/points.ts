/**
 * What the classifier's probability adds to the spam score: the table of points.
 *
 * Certain spam alone reaches the 8 points of `spam`, likely spam alone the 4 of `suspicious`;
 * between the two there is a zone where it has no opinion and adds nothing. Ham takes away less
 * than spam adds: whoever fills a message with good words must not buy off every rule.
 *
 * The bounds are measured (scripts/bayes-eval): of the test mail, learned half by half, 97 % of spam
 * is at 0.7 or above and 0.4 % of ham; at 0.9999 it is 64 % of spam and no ham.
 */

export interface BayesContribution {
  readonly name: string
  readonly score: number
  readonly description: string
}

interface ScoreStep extends BayesContribution {
  /** The least probability of this step. */
  readonly minProbability: number
}

const unsure: ScoreStep = {
  minProbability: 0.3,
  name: 'BAYES_UNSURE',
  score: 0,
  description: 'Its words are unknown, or those of spam and of ham',
}

/** The highest first; the last one takes every probability that is left. */
const scoreSteps: readonly ScoreStep[] = [
  {
    minProbability: 0.9999,
    name: 'BAYES_SPAM_CERTAIN',
    score: 8,
    description: 'Nearly all that is known of its words is spam',
  },
  { minProbability: 0.99, name: 'BAYES_SPAM_LIKELY', score: 6, description: 'Its words are those of spam' },
  {
    minProbability: 0.9,
    name: 'BAYES_SPAM_RATHER',
    score: 5,
    description: 'Its words are rather those of spam than of ham',
  },
  { minProbability: 0.7, name: 'BAYES_SPAM_PERHAPS', score: 4, description: 'Its words lean towards spam' },
  unsure,
  {
    minProbability: 0.01,
    name: 'BAYES_HAM_LIKELY',
    score: -1,
    description: 'Its words are rather those of ham than of spam',
  },
  {
    minProbability: 0,
    name: 'BAYES_HAM_CERTAIN',
    score: -3,
    description: 'Nearly all that is known of its words is ham',
  },
]

export function buildBayesContribution(probability: number): BayesContribution {
  const { name, score, description } = scoreSteps.find(({ minProbability }) => probability >= minProbability) ?? unsure
  return { name, score, description }
}
