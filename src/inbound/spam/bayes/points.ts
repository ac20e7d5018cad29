/**
 * The points that the classifier's probability adds to the spam score.
 *
 * Certain spam alone reaches the 8 points of `spam`, likely spam alone the 4 of `suspicious`; between spam and ham
 * the classifier has no opinion and adds nothing. Ham subtracts less than spam adds: filling a message with good
 * words must not outweigh every rule.
 *
 * The bounds are measured (scripts/bayes-eval). When one half of the test mail is learned and the other judged, 97
 * % of spam and 0.4 % of ham are at 0.7 or above; at 0.9999 it is 64 % of spam and no ham.
 */

export interface BayesContribution {
  readonly name: string
  readonly score: number
  readonly description: string
}

interface ScoreStep extends BayesContribution {
  /** The lowest probability of this step. */
  readonly minProbability: number
}

const unsure: ScoreStep = {
  minProbability: 0.3,
  name: 'BAYES_UNSURE',
  score: 0,
  description: 'the words of the message are unknown, or occur in spam and in ham',
}

/** Highest first; the last one takes every remaining probability. */
const scoreSteps: readonly ScoreStep[] = [
  {
    minProbability: 0.9999,
    name: 'BAYES_SPAM_CERTAIN',
    score: 8,
    description: 'nearly all known words of the message are typical of spam',
  },
  {
    minProbability: 0.99,
    name: 'BAYES_SPAM_LIKELY',
    score: 6,
    description: 'the words of the message are typical of spam',
  },
  {
    minProbability: 0.9,
    name: 'BAYES_SPAM_RATHER',
    score: 5,
    description: 'the words of the message are more typical of spam than of ham',
  },
  {
    minProbability: 0.7,
    name: 'BAYES_SPAM_PERHAPS',
    score: 4,
    description: 'the words of the message are a little more typical of spam than of ham',
  },
  unsure,
  {
    minProbability: 0.01,
    name: 'BAYES_HAM_LIKELY',
    score: -1,
    description: 'the words of the message are more typical of ham than of spam',
  },
  {
    minProbability: 0,
    name: 'BAYES_HAM_CERTAIN',
    score: -3,
    description: 'nearly all known words of the message are typical of ham',
  },
]

export function buildBayesContribution(probability: number): BayesContribution {
  const { name, score, description } = scoreSteps.find(({ minProbability }) => probability >= minProbability) ?? unsure
  return { name, score, description }
}
