/**
 * Fuzzes each target for some seconds, in a thread of its own, and keeps what it finds as cases.
 *
 * A finding is written to test/fixtures/fuzz/TARGET/, where test/fuzz.test.ts runs it from then on. Exits 1 if there is
 * one. The seed is printed; the same seed and time give much the same inputs. --report writes the figures into
 * docs/fuzzing.md.
 */
import { parseArgs } from 'node:util'
import { findTargets } from '../../dist/test/helpers/fuzz/targets/all-targets.js'
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
const targets = [...findTargets(positionals)]
if (values.list) {
  for (const { name, checks } of targets) console.log(`${name}: ${checks}`)
  process.exit(0)
}
const [seconds, jobs] = [Number(values.seconds), Number(values.jobs)]
const seed = values.seed === undefined ? Date.now() % 4_294_967_296 : Number(values.seed)
if (targets.length === 0 || !(seconds > 0) || !(jobs >= 1) || !Number.isInteger(seed)) {
  console.error('fuzz: no such target, or a wrong number; --list names the targets')
  process.exit(2)
}

console.log(`${targets.length} targets, ${seconds} s each, seed ${seed}\n`)
const rows = []
let found = 0

function onFinding(target, finding) {
  const file = saveFinding(target.name, finding)
  found += 1
  console.log(`FOUND ${target.name}: ${finding.kind}, ${finding.input.length} octets, ${file ?? 'no input'}`)
  console.log(`${finding.detail}\n`)
}

async function work() {
  for (let target = targets.shift(); target !== undefined; target = targets.shift()) {
    const result = await fuzzTarget(target, { seconds, seed, onFinding: (finding) => onFinding(target, finding) })
    rows.push({ target, ...result })
    const pace = Math.round(result.inputs / result.seconds)
    console.log(
      `${target.name}: ${result.inputs} inputs, ${pace} a second; ${result.kept} kept, ${result.blocks} blocks; ${result.findings} found`,
    )
  }
}

await Promise.all(Array.from({ length: jobs }, work))
if (values.report) writeReport(rows, seconds)
console.log(found === 0 ? '\nnothing found' : `\n${found} found`)
process.exit(found === 0 ? 0 : 1)
