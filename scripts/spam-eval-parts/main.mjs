/**
 * Scores labelled mail by the rules, content alone: no client, no authentication.
 *
 *   scripts/spam-eval DIR LABELS.csv [--half even|odd] [--client] [--rules] [--misses]
 *   scripts/spam-eval DIR LABELS.csv --learned [--aged] [--taught DIR2 LABELS2.csv] [--rspamd URL] [--misses]
 *                                                                                     see learned.mjs
 *
 * LABELS.csv has the columns path,label,client_ip,helo,mail_from; a label is `ham`, or what is to be
 * caught: `spam`, `phishing` or any other word, of which each has a line of its own.
 * `--client` lets rules know the client's address, its name and the envelope sender of these columns; results
 * of authentication there are none. `--half` takes every second file (by hash of its path), so that one half can be tuned on and
 * the other reported. `--rules` prints what each rule found, `--misses` the spam that passed
 * for clean and the ham that was flagged. Messages are parsed as by the daemon.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { scanHeaderOrEmpty } from '../../dist/src/base/mail/header-fields.js'
import { buildSpamMessage } from '../../dist/src/inbound/spam/facts/spam-input.js'
import { spamRules } from '../../dist/src/inbound/spam/rules/all-rules.js'
import { scoreByRules, spamStatusOf } from '../../dist/src/inbound/spam/rules/spam-report.js'
import { MimeReader } from '../../dist/src/records/messages/mime/mime-parts.js'
import { halfOf, kindsOf, labelledRows, originOf } from './labels.mjs'
import { evaluateLearned } from './learned.mjs'

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    half: { type: 'string' },
    client: { type: 'boolean', default: false },
    rules: { type: 'boolean', default: false },
    misses: { type: 'boolean', default: false },
    learned: { type: 'boolean', default: false },
    aged: { type: 'boolean', default: false },
    taught: { type: 'string' },
    rspamd: { type: 'string' },
  },
})
const [dir, labels, taughtLabels] = positionals
if (dir === undefined || labels === undefined || (values.taught !== undefined && taughtLabels === undefined)) {
  console.error('usage: scripts/spam-eval DIR LABELS.csv [--half even|odd] [--client] [--rules] [--misses]')
  console.error('       scripts/spam-eval DIR LABELS.csv --learned [--aged] [--taught DIR2 LABELS2.csv] [--rspamd URL]')
  process.exit(2)
}

const rows = labelledRows(labels).filter(({ path }) => values.half === undefined || halfOf(path) === values.half)

if (values.learned) {
  const taught = values.taught === undefined ? null : { dir: values.taught, rows: labelledRows(taughtLabels) }
  await evaluateLearned({ dir, rows, taught, aged: values.aged, rspamdUrl: values.rspamd, misses: values.misses })
  process.exit(0)
}

const reader = new MimeReader()
const scored = []
let unreadable = 0
for (const row of rows) {
  const { path, label } = row
  const raw = readFileSync(join(dir, path))
  const result = await reader.read('eval', () => raw)
  if (result.kind !== 'parts') {
    unreadable += 1
    console.error(`${path}: ${result.message}`)
    continue
  }
  const began = performance.now()
  const origin = values.client ? originOf(row) : null
  const message = buildSpamMessage(
    { raw, header: scanHeaderOrEmpty(raw), parts: result.parts },
    { receivedAt: null, origin, authentication: null },
  )
  const { score, contributions } = scoreByRules(message)
  const took = performance.now() - began
  scored.push({ path, label, size: raw.length, score, contributions, status: spamStatusOf(score), took })
}
await reader.close()

const percent = (part, all) => (all === 0 ? '-' : `${((100 * part) / all).toFixed(2)} %`)
const kinds = kindsOf(scored)
const ham = kinds.get('ham') ?? []
const spam = scored.filter(({ label }) => label !== 'ham')

console.log(`messages  ${scored.length} (ham ${ham.length}, spam ${spam.length}, unreadable ${unreadable})\n`)
console.log('             clean  suspicious  spam   caught')
for (const [label, all] of kinds) {
  const cells = ['clean', 'suspicious', 'spam'].map((status) => all.filter((one) => one.status === status).length)
  const shown = cells.map((count, at) => String(count).padStart([7, 12, 6][at])).join('')
  console.log(`${label.padEnd(11)}${shown}   ${percent(cells[1] + cells[2], all.length)}`)
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
// The first ones include compilation.
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
