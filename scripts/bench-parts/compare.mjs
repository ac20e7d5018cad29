// Rounds of each side in turns, so that a slow minute of the machine affects both.

/** The ratio is that of the first side to the second; those to others are printed. Prints each result at once. */
export async function compare(name, sides, rounds) {
  console.log(`\n${name}`)
  const runs = new Map(sides.map((side) => [side.name, []]))
  for (let round = 0; round < rounds; round += 1) {
    for (const side of sides) {
      const run = await side.measure()
      runs.get(side.name).push(run)
      console.log(`  ${line(side.name, run)}`)
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
  const [{ ratio, pairs: ratios } = { ratio: null, pairs: [] }] = compared
  return { name, ratio, ratios, compared, rates, runs: Object.fromEntries(runs) }
}

export function median(list) {
  const sorted = list.toSorted((a, b) => a - b)
  const middle = (sorted.length - 1) / 2
  return (sorted[Math.floor(middle)] + sorted[Math.ceil(middle)]) / 2
}

function line(name, { rate, megabytes, cpu, clientCpu, messages, unit = 'messages' }) {
  const each = ((cpu / messages) * 1000).toFixed(2)
  const client = clientCpu === undefined ? '' : `, ${((clientCpu / messages) * 1000).toFixed(2)} of the client`
  return `${name.padEnd(20)} ${rate.toFixed(0).padStart(6)} ${unit}/s  ${each.padStart(6)} ms of CPU each${client}  ${megabytes.toFixed(0).padStart(5)} MB at most`
}
