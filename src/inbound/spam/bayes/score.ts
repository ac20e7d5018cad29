/**
 * The probability that a message is spam, from how often its tokens were seen in spam and in ham.
 *
 * Gary Robinson's method with Fisher's combination, as in SpamBayes and bogofilter. The less often a token was
 * seen, the nearer its probability is to one half: f = (s·x + n·p) / (s + n). The counts of the larger kind are
 * scaled down to the smaller, so f rises with every spam and falls with every ham, however different the totals
 * are. The tokens that deviate most are combined twice, against "all of this is chance" from either side; if both
 * results are high or both low, the message is unsure.
 *
 * Pure. There is no opinion until there are 50 messages of each kind.
 */

const MIN_MESSAGES = 50
/** Strength and value of the prior, for a token never seen. */
const PRIOR_STRENGTH = 0.45
const PRIOR_PROBABILITY = 0.5
/** Tokens nearer to one half than this are ignored. */
const MIN_DEVIATION = 0.1
const MAX_TOKENS = 150
/** Products and sums beyond these are scaled, long before they leave the range of numbers. */
const SMALLEST = 1e-280
const LARGEST = 1e280

export interface TokenCount {
  readonly spam: number
  readonly ham: number
}

export function hasLearnedEnough({ spam, ham }: TokenCount): boolean {
  return spam >= MIN_MESSAGES && ham >= MIN_MESSAGES
}

/** From 0 (ham) to 1 (spam). `probabilities` are the decisive ones of distinct tokens, in their order. */
export function computeSpamProbability(probabilities: readonly number[]): number {
  return combineProbabilities(selectStrongest(probabilities))
}

/** Null if it is too near to one half to say anything. */
export function computeDecisiveProbability(count: TokenCount, messages: TokenCount): number | null {
  const probability = computeTokenProbability(count, messages)
  return deviationOf(probability) >= MIN_DEVIATION ? probability : null
}

function deviationOf(probability: number): number {
  return Math.abs(probability - 0.5)
}

export function computeTokenProbability(count: TokenCount, messages: TokenCount): number {
  const smaller = Math.min(messages.spam, messages.ham)
  const spam = (count.spam * smaller) / messages.spam
  const ham = (count.ham * smaller) / messages.ham
  return (PRIOR_STRENGTH * PRIOR_PROBABILITY + spam) / (PRIOR_STRENGTH + spam + ham)
}

/** Selects the strongest; those that come first, of equal ones. Numbers are sorted as such, because a comparison of two would box them all. */
function selectStrongest(probabilities: readonly number[]): readonly number[] {
  if (probabilities.length <= MAX_TOKENS) return probabilities
  const deviations = Float64Array.from(probabilities)
  for (let at = 0; at < deviations.length; at += 1) deviations[at] = deviationOf(deviations[at] ?? 0)
  deviations.sort()
  const least = deviations[deviations.length - MAX_TOKENS] ?? 0
  let equal = MAX_TOKENS - (deviations.length - 1 - deviations.lastIndexOf(least))
  return probabilities.filter((probability) => {
    const deviation = deviationOf(probability)
    if (deviation !== least) return deviation > least
    equal -= 1
    return equal >= 0
  })
}

/** Fisher's method from both sides; one half if there are no probabilities. */
export function combineProbabilities(probabilities: readonly number[]): number {
  const ham = new LogarithmOfProduct()
  const spam = new LogarithmOfProduct()
  for (const probability of probabilities) {
    ham.multiply(1 - probability)
    spam.multiply(probability)
  }
  const degrees = 2 * probabilities.length
  return (1 + chiSquareTail(-2 * spam.read(), degrees) - chiSquareTail(-2 * ham.read(), degrees)) / 2
}

/** Multiplies factors between zero and one, each far above 10^-20, and takes one logarithm of many of them. */
class LogarithmOfProduct {
  private sum = 0
  private product = 1

  multiply(factor: number): void {
    this.product *= factor
    if (this.product > SMALLEST) return
    this.sum += Math.log(this.product)
    this.product = 1
  }

  read(): number {
    return this.sum + Math.log(this.product)
  }
}

/**
 * The probability that a chi-square variable with an even number of degrees is at least `value`: e^-m · Σ m^i / i! for
 * i below degrees / 2, with m = value / 2. e^-m alone may be zero and the sum infinite, so the sum is kept within the
 * range of numbers, and its scale is kept as a logarithm.
 */
export function chiSquareTail(value: number, degrees: number): number {
  const half = value / 2
  if (half <= 0) return 1
  let term = 1
  let sum = 1
  let logOfScale = 0
  for (let i = 1; i < degrees / 2; i += 1) {
    term *= half / i
    sum += term
    if (sum < LARGEST) continue
    term /= LARGEST
    sum /= LARGEST
    logOfScale += Math.log(LARGEST)
  }
  return Math.min(Math.exp(Math.log(sum) + logOfScale - half), 1)
}
