/**
 * Runs compiled test files and prints their results.
 *
 *   main.mjs [--quick] [PATH...]
 *
 * Without arguments all files. `--quick`: no journeys through the whole daemon and no peers. A path (`mail`, `journeys/queue`): the
 * files whose names begin with it, beside the quick ones where both are given.
 *
 * Each file is a process of its own that prints TAP (test-process.mjs). `tap run` would load its
 * hooks for coverage and mocks into every process, which costs about as long as a small file takes;
 * nothing here uses them. The last line is a comment with the counts, as tap's own is:
 * `# { total: 140, pass: 137, fail: 2, skip: 1 }`. Exit status: 0 all passed, 1 some failed.
 *
 * Files wait for true programs, timers and pages, and a machine that is busy with others beside them may let a limit pass.
 * So a file that failed runs again alone, and that outcome counts. One that passes then is printed as UNSTABLE with what
 * failed before: a fault of the test or a race of the program, to be mended in either case.
 */
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { describe, sumOf } from './report.mjs'
import { runTestFile } from './run-test-file.mjs'
import { openSharedBrowser } from './shared-browser.mjs'
import { createTemporaryFolder } from './temporary-folder.mjs'
import { findTestFiles } from './test-files.mjs'

const root = fileURLToPath(new URL('../../dist/test/', import.meta.url))
const { values, positionals } = parseArgs({
  options: { quick: { type: 'boolean', default: false } },
  allowPositionals: true,
})
const files = await findTestFiles(root, { quick: values.quick, paths: positionals })
// Files wait now and then, for a time limit or the disk: one more than there are processors fills that time.
const atOnce = Math.max(2, availableParallelism()) + 1
const browser = await openSharedBrowser(files)
const environment = { ...browser.environment, TMPDIR: createTemporaryFolder() }
const waiting = [...files]
const outcomes = []

async function work() {
  for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
    const outcome = await runTestFile(root, file, environment)
    outcomes.push(outcome)
    process.stdout.write(describe(outcome))
  }
}

/** The outcome that counts: of a second run alone, if the file failed beside others. */
async function settle(outcome) {
  if (outcome.fail === 0) return outcome
  process.stdout.write(`\n${describe(outcome)}`)
  const alone = await runTestFile(root, outcome.file, environment)
  process.stdout.write(
    alone.fail > 0 ? describe(alone) : `UNSTABLE ${outcome.file}: it failed beside others and passed alone\n`,
  )
  return alone
}

await Promise.all(Array.from({ length: atOnce }, work))
const settled = []
for (const outcome of outcomes) settled.push(await settle(outcome))
await browser.close()
const totals = sumOf(settled)
process.stdout.write(`# { total: ${totals.total}, pass: ${totals.pass}, fail: ${totals.fail}, skip: ${totals.skip} }\n`)
process.exitCode = totals.fail > 0 || totals.total === 0 ? 1 : 0
