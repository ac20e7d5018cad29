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

function indented(details) {
  const text = typeof details === 'string' ? details : inspect(details, { depth: 6, breakLength: 100 })
  return text.replace(/^/gm, '    ')
}
