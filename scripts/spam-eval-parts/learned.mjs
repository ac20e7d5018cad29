/**
 * The whole verdict on labelled mail: rules, and the classifier that has learned the other half.
 *
 *   scripts/spam-eval DIR LABELS.csv --learned [--rspamd URL] [--misses]
 *
 * Each half, by a hash of the path, is learned into a database of its own, by the code that learns
 * in the daemon, and the other one judged by the code that judges there; both ways round. Nothing
 * is known of client and authentication, whose DNS is gone: the mail is judged by its content.
 * Then times: of a message of 3 to 6 KB, all of it but the network, beside mailparser's parse of it.
 */
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { simpleParser } from 'mailparser'
import { pino } from 'pino'
import { MimeReader } from '../../dist/src/messages/mime-parts.js'
import { learnMessage, messageFingerprint } from '../../dist/src/receiving/spam/bayes-learn.js'
import { circumstancesOf } from '../../dist/src/receiving/spam/received-spam-message.js'
import { rspamd } from '../../dist/src/receiving/spam/rspamd.js'
import { spamMessage } from '../../dist/src/receiving/spam/spam-input.js'
import { defaultSpamThresholds } from '../../dist/src/receiving/spam/spam-report.js'
import { study } from '../../dist/src/receiving/spam/spam-study.js'
import { spamVerdict } from '../../dist/src/receiving/spam/spam-verdict.js'
import { openDatabase } from '../../dist/src/storage/open.js'

const lean = { skipHtmlToText: true, skipTextToHtml: true, skipImageLinks: true, skipTextLinks: true }
const nothingKnown = { receivedAt: null, origin: null, authentication: null }
const percent = (part, all) => (all === 0 ? '-' : `${((100 * part) / all).toFixed(2)} %`)

export async function evaluateLearned({ dir, rows, rspamdUrl, misses }) {
  const messages = await takenApart(dir, rows)
  const ask =
    rspamdUrl === undefined
      ? null
      : rspamd({ url: rspamdUrl, clock: Date.now, log: pino({ level: 'warn' }, pino.destination(2)) })
  const all = []
  for (const judged of [0, 1]) {
    const folder = mkdtempSync(join(tmpdir(), 'posthorn-eval-'))
    const database = await openDatabase({ file: join(folder, 'eval.db') })
    try {
      const judge = spamVerdict({ read: database.read, thresholds: defaultSpamThresholds, rspamd: ask })
      await learn(
        database,
        messages.filter(({ half }) => half !== judged),
      )
      const results = await judgeAll(
        judge,
        messages.filter(({ half }) => half === judged),
      )
      print(`half ${judged}, judged by what was learned of the other`, results)
      all.push(...results)
      if (judged === 1) await times(judge, results)
    } finally {
      await database.close()
      rmSync(folder, { recursive: true })
    }
  }
  print('both halves', all)
  curve(all)
  if (misses) tellMisses(all)
}

async function takenApart(dir, rows) {
  const reader = new MimeReader()
  const messages = []
  for (const [path, label] of rows) {
    const raw = readFileSync(join(dir, path))
    const result = await reader.read('eval', () => raw)
    if (result.kind !== 'parts') console.error(`${path}: ${result.message}`)
    else
      messages.push({ path, label, raw, parts: result.parts, half: createHash('sha256').update(path).digest()[0] % 2 })
  }
  await reader.close()
  return messages
}

async function learn(database, messages) {
  const lessons = messages.map(({ raw, parts, label }) => ({
    workspaceId: 'ws_1',
    fingerprint: messageFingerprint(raw),
    verdict: label,
    message: spamMessage(raw, parts, nothingKnown),
    at: Date.now(),
  }))
  await Promise.all(lessons.map((lesson) => learnMessage(database, lesson)))
  for (const kind of ['spam', 'ham'])
    console.log(`learned ${messages.filter(({ label }) => label === kind).length} ${kind}`)
}

/** As it is stored, but of a client of which nothing speaks for or against it. */
function judgedBy(judge, record, { raw, parts }) {
  return judge(record, raw, study(raw, parts, circumstancesOf(record)))
}

function recordOf({ path, raw, parts }) {
  const { receivedAt, from } = spamMessage(raw, parts, nothingKnown)
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
    results.push({ ...message, score: spam_score / 100, status: spam_status, report: JSON.parse(spam_report) })
  }
  return results
}

function print(title, results) {
  console.log(`\n${title}\n       clean  suspicious  spam`)
  for (const label of ['ham', 'spam']) {
    const all = results.filter((one) => one.label === label)
    const [clean, suspicious, spam] = ['clean', 'suspicious', 'spam'].map(
      (status) => all.filter((one) => one.status === status).length,
    )
    const shares = `${percent(suspicious + spam, all.length)} suspicious or spam, ${percent(spam, all.length)} spam`
    console.log(
      `${label.padEnd(5)}${[clean, suspicious, spam].map((count, at) => String(count).padStart([7, 12, 6][at])).join('')}   ${shares}`,
    )
  }
}

function curve(results) {
  console.log('\nscore  spam caught  ham flagged')
  for (let threshold = 1; threshold <= 15; threshold += 1) {
    const reach = (label) => {
      const all = results.filter((one) => one.label === label)
      return percent(all.filter(({ score }) => score >= threshold).length, all.length)
    }
    console.log(`${String(threshold).padStart(5)}${reach('spam').padStart(13)}${reach('ham').padStart(13)}`)
  }
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
  const at = (list, share) => list.toSorted((a, b) => a - b)[Math.floor((list.length - 1) * share)].toFixed(2)
  console.log(`\nms a message of 3 to 6 KB (${small.length} of them): median, 99 of 100, most`)
  for (const [name, list] of Object.entries(took)) {
    console.log(`  ${name.padEnd(8)}${[0.5, 0.99, 1].map((share) => at(list, share).padStart(8)).join('')}`)
  }
}

function tellMisses(results) {
  const wrong = results.filter(({ label, status }) => (label === 'ham' ? status !== 'clean' : status === 'clean'))
  for (const { path, label, score, report } of wrong.toSorted((a, b) => b.score - a.score)) {
    console.log(`\n${label} ${score} ${path}\n  ${report.map((found) => `${found.name} ${found.score}`).join(', ')}`)
  }
}
