/**
 * Scores labelled mail by the rules, content alone: no client, no authentication.
 *
 *   scripts/spam-eval DIR LABELS.csv [--half even|odd] [--rules] [--misses]
 *   scripts/spam-eval DIR LABELS.csv --learned [--rspamd URL] [--misses]     see learned.mjs
 *
 * LABELS.csv has the columns path,label,client_ip,helo,mail_from; a label is `ham` or `spam`.
 * `--half` takes every second file (by hash of its path), so that one half can be tuned on and
 * the other reported. `--rules` prints what each rule found, `--misses` the spam that passed
 * for clean and the ham that was flagged. Messages are taken apart as the daemon does it.
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { MimeReader } from '../../dist/src/messages/mime-parts.js'
import { spamRules } from '../../dist/src/receiving/spam/rules/all-rules.js'
import { spamMessage } from '../../dist/src/receiving/spam/spam-input.js'
import { spamReport, spamStatus } from '../../dist/src/receiving/spam/spam-report.js'
import { evaluateLearned } from './learned.mjs'

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    half: { type: 'string' },
    rules: { type: 'boolean', default: false },
    misses: { type: 'boolean', default: false },
    learned: { type: 'boolean', default: false },
    rspamd: { type: 'string' },
  },
})
const [dir, labels] = positionals
if (dir === undefined || labels === undefined) {
  console.error('usage: scripts/spam-eval DIR LABELS.csv [--half even|odd] [--rules] [--misses]')
  process.exit(2)
}

function halfOf(path) {
  return createHash('sha256').update(path).digest()[0] % 2 === 0 ? 'even' : 'odd'
}

const rows = readFileSync(labels, 'utf8')
  .trim()
  .split(/\r?\n/)
  .slice(1)
  .map((line) => line.split(','))
  .filter(([path]) => values.half === undefined || halfOf(path) === values.half)

if (values.learned) {
  await evaluateLearned({ dir, rows, rspamdUrl: values.rspamd, misses: values.misses })
  process.exit(0)
}

const reader = new MimeReader()
const scored = []
let unreadable = 0
for (const [path, label] of rows) {
  const raw = readFileSync(join(dir, path))
  const result = await reader.read('eval', () => raw)
  if (result.kind !== 'parts') {
    unreadable += 1
    console.error(`${path}: ${result.message}`)
    continue
  }
  const began = performance.now()
  const message = spamMessage(raw, result.parts, { receivedAt: null, origin: null, authentication: null })
  const { score, contributions } = spamReport(message)
  const took = performance.now() - began
  scored.push({ path, label, size: raw.length, score, contributions, status: spamStatus(score), took })
}
await reader.close()

const of = (label) => scored.filter((one) => one.label === label)
const percent = (part, all) => (all === 0 ? '-' : `${((100 * part) / all).toFixed(2)} %`)
const [ham, spam] = [of('ham'), of('spam')]

console.log(`messages  ${scored.length} (ham ${ham.length}, spam ${spam.length}, unreadable ${unreadable})\n`)
console.log('       clean  suspicious  spam')
for (const [label, all] of Object.entries({ ham, spam })) {
  const cells = ['clean', 'suspicious', 'spam'].map((status) => all.filter((one) => one.status === status).length)
  console.log(
    `${label.padEnd(5)}${String(cells[0]).padStart(7)}${String(cells[1]).padStart(12)}${String(cells[2]).padStart(6)}`,
  )
}
console.log('\nscore  spam caught  ham flagged')
for (let threshold = 1; threshold <= 15; threshold += 1) {
  const reach = (all) => percent(all.filter((one) => one.score >= threshold).length, all.length)
  console.log(`${String(threshold).padStart(5)}${reach(spam).padStart(13)}${reach(ham).padStart(13)}`)
}

function quantile(list, share) {
  const sorted = list.map((one) => one.took).sort((a, b) => a - b)
  return (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0).toFixed(2)
}
// The first ones pay for the compiler.
const warm = scored.slice(200)
const small = warm.filter(({ size }) => size > 3_000 && size < 6_000)
console.log(`\nms a message   median ${quantile(warm, 0.5)}, 99 % ${quantile(warm, 0.99)}, most ${quantile(warm, 1)}`)
console.log(`ms at 3 to 6 KB median ${quantile(small, 0.5)}, 99 % ${quantile(small, 0.99)}, most ${quantile(small, 1)}`)

if (values.rules) {
  console.log('\n  spam   ham  weight  rule')
  for (const { name, weight } of spamRules) {
    const hits = (all) => String(all.filter((one) => one.contributions.some((found) => found.name === name)).length)
    console.log(`${hits(spam).padStart(6)}${hits(ham).padStart(6)}${String(weight).padStart(8)}  ${name}`)
  }
}
if (values.misses) {
  const missed = scored.filter(({ label, status }) => (label === 'ham' ? status !== 'clean' : status === 'clean'))
  for (const { path, label, score, contributions } of missed.sort((a, b) => b.score - a.score)) {
    console.log(
      `\n${label} ${score} ${path}\n  ${contributions.map((found) => `${found.name} ${found.score}`).join(', ')}`,
    )
  }
}
