// All comparisons of a run as one table in Markdown, as docs/performance.md has it.
import { median } from '../lib/statistics.mjs'

/** `results`: those of `compare`; what else is measured prints itself. Empty if there are none. */
export function tableOf(results) {
  const rows = results.filter(({ rates }) => rates !== undefined).flatMap(rowsOf)
  if (rows.length === 0) return ''
  return [
    '| work | | a second | CPU of each, ms | MB at most | ratio of medians (pairs) |',
    '|---|---|---|---|---|---|',
    ...rows,
  ].join('\n')
}

function rowsOf({ name, rates, runs, compared }) {
  return Object.entries(rates).map(([side, rate], nth) => {
    const cpu = median(runs[side].map((run) => (run.cpu / run.messages) * 1000))
    const megabytes = Math.max(...runs[side].map((run) => run.megabytes))
    const against = compared.find(({ other }) => other === side)
    const ratio =
      against === undefined
        ? ''
        : `${against.ratio.toFixed(2)} (${against.pairs.map((pair) => pair.toFixed(2)).join(', ')})`
    return `| ${nth === 0 ? name : ''} | ${side} | ${rate.toFixed(0)} | ${cpu.toFixed(2)} | ${megabytes.toFixed(0)} | ${ratio} |`
  })
}
