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
import { performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { scanHeaderOrEmpty } from '../../dist/src/base/mail/header-fields.js'
import { buildSpamMessage } from '../../dist/src/inbound/spam/facts/spam-input.js'
import { spamRules } from '../../dist/src/inbound/spam/rules/all-rules.js'
import { scoreByRules, spamStatusOf } from '../../dist/src/inbound/spam/rules/spam-report.js'
import { halfOf, labelledRows, originOf, readLabelled } from './labels.mjs'
import { evaluateLearned } from './learned.mjs'
import { printCurve, printFound, printMisses, printTimes, printVerdicts } from './report.mjs'

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

const messages = await readLabelled(dir, rows)
const scored = messages.map((row) => {
  const { path, label, raw, parts } = row
  const began = performance.now()
  const origin = values.client ? originOf(row) : null
  const message = buildSpamMessage(
    { raw, header: scanHeaderOrEmpty(raw), parts },
    { receivedAt: null, origin, authentication: null },
  )
  const { score, contributions: found } = scoreByRules(message)
  const took = performance.now() - began
  return { path, label, size: raw.length, score, found, status: spamStatusOf(score), took }
})
printVerdicts(`messages ${scored.length} (unreadable ${rows.length - scored.length})`, scored)
printCurve(scored)
// The first ones include compilation.
const warm = scored.slice(200)
const timesOf = (some) => some.map(({ took }) => took)
printTimes({ all: timesOf(warm), '3 to 6 KB': timesOf(warm.filter(({ size }) => size > 3_000 && size < 6_000)) })
if (values.rules)
  printFound(
    scored,
    spamRules.map(({ name, weight }) => [name, `(weight ${weight})`]),
  )
if (values.misses) printMisses(scored)
