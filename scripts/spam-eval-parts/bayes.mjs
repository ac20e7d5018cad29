/**
 * How well the classifier separates spam from ham in mail that it has not learned.
 *
 *   scripts/bayes-eval DIR LABELS.csv [--misses]
 *
 * LABELS.csv is that of scripts/spam-eval. Each half of the messages, by a hash of the path, is learned and the other one
 * scored, both ways. Prints the results by the points of the classifier alone (suspicious from 4, spam from 8), and the time
 * of a message.
 *
 * No tokens are tuned on these messages beyond the choices named in docs/performance.md.
 */
import { performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { scanHeaderOrEmpty } from '../../dist/src/base/mail/header-fields.js'
import { buildBayesContribution } from '../../dist/src/inbound/spam/bayes/points.js'
import { computeSpamProbability } from '../../dist/src/inbound/spam/bayes/score.js'
import { tokenizeMessage } from '../../dist/src/inbound/spam/bayes/tokens.js'
import { buildSpamMessage } from '../../dist/src/inbound/spam/facts/spam-input.js'
import { labelledRows, readLabelled } from './labels.mjs'
import { printFound, printMisses, printTimes, printVerdicts } from './report.mjs'

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { misses: { type: 'boolean', default: false } },
})
const [dir, labels] = positionals
if (dir === undefined || labels === undefined) {
  console.error('usage: scripts/bayes-eval DIR LABELS.csv [--misses]')
  process.exit(2)
}

const took = { tokens: [], judging: [] }

function timed(list, work) {
  const began = performance.now()
  const result = work()
  list.push(performance.now() - began)
  return result
}

function learn(messages) {
  const counts = { messages: { spam: 0, ham: 0 }, tokens: new Map() }
  for (const { label, tokens } of messages) {
    const verdict = label === 'ham' ? 'ham' : 'spam'
    counts.messages[verdict] += 1
    for (const token of tokens) {
      const count = counts.tokens.get(token) ?? { spam: 0, ham: 0 }
      count[verdict] += 1
      counts.tokens.set(token, count)
    }
  }
  return counts
}

function judge({ path, label, tokens }, counts) {
  const probability = timed(took.judging, () => computeSpamProbability(tokens, counts))
  const { name, score } = probability === null ? { name: 'none', score: 0 } : buildBayesContribution(probability)
  const status = score >= 8 ? 'spam' : score >= 4 ? 'suspicious' : 'clean'
  return { path, label, score, status, found: [{ name, score }] }
}

const unknown = { receivedAt: null, origin: null, authentication: null }
const messages = (await readLabelled(dir, labelledRows(labels))).map(({ path, label, half, raw, parts }) => {
  const message = buildSpamMessage({ raw, header: scanHeaderOrEmpty(raw), parts }, unknown)
  return { path, label, half, tokens: timed(took.tokens, () => tokenizeMessage(message)) }
})
for (const half of ['even', 'odd']) {
  const counts = learn(messages.filter((message) => message.half !== half))
  const results = messages.filter((message) => message.half === half).map((message) => judge(message, counts))
  const { spam, ham } = counts.messages
  printVerdicts(`half ${half}; learned ${spam} spam and ${ham} ham, ${counts.tokens.size} tokens`, results)
  const names = new Set(results.map(({ found }) => found[0].name))
  printFound(
    results,
    [...names].sort().map((name) => [name, '']),
  )
  if (values.misses) printMisses(results)
}
const lengths = messages.map(({ tokens }) => tokens.length).sort((a, b) => a - b)
console.log(`\ntokens: median ${lengths[lengths.length >> 1]}, most ${lengths.at(-1)}`)
printTimes(took)
