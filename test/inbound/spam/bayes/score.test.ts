/** The probability from tokens, and the points for it. */
import fc from 'fast-check'
import t from 'tap'
import { buildBayesContribution } from '../../../../src/inbound/spam/bayes/points.js'
import {
  chiSquareTail,
  combineProbabilities,
  computeDecisiveProbability,
  computeSpamProbability,
  computeTokenProbability,
  hasLearnedEnough,
  type TokenCount,
} from '../../../../src/inbound/spam/bayes/score.js'

const close = (t: Tap, actual: number, expected: number): void => {
  t.ok(Math.abs(actual - expected) < 1e-9, `${actual} is ${expected}`)
}

type Tap = { ok: (value: unknown, message: string) => unknown }

t.test('the formulas give the results of cases computed by hand', async (t) => {
  const even = { spam: 100, ham: 100 }
  close(t, computeTokenProbability({ spam: 0, ham: 0 }, even), 0.5)
  close(t, computeTokenProbability({ spam: 1, ham: 0 }, even), 1.225 / 1.45)
  close(t, computeTokenProbability({ spam: 3, ham: 1 }, even), 3.225 / 4.45)
  // 400 spam weigh as 100: 8 of them are 2.
  close(t, computeTokenProbability({ spam: 8, ham: 2 }, { spam: 400, ham: 100 }), 0.5)
  close(t, computeTokenProbability({ spam: 8, ham: 0 }, { spam: 400, ham: 100 }), 2.225 / 2.45)

  // Tables of chi-square: 5 % at 5.991 for 2 degrees, at 9.488 for 4; e^-m (1 + m) by hand.
  t.ok(Math.abs(chiSquareTail(5.991, 2) - 0.05) < 1e-4)
  t.ok(Math.abs(chiSquareTail(9.488, 4) - 0.05) < 1e-4)
  close(t, chiSquareTail(6, 4), 4 * Math.exp(-3))
  close(t, chiSquareTail(0, 8), 1)
  t.ok(chiSquareTail(3000, 300) < 1e-100)
  t.ok(chiSquareTail(1600, 1600) > 0.4, 'also where e^-m is nothing')

  close(t, combineProbabilities([]), 0.5)
  // One token: its tails are 1 - f and f themselves.
  close(t, combineProbabilities([0.9]), 0.9)
  close(t, combineProbabilities([0.9, 0.1]), 0.5)
  const both = (product: number): number => product * (1 - Math.log(product))
  close(t, combineProbabilities([0.9, 0.8]), (1 + (1 - both(0.1 * 0.2)) - (1 - both(0.9 * 0.8))) / 2)
})

const probability = fc.double({ min: 0.001, max: 0.999, noNaN: true })

t.test('more spam never makes a token or a message less spammy, and both classes are symmetric', async () => {
  const totals = fc.record({ spam: fc.integer({ min: 50, max: 5000 }), ham: fc.integer({ min: 50, max: 5000 }) })
  const count = fc.record({ spam: fc.nat(49), ham: fc.nat(49) })
  fc.assert(
    fc.property(totals, count, (messages, { spam, ham }) => {
      const now = computeTokenProbability({ spam, ham }, messages)
      const turned = { spam: messages.ham, ham: messages.spam }
      return (
        computeTokenProbability({ spam: spam + 1, ham }, messages) > now &&
        computeTokenProbability({ spam, ham: ham + 1 }, messages) < now &&
        Math.abs(computeTokenProbability({ spam: ham, ham: spam }, turned) + now - 1) < 1e-12
      )
    }),
  )
  fc.assert(
    fc.property(fc.array(probability, { minLength: 1, maxLength: 150 }), probability, (all, more) => {
      const [first = 0, ...rest] = all
      const now = combineProbabilities(all)
      const turned = combineProbabilities(all.map((one) => 1 - one))
      const raised = combineProbabilities([Math.max(first, more), ...rest])
      return now >= 0 && now <= 1 && Math.abs(now + turned - 1) < 1e-9 && raised >= now - 1e-9
    }),
  )
})

function scoreOf(counts: readonly TokenCount[], messages: TokenCount): number {
  const probabilities = counts.map((count) => computeDecisiveProbability(count, messages))
  return computeSpamProbability(probabilities.filter((probability) => probability !== null))
}

t.test('there is no verdict before 50 messages of each class', async (t) => {
  t.equal(hasLearnedEnough({ spam: 49, ham: 900 }), false)
  t.equal(hasLearnedEnough({ spam: 900, ham: 49 }), false)
  t.equal(hasLearnedEnough({ spam: 50, ham: 50 }), true)
  t.ok(scoreOf([{ spam: 40, ham: 0 }], { spam: 50, ham: 50 }) > 0.9)
})

t.test('unknown tokens, and tokens of both classes, leave it unsure', async (t) => {
  const messages = { spam: 100, ham: 100 }
  t.equal(scoreOf([], messages), 0.5)
  t.equal(computeDecisiveProbability({ spam: 10, ham: 10 }, messages), null)
  t.equal(computeDecisiveProbability({ spam: 12, ham: 10 }, messages), null, 'nearly one half')
  const sides = Array.from({ length: 40 }, (_, n) => (n % 2 === 0 ? { spam: 20, ham: 0 } : { spam: 0, ham: 20 }))
  t.equal(buildBayesContribution(scoreOf(sides, messages)).name, 'BAYES_UNSURE')
})

t.test('of many tokens, the 150 that deviate most decide, and of equal ones the first', async () => {
  const messages = { spam: 100, ham: 100 }
  const counts = fc.array(fc.record({ spam: fc.nat(30), ham: fc.nat(30) }), { minLength: 100, maxLength: 600 })
  fc.assert(
    fc.property(counts, (all) => {
      const deviation = (probability: number): number => Math.abs(probability - 0.5)
      const strongest = all
        .map((count) => computeTokenProbability(count, messages))
        .filter((probability) => deviation(probability) >= 0.1)
        .sort((a, b) => deviation(b) - deviation(a))
        .slice(0, 150)
      return Math.abs(scoreOf(all, messages) - fisher(strongest)) < 1e-9
    }),
  )
})

/** Fisher's combination, term by term in logarithms. */
function fisher(probabilities: readonly number[]): number {
  const tail = (half: number): number => {
    let term = -half
    let sum = Math.exp(term)
    for (let i = 1; i < probabilities.length; i += 1) {
      term += Math.log(half / i)
      sum += Math.exp(term)
    }
    return half <= 0 ? 1 : Math.min(sum, 1)
  }
  const minusLog = (of: (probability: number) => number): number =>
    -probabilities.reduce((total, probability) => total + Math.log(of(probability)), 0)
  return (1 + tail(minusLog((probability) => probability)) - tail(minusLog((probability) => 1 - probability))) / 2
}

t.test('only certain spam is spam, likely spam is suspicious, ham subtracts points', async (t) => {
  const points: readonly (readonly [probability: number, name: string, score: number])[] = [
    [1, 'BAYES_SPAM_CERTAIN', 8],
    [0.9999, 'BAYES_SPAM_CERTAIN', 8],
    [0.99, 'BAYES_SPAM_LIKELY', 6],
    [0.9, 'BAYES_SPAM_RATHER', 5],
    [0.7, 'BAYES_SPAM_PERHAPS', 4],
    [0.69, 'BAYES_UNSURE', 0],
    [0.3, 'BAYES_UNSURE', 0],
    [0.29, 'BAYES_HAM_LIKELY', -1],
    [0.009, 'BAYES_HAM_CERTAIN', -3],
    [0, 'BAYES_HAM_CERTAIN', -3],
  ]
  for (const [probability, name, score] of points) t.match(buildBayesContribution(probability), { name, score })
  fc.assert(
    fc.property(probability, probability, (a, b) => {
      const score = (p: number): number => buildBayesContribution(p).score
      return score(Math.max(a, b)) >= score(Math.min(a, b))
    }),
  )
})
