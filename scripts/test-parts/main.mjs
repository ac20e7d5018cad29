/**
 * Runs compiled test files and prints their results.
 *
 *   main.mjs [--quick] [PATH...]
 *
 * Without arguments all files. `--quick`: no journeys through the whole daemon and no peers. A path (`mail`, `journeys/queue`): the
 * files whose names begin with it, beside the quick ones where both are given.
 *
 * Files run one after the other in processes that live for some forty of them (test-process.mjs): half of the time of a
 * small file is the start of its process and the modules that it loads. Those that take longest begin first. A file with a
 * comment `Runs alone: …` has a process of its own. The last line is a comment with the counts, as tap's own is:
 * `# { total: 140, pass: 137, fail: 2, skip: 1 }`. Exit status: 0 all passed, 1 some failed.
 *
 * Files wait for true programs, timers and pages, and a machine that is busy with others beside them may let a limit pass.
 * So a file that failed runs again alone, and that outcome counts. One that passes then is printed as UNSTABLE with what
 * failed before: a fault of the test or a race of the program, to be mended in either case.
 */
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { describe, describeCosts, sumOf } from './report.mjs'
import { TestProcess } from './run-test-file.mjs'
import { openSharedBrowser } from './shared-browser.mjs'
import { openSharedPostgres } from './shared-postgres.mjs'
import { createTemporaryFolder } from './temporary-folder.mjs'
import { findTestFiles, rememberTimes } from './test-files.mjs'

/** Files of one process. */
const MAX_FILES = 40

// Properties are tried with other values each day. More of them: `PROPERTY_RUNS=20000 scripts/fuzz properties`.
const properties = {
  PROPERTY_RUNS: process.env.PROPERTY_RUNS ?? '300',
  PROPERTY_SEED: process.env.PROPERTY_SEED ?? new Date().toISOString().slice(0, 10).replaceAll('-', ''),
}
if (process.env.POSTHORN_TEST_READS !== undefined) {
  properties.POSTHORN_TEST_READS = process.env.POSTHORN_TEST_READS
  properties.POSTHORN_TEST_SEED = process.env.POSTHORN_TEST_SEED ?? String(Date.now() % 1_000_000)
}
if (process.env.POSTHORN_TEST_STORAGE !== undefined) {
  properties.POSTHORN_TEST_STORAGE = process.env.POSTHORN_TEST_STORAGE
}
process.stdout.write(
  `${Object.entries(properties)
    .map((pair) => pair.join('='))
    .join(' ')}\n`,
)

const root = fileURLToPath(new URL('../../dist/test/', import.meta.url))
const { values, positionals } = parseArgs({
  options: { quick: { type: 'boolean', default: false } },
  allowPositionals: true,
})
const storage = properties.POSTHORN_TEST_STORAGE
const files = await findTestFiles(root, { quick: values.quick, paths: positionals, storage })
// Files wait now and then, for a time limit or the disk: one more than there are processors fills that time.
const atOnce = Math.max(2, availableParallelism()) + 1
const browser = await openSharedBrowser(files.map(({ file }) => file))
const folder = createTemporaryFolder()
const server = await openSharedPostgres(storage, folder)
const environment = { ...properties, ...browser.environment, ...server.environment, TMPDIR: folder }
const begun = performance.now()
const waiting = [...files]
const outcomes = []

async function work() {
  let shared = null
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    if (next.isAlone) {
      outcomes.push(await runAlone(next.file))
      continue
    }
    shared ??= new TestProcess(root, environment)
    const outcome = await shared.run(next.file)
    outcomes.push(outcome)
    process.stdout.write(describe(outcome))
    if (shared.isUsable && shared.files.length < MAX_FILES) continue
    await finish(shared, outcomes)
    shared = null
  }
  if (shared !== null) await finish(shared, outcomes)
}

async function runAlone(file) {
  const own = new TestProcess(root, environment)
  const outcome = await own.run(file)
  await finish(own, [outcome])
  process.stdout.write(describe(outcome))
  return outcome
}

/** A process that does not end well is a failure of its files, which run again alone. */
async function finish(shared, ran) {
  const why = await shared.end()
  if (why === null) return
  for (const outcome of ran) {
    if (!shared.files.includes(outcome.file) || outcome.fail > 0) continue
    outcome.fail = 1
    outcome.failures.push({ name: why, details: shared.files.join(' ') })
  }
}

/** The outcome that counts: of a second run alone, if the file failed beside others. */
async function settle(outcome) {
  if (outcome.fail === 0) return outcome
  process.stdout.write(`\n${describe(outcome)}`)
  const alone = await runAlone(outcome.file)
  if (alone.fail === 0) process.stdout.write(`UNSTABLE ${outcome.file}: it failed beside others and passed alone\n`)
  return alone
}

await Promise.all(Array.from({ length: atOnce }, work))
const settled = []
for (const outcome of outcomes) settled.push(await settle(outcome))
await Promise.all([browser.close(), server.close()])
rememberTimes(settled)
process.stdout.write(describeCosts(settled, (performance.now() - begun) / 1000))
const totals = sumOf(settled)
process.stdout.write(`# { total: ${totals.total}, pass: ${totals.pass}, fail: ${totals.fail}, skip: ${totals.skip} }\n`)
process.exitCode = totals.fail > 0 || totals.total === 0 ? 1 : 0
