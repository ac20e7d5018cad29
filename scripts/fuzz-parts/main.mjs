/**
 * Fuzzes each target for some seconds, in a thread of its own, and keeps what it finds as cases.
 *
 * A finding is written to test/fixtures/fuzz/TARGET/, where test/fuzz.test.ts runs it from then on. Exits 1 if there is
 * one. The seed is printed; the same seed and time give much the same inputs. --report writes the figures into
 * docs/fuzzing.md.
 */
import { parseArgs } from 'node:util'
import { loadTargets } from '../../dist/test/helpers/fuzz/targets/all-targets.js'
import { saveFinding } from './findings.mjs'
import { fuzzTarget } from './fuzz-target.mjs'
import { writeReport } from './report.mjs'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string' },
    jobs: { type: 'string', default: '1' },
    report: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
  },
})
const known = await loadTargets()
const targets = known.filter(({ target }) => positionals.length === 0 || positionals.includes(target.name))
if (values.list) {
  for (const { target } of targets) console.log(`${target.name}: ${target.checks}`)
  process.exit(0)
}
const [seconds, jobs] = [Number(values.seconds), Number(values.jobs)]
const seed = values.seed === undefined ? Date.now() % 4_294_967_296 : Number(values.seed)
const unknown = positionals.filter((name) => !known.some(({ target }) => target.name === name))
if (unknown.length > 0 || !(seconds > 0) || !(jobs >= 1) || !Number.isInteger(seed)) {
  console.error('fuzz: no such target, or a wrong number; --list names the targets')
  process.exit(2)
}

console.log(`${targets.length} targets, ${seconds} s each, seed ${seed}\n`)
let found = 0

function onFinding(target, finding) {
  const file = saveFinding(target.name, finding)
  found += 1
  console.log(`FOUND ${target.name}: ${finding.kind}, ${finding.input.length} octets, ${file ?? 'no input'}`)
  console.log(`${finding.detail}\n`)
}

async function work() {
  for (let next = targets.shift(); next !== undefined; next = targets.shift()) {
    const { target } = next
    const result = await fuzzTarget(next, { seconds, seed, onFinding: (finding) => onFinding(target, finding) })
    const row = { target, ...result }
    if (values.report) writeReport(row, { seconds, order: known.map(({ target: { name } }) => name) })
    const pace = Math.round(result.inputs / result.seconds)
    console.log(
      `${target.name}: ${result.inputs} inputs, ${pace} a second; ${result.kept} kept, ${result.blocks} blocks; ${result.findings} found`,
    )
  }
}

await Promise.all(Array.from({ length: jobs }, work))
console.log(found === 0 ? '\nnothing found' : `\n${found} found`)
process.exit(found === 0 ? 0 : 1)
