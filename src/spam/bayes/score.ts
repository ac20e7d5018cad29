/**
 * The probability that a message is spam, from how often its tokens were seen in spam and in ham.
 *
 * Gary Robinson's method with Fisher's combination, as in SpamBayes and bogofilter. The less often a token was
 * seen, the nearer its probability is to one half: f = (s·x + n·p) / (s + n). The counts of the larger kind are
 * scaled down to the smaller, so f rises with every spam and falls with every ham, however different the totals
 * are. The tokens that deviate most are combined twice, against "all of this is chance" from either side; if both
 * results are high or both low, the message is unsure.
 *
 * Pure. Null until there are 50 messages of each kind.
 */

const MIN_MESSAGES = 50
/** Strength and value of the prior, for a token never seen. */
const PRIOR_STRENGTH = 0.45
const PRIOR_PROBABILITY = 0.5
/** Tokens nearer to one half than this are ignored. */
const MIN_DEVIATION = 0.1
const MAX_TOKENS = 150

export interface TokenCount {
  readonly spam: number
  readonly ham: number
}

export interface BayesCounts<Token> {
  /** Learned messages of each kind. */
  readonly messages: TokenCount
  /** The number of them that contain each token; a missing token is in none. */
  readonly tokens: { readonly get: (token: Token) => TokenCount | undefined }
}

export function hasLearnedEnough({ spam, ham }: TokenCount): boolean {
  return spam >= MIN_MESSAGES && ham >= MIN_MESSAGES
}

/** From 0 (ham) to 1 (spam); null if too little was learned. Tokens are distinct. */
export function computeSpamProbability<Token>(
  tokens: readonly Token[],
  { messages, tokens: counts }: BayesCounts<Token>,
): number | null {
  if (!hasLearnedEnough(messages)) return null
  const probabilities: number[] = []
  for (const token of tokens) {
    const count = counts.get(token)
    if (count !== undefined) probabilities.push(computeTokenProbability(count, messages))
  }
  return combineProbabilities(selectStrongest(probabilities))
}

export function computeTokenProbability(count: TokenCount, messages: TokenCount): number {
  const smaller = Math.min(messages.spam, messages.ham)
  const spam = (count.spam * smaller) / messages.spam
  const ham = (count.ham * smaller) / messages.ham
  return (PRIOR_STRENGTH * PRIOR_PROBABILITY + spam) / (PRIOR_STRENGTH + spam + ham)
}

function selectStrongest(probabilities: readonly number[]): readonly number[] {
  const deviation = (probability: number): number => Math.abs(probability - 0.5)
  return probabilities
    .filter((probability) => deviation(probability) >= MIN_DEVIATION)
    .sort((a, b) => deviation(b) - deviation(a))
    .slice(0, MAX_TOKENS)
}

/** Fisher's method from both sides; one half if there are no probabilities. */
export function combineProbabilities(probabilities: readonly number[]): number {
  const sum = (of: (probability: number) => number): number =>
    probabilities.reduce((total, probability) => total + Math.log(of(probability)), 0)
  const degrees = 2 * probabilities.length
  const spam = 1 - chiSquareTail(-2 * sum((probability) => 1 - probability), degrees)
  const ham = 1 - chiSquareTail(-2 * sum((probability) => probability), degrees)
  return (1 + spam - ham) / 2
}

/**
 * The probability that a chi-square variable with an even number of degrees is at least `value`: e^-m · Σ m^i / i!
 * for i below degrees / 2, with m = value / 2. Summed in logarithms, since e^-m alone may be zero.
 */
export function chiSquareTail(value: number, degrees: number): number {
  const half = value / 2
  if (half <= 0) return 1
  let term = -half
  let sum = Math.exp(term)
  for (let i = 1; i < degrees / 2; i += 1) {
    term += Math.log(half / i)
    sum += Math.exp(term)
  }
  return Math.min(sum, 1)
}
