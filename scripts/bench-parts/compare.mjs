// Rounds of each side in turns, so that a slow minute of the machine affects both.
import { median } from '../lib/statistics.mjs'

/**
 * The ratio is that of the first side to the second; those to others are printed. Prints each result at once, with the CPU
 * of its threads if it has several.
 */
export async function compare(name, sides, rounds) {
  console.log(`\n${name}`)
  const runs = new Map(sides.map((side) => [side.name, []]))
  for (let round = 0; round < rounds; round += 1) {
    for (const side of sides) {
      const run = await side.measure()
      runs.get(side.name).push(run)
      console.log(`  ${line(side.name, run)}`)
      if (run.threads) console.log(`  ${threadLine(run)}`)
    }
  }
  const rates = Object.fromEntries([...runs].map(([side, list]) => [side, median(list.map(({ rate }) => rate))]))
  const [ours, ...others] = sides.map((side) => side.name)
  const compared = others.map((other) => {
    const pairs = runs.get(ours).map(({ rate }, round) => rate / runs.get(other)[round].rate)
    return { other, ratio: rates[ours] / rates[other], pairs }
  })
  for (const { other, ratio, pairs } of compared) {
    const to = others.length > 1 ? ` to ${other}` : ''
    const each = pairs.map((one) => one.toFixed(2)).join(', ')
    console.log(`  ratio of medians${to}: ${ratio.toFixed(2)} (of each pair: ${each})`)
  }
  if (others.length > 0)
    console.log(`  CPU of each to that ${others[0]}: ${cpuRatios(runs.get(ours), runs.get(others[0]))}`)
  const [{ ratio, pairs: ratios } = { ratio: null, pairs: [] }] = compared
  return { name, ratio, ratios, compared, rates, runs: Object.fromEntries(runs) }
}

/** Of medians. */
function cpuRatios(our, other) {
  const each = (list, cpuOf) => median(list.map((run) => cpuOf(run) / run.messages))
  const times = (cpuOf) => (each(our, cpuOf) / each(other, ({ cpu }) => cpu)).toFixed(2)
  const alone = times(({ cpu }) => cpu)
  return our[0].storageCpu === undefined
    ? alone
    : `${alone} at the daemon, ${times(({ storageCpu }) => storageCpu)} at the server, ${times(({ cpu, storageCpu }) => cpu + storageCpu)} in all`
}

/** `clientCpu`: seconds of the programs that the load takes, if they were measured. */
function line(name, { rate, megabytes, cpu, clientCpu, storageCpu, messages, unit = 'messages' }) {
  const each = ((cpu / messages) * 1000).toFixed(2)
  const client = clientCpu === undefined ? '' : `, ${((clientCpu / messages) * 1000).toFixed(2)} of the client`
  const storage = storageCpu === undefined ? '' : `, ${((storageCpu / messages) * 1000).toFixed(2)} of its server`
  return `${name.padEnd(20)} ${rate.toFixed(0).padStart(6)} ${unit}/s  ${each.padStart(6)} ms of CPU each${storage}${client}  ${megabytes.toFixed(0).padStart(5)} MB at most`
}

/** Threads below this, in milliseconds of CPU a message, are summed up: V8's own are many. */
const SMALL = 0.05

function threadLine({ threads, messages }) {
  const [main, ...others] = threads.map((seconds) => (seconds / messages) * 1000)
  const large = others.filter((each) => each >= SMALL).map((each) => each.toFixed(2))
  const rest = others.filter((each) => each < SMALL).reduce((sum, each) => sum + each, 0)
  return `${''.padEnd(20)} main thread ${main.toFixed(2)} ms, others ${[...large, `${rest.toFixed(2)} in all the rest`].join(', ')}`
}
