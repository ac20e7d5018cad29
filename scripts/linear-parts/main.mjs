/**
 * Runs each parser of untrusted input on adversarial inputs of 1 KB to 1 MB and prints how its time grows: the input
 * that was slowest for its size, the time a byte of each size, and the exponent of the growth. Exits 1 if one grows
 * faster than with the power of 1.3.
 *
 * Time is that of the processor, of all threads of this process, the best of some runs. Sizes that take under two
 * milliseconds say nothing and are left out; an input that takes seconds is not doubled any more. For each input, 16 KB
 * and 128 KB are measured first, and only those that grow or are slow are measured at all sizes: --all measures
 * every one.
 */
import { parseArgs } from 'node:util'
import { close, parsers } from './parsers.mjs'

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    all: { type: 'boolean', default: false },
    most: { type: 'string', default: '1048576' },
  },
})
const sizes = []
for (let size = 1024; size <= Number(values.most); size *= 2) sizes.push(size)

/** Milliseconds. */
const measurable = 2
const tooLong = 3000
const steepest = 1.3

async function once(read, input) {
  const before = process.cpuUsage()
  const said = await read(input)
  const { user, system } = process.cpuUsage(before)
  return said === 'out of time' ? Number.POSITIVE_INFINITY : (user + system) / 1000
}

async function timeOf(read, input) {
  let best = await once(read, input)
  for (let run = 1; run < 5 && best < 200; run += 1) best = Math.min(best, await once(read, input))
  return best
}

/** The slope of the line through the logarithms; null: too few sizes take long enough. */
function exponentOf(points) {
  const known = points
    .filter(({ time }) => time >= measurable)
    .map(({ size, time }) => [Math.log(size), Math.log(time)])
  if (known.length < 3) return null
  if (known.some(([, time]) => time === Number.POSITIVE_INFINITY)) return Number.POSITIVE_INFINITY
  const mean = (at) => known.reduce((sum, point) => sum + point[at], 0) / known.length
  const [x, y] = [mean(0), mean(1)]
  const over = known.reduce((sum, point) => sum + (point[0] - x) * (point[1] - y), 0)
  return over / known.reduce((sum, point) => sum + (point[0] - x) ** 2, 0)
}

async function measured(read, make) {
  const points = []
  for (const size of sizes) {
    const time = await timeOf(read, make(size))
    points.push({ size, time })
    if (time > tooLong) break
  }
  return { points, exponent: exponentOf(points) }
}

/** Only the slowest of the inputs that look linear at two sizes is measured further. */
async function suspects({ read, inputs }) {
  const first = []
  for (const [name, make] of inputs) {
    const small = await once(read, make(16_384))
    const large = await once(read, make(131_072))
    first.push({ name, make, large, grows: large > measurable * 4 && large / Math.max(small, 0.5) > 8 ** steepest })
  }
  first.sort((a, b) => b.large - a.large)
  return values.all ? first : [...first.slice(0, 3), ...first.slice(3).filter(({ grows }) => grows)]
}

const label = (size) => (size < 1_048_576 ? `${size / 1024}K` : `${size / 1_048_576}M`)
let steep = 0
console.log(`microseconds a kilobyte at ${sizes.map(label).join(' ')}; exponent of the growth\n`)
for (const parser of parsers.filter(({ name }) => values.only === undefined || name === values.only)) {
  const all = []
  for (const { name, make } of await suspects(parser)) {
    let found = await measured(parser.read, make)
    // Measured again before it counts: another process may have used the cache.
    if ((found.exponent ?? 0) > steepest) found = await measured(parser.read, make)
    all.push({ name, ...found })
  }
  const isSteep = ({ exponent }) => (exponent ?? 0) > steepest
  const slowest = all.toSorted((a, b) => (b.points.at(-1)?.time ?? 0) - (a.points.at(-1)?.time ?? 0))[0]
  for (const one of new Set([slowest, ...all.filter(isSteep)])) {
    const pace = one.points.map(({ size, time }) => Math.round((time * 1000) / (size / 1024)))
    const power = one.exponent === null ? 'too fast to tell' : one.exponent.toFixed(2)
    console.log(`${isSteep(one) ? 'STEEP ' : 'linear'} ${parser.name}, ${one.name}: ${pace.join(' ')}; ${power}`)
  }
  steep += all.filter(isSteep).length
}
await close()
console.log(
  steep === 0 ? '\nnone grows faster than it may' : `\n${steep} grow faster than with the power of ${steepest}`,
)
process.exit(steep === 0 ? 0 : 1)
