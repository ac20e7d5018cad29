/** How outcomes are printed. */
import { inspect } from 'node:util'

export function sumOf(outcomes) {
  const sum = (name) => outcomes.reduce((total, outcome) => total + outcome[name], 0)
  const [pass, fail, skip] = ['pass', 'fail', 'skip'].map(sum)
  return { total: pass + fail + skip, pass, fail, skip }
}

/** One line a file, and below it what failed and what was skipped. */
export function describe({ file, seconds, pass, fail, failures, skips }) {
  const verdict = fail > 0 ? 'FAIL' : 'ok  '
  const lines = [`${verdict} ${file} ${pass} passed${fail > 0 ? `, ${fail} failed` : ''} ${seconds.toFixed(1)} s`]
  for (const { name, why } of skips) lines.push(`skipped: ${name} (${why})`)
  for (const { name, details } of failures) lines.push(`  not ok: ${name}`, indented(details))
  return `${lines.join('\n')}\n`
}

/** The files that took longest, so that the suite does not grow unseen. */
export function describeCosts(outcomes, seconds) {
  const cpu = outcomes.reduce((sum, outcome) => sum + outcome.cpu, 0)
  const first = [...outcomes].sort((one, other) => other.seconds - one.seconds).slice(0, 20)
  const rows = first.map(
    ({ file, seconds: own, cpu: used }) =>
      `  ${own.toFixed(1).padStart(6)} s ${used.toFixed(1).padStart(6)} s ${((100 * used) / cpu).toFixed(1).padStart(5)} %  ${file}`,
  )
  const head = `${outcomes.length} files in ${seconds.toFixed(0)} s with ${cpu.toFixed(0)} s of CPU; the slowest, with time, CPU and share of it:`
  return `\n${[head, ...rows].join('\n')}\n`
}

function indented(details) {
  const text = typeof details === 'string' ? details : inspect(details, { depth: 6, breakLength: 100 })
  return text.replace(/^/gm, '    ')
}
