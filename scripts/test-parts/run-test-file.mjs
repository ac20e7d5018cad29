/** Runs one test file and reads the TAP that it prints. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Parser } from 'tap-parser'

/** Milliseconds. A file that takes longer is killed, and has failed. */
const LIMIT = 240_000

const testProcess = fileURLToPath(new URL('test-process.mjs', import.meta.url))

/**
 * `environment`: variables beside those of this process. Resolves to `{ file, seconds, pass, fail, skip, failures, skips }`: assertions that are no summaries of
 * others. A file that breaks off, or that asserts nothing, has one failure more.
 */
export async function runTestFile(root, file, environment) {
  const begun = performance.now()
  const outcome = { file, seconds: 0, pass: 0, fail: 0, skip: 0, failures: [], skips: [] }
  const child = spawn(process.execPath, [testProcess, join(root, file)], {
    env: { ...process.env, ...environment, TAP: '1', TAP_TIMEOUT: String(LIMIT / 1000) },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const parser = new Parser()
  countAssertions(parser, outcome)
  child.stdout.pipe(parser)
  const timer = setTimeout(() => end(child, parser), LIMIT)
  const read = once(parser, 'complete')
  const [status, signal] = await once(child, 'close')
  clearTimeout(timer)
  const [results] = await read
  outcome.seconds = (performance.now() - begun) / 1000
  if (outcome.fail === 0) noteBreak(outcome, { status, signal, results })
  return outcome
}

/** Children of the test file may outlive it and hold its standard output open: reading ends. */
function end(child, parser) {
  child.kill('SIGKILL')
  child.stdout.unpipe(parser)
  child.stdout.destroy()
  parser.end()
}

/** A test point that follows a subtest is its summary. */
function countAssertions(parser, outcome) {
  let ofSubtest = false
  parser.on('child', (child) => {
    ofSubtest = true
    countAssertions(child, outcome)
  })
  parser.on('assert', (assertion) => {
    const isSummary = ofSubtest
    ofSubtest = false
    const leftOut = assertion.skip !== false || assertion.todo !== false
    if (isSummary && !leftOut) return
    if (leftOut) {
      outcome.skip += 1
      outcome.skips.push({ name: assertion.name, why: assertion.skip || assertion.todo })
    } else if (assertion.ok) outcome.pass += 1
    else {
      outcome.fail += 1
      outcome.failures.push({ name: assertion.fullname, details: assertion.diag })
    }
  })
}

function noteBreak(outcome, { status, signal, results }) {
  const why = breakOf(outcome, { status, signal, results })
  if (why === null) return
  outcome.fail += 1
  outcome.failures.push({ name: why, details: results.failures })
}

function breakOf({ pass, skip }, { status, signal, results }) {
  if (signal !== null) return `it was ended by ${signal}, after ${LIMIT / 1000} s at the latest`
  if (status !== 0) return `it ended with status ${status}`
  if (!results.ok) return 'its TAP is not well formed or its plan was not kept'
  return pass + skip === 0 ? 'it asserted nothing' : null
}
