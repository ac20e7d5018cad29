/**
 * The complete verdict on labelled mail: rules, and a classifier that has learned the other half.
 *
 *   scripts/spam-eval DIR LABELS.csv --learned [--aged] [--taught DIR2 LABELS2.csv] [--rspamd URL] [--misses]
 *
 * Each half, by a hash of the path, is learned into a database of its own, by the code that learns
 * in the daemon, and the other one is scored by the daemon's code, both ways. With `--taught`
 * all of another folder is learned instead, and every message judged.
 *
 * Learned mail counts as recent, whatever its dates; with `--aged`, as old, so
 * that the limits of the classifier apply (classifier-limits.ts). Nothing
 * is known of client and authentication, because the DNS records are gone: only content counts.
 * Then times: of a message of 3 to 6 KB, all of it but the network, beside mailparser's parse of it.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { simpleParser } from 'mailparser'
import { pino } from 'pino'
import { scanHeaderOrEmpty } from '../../dist/src/base/mail/header-fields.js'
import { openDatabase } from '../../dist/src/base/storage/open.js'
import { learnMessage } from '../../dist/src/inbound/spam/bayes/learn.js'
import { LearnedCounts } from '../../dist/src/inbound/spam/bayes/learned-counts.js'
import { messageFingerprintOf } from '../../dist/src/inbound/spam/bayes/lesson-digest.js'
import { tokenizeMessage } from '../../dist/src/inbound/spam/bayes/tokens.js'
import { analyzeContent } from '../../dist/src/inbound/spam/content-analysis.js'
import { buildSpamMessage } from '../../dist/src/inbound/spam/facts/spam-input.js'
import { spamContextOf } from '../../dist/src/inbound/spam/received-spam-message.js'
import { RspamdClient } from '../../dist/src/inbound/spam/rspamd/rspamd.js'
import { defaultSpamThresholds } from '../../dist/src/inbound/spam/rules/spam-report.js'
import { SpamJudge } from '../../dist/src/inbound/spam/spam-judge.js'
import { kindsOf, readLabelled } from './labels.mjs'
import { printCurve, printMisses, printTimes, printVerdicts } from './report.mjs'

const lean = { skipHtmlToText: true, skipTextToHtml: true, skipImageLinks: true, skipTextLinks: true }
const nothingKnown = { receivedAt: null, origin: null, authentication: null }

export async function evaluateLearned({ dir, rows, taught, aged, rspamdUrl, misses }) {
  const messages = await readLabelled(dir, rows)
  const ask =
    rspamdUrl === undefined
      ? null
      : new RspamdClient({ url: rspamdUrl, clock: Date.now, log: pino({ level: 'warn' }, pino.destination(2)) })
  const half = (number) => messages.filter((message) => message.half === number)
  const lessons =
    taught === null
      ? [
          { title: 'even half', learned: half('odd'), judged: half('even') },
          { title: 'odd half', learned: half('even'), judged: half('odd') },
        ]
      : [{ title: 'all', learned: await readLabelled(taught.dir, taught.rows), judged: messages }]
  const all = []
  for (const { title, learned, judged } of lessons) {
    const last = judged === lessons.at(-1)?.judged
    const results = await judgedAfter({ learned, judged, ask, aged, timed: last })
    printVerdicts(title, results)
    all.push(...results)
  }
  if (lessons.length > 1) printVerdicts('both halves', all)
  printCurve(all)
  if (misses) printMisses(all)
}

async function judgedAfter({ learned, judged, ask, aged, timed }) {
  const folder = mkdtempSync(join(tmpdir(), 'posthorn-eval-'))
  const database = await openDatabase({ file: join(folder, 'eval.db') })
  try {
    const { suspicious, spam } = defaultSpamThresholds
    const judge = new SpamJudge({
      learned: new LearnedCounts(database.read, Date.now),
      settings: () => ({ suspicious_score: suspicious, spam_score: spam }),
      rspamd: { client: ask },
    })
    await learn(database, learned, aged)
    const results = await judgeAll(judge, judged)
    if (timed) await times(judge, results)
    return results
  } finally {
    await database.close()
    rmSync(folder, { recursive: true })
  }
}

const parsed = (raw, parts) => ({ raw, header: scanHeaderOrEmpty(raw), parts })

async function learn(database, messages, aged) {
  const now = Date.now()
  const lessons = messages.map(({ raw, parts, label }) => ({
    workspaceId: 'ws_1',
    fingerprint: messageFingerprintOf(raw),
    verdict: label === 'ham' ? 'ham' : 'spam',
    tokens: tokenizeMessage(buildSpamMessage(parsed(raw, parts), nothingKnown)),
    dated: aged ? 0 : now,
    at: now,
  }))
  await Promise.all(lessons.map((lesson) => learnMessage(database, lesson)))
  for (const [label, some] of kindsOf(messages)) console.log(`learned ${some.length} ${label}`)
}

/** As stored, with a client that adds nothing to the score. */
function judgedBy(judge, record, { raw, parts }) {
  return judge.judge(record, raw, analyzeContent(parsed(raw, parts), spamContextOf(record)))
}

function recordOf({ path, raw, parts }) {
  const { receivedAt, from } = buildSpamMessage(parsed(raw, parts), nothingKnown)
  return {
    id: path,
    workspace_id: 'ws_1',
    client_address: '192.0.2.1',
    helo: 'mail.example',
    envelope_from: from[0]?.address ?? '',
    envelope_to: '[]',
    authentication: '{}',
    arrival: '{}',
    received_at: receivedAt,
  }
}

async function judgeAll(judge, messages) {
  const results = []
  for (const message of messages) {
    const { spam_score, spam_status, spam_report } = await judgedBy(judge, recordOf(message), message)
    results.push({ ...message, score: spam_score / 100, status: spam_status, found: JSON.parse(spam_report) })
  }
  return results
}

/** Twice over the same messages, so that compiled code is measured; what it is compared with too. */
async function times(judge, results) {
  const small = results.filter(({ raw }) => raw.length > 3_000 && raw.length < 6_000)
  const took = { verdict: [], parse: [] }
  for (let round = 0; round < 3; round += 1) {
    for (const message of small) {
      const record = recordOf(message)
      const began = performance.now()
      await judgedBy(judge, record, message)
      const judged = performance.now()
      await simpleParser(message.raw, lean)
      if (round === 0) continue
      took.verdict.push(judged - began)
      took.parse.push(performance.now() - judged)
    }
  }
  console.log(`\nof ${small.length} messages of 3 to 6 KB:`)
  printTimes(took)
}
