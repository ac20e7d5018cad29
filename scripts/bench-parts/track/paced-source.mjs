// Submits messages at a fixed rate over kept SMTP sessions: PORT RATE SECONDS. Prints how many were accepted.
//
// Those who submit mail run on other machines. Here they would take turns of the processor from the server whose answers
// are measured, so this program has a lower priority than the server; that it keeps its rate is printed.
import { getPriority, setPriority } from 'node:os'
import { performance } from 'node:perf_hooks'
import { openSession } from '../smtp-session.mjs'

const [port, rate, seconds] = process.argv.slice(2).map(Number)
const SESSIONS = 10
const LOWER_BY = 5
const content = `${'X'.repeat(78)}\r\n`.repeat(50)
const message = Buffer.from(
  `From: <app@bench.test>\r\nTo: <someone@sink.test>\r\nSubject: a message\r\n\r\n${content}.\r\n`,
)

setPriority(Math.min(19, getPriority() + LOWER_BY))
let accepted = 0
let started = 0
const free = []
const onFree = (session, hasSent) => {
  if (hasSent) accepted += 1
  free.push(session)
}
const submission = { host: '127.0.0.1', port, from: 'app@bench.test', to: 'someone@sink.test', message }
for (let session = 0; session < SESSIONS; session += 1) openSession({ ...submission, onFree, onError: failed })

const before = process.cpuUsage()
const begun = performance.now()
const timer = setInterval(() => {
  const elapsed = (performance.now() - begun) / 1000
  const due = Math.floor(Math.min(elapsed, seconds) * rate)
  for (; started < due && free.length > 0; started += 1) free.pop().send()
  if (elapsed < seconds + 1) return
  clearInterval(timer)
  const { user, system } = process.cpuUsage(before)
  process.stdout.write(JSON.stringify({ accepted, cpu: (user + system) / 1e6 }), () => process.exit(0))
}, 2)

function failed(error) {
  process.stderr.write(`paced-source: ${error.message}\n`)
  process.exit(1)
}
