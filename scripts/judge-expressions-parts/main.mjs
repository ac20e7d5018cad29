/**
 * Updates test/fixtures/judged-expressions.json: how the time of each regular expression of src/ grows,
 * for those that take the test long or that are not linear.
 *
 *   scripts/judge-expressions [--all]
 *
 * Entries of the record stay, unless --all is given or recheck has another version. All of them take some
 * minutes. Prints the expressions that are not linear: each needs a bound in test/fixtures/bounded-expressions.ts.
 */
import { existsSync, writeFileSync } from 'node:fs'
import { check } from 'recheck'
import { expressionsBelow } from '../../dist/test/helpers/code/expressions.js'
import { readRecord, recheckVersion, recordFile } from '../../dist/test/helpers/code/judge-expression.js'

/** Milliseconds: expressions judged faster are judged again by each run of the test. */
const soon = 30
const patience = 5000

const growthOf = ({ status, complexity }) => {
  if (status !== 'vulnerable') return status === 'safe' ? 'linear' : 'unknown'
  return complexity.type === 'exponential' ? 'exponential' : 'polynomial'
}

const version = recheckVersion()
const kept = existsSync(recordFile) && !process.argv.includes('--all') ? readRecord() : { version, growth: {} }
const known = kept.version === version ? kept.growth : {}
const literals = new Set(
  expressionsBelow('src')
    .map(({ literal }) => literal)
    .filter((literal) => literal !== null),
)
const growth = {}
for (const literal of [...literals].sort()) {
  if (known[literal] !== undefined) {
    growth[literal] = known[literal]
    continue
  }
  const end = literal.lastIndexOf('/')
  const began = performance.now()
  const found = growthOf(await check(literal.slice(1, end), literal.slice(end + 1), { timeout: patience }))
  if (found !== 'linear') console.log(`${found.padEnd(12)}${literal}`)
  if (found !== 'linear' || performance.now() - began > soon) growth[literal] = found
}
writeFileSync(recordFile, `${JSON.stringify({ version, growth }, null, 2)}\n`)
console.log(`${literals.size} expressions, ${Object.keys(growth).length} in the record`)
process.exit(0)
