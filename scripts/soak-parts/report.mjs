// The report, as text for the terminal and as Markdown for docs/soak.md.
import { readFileSync, writeFileSync } from 'node:fs'

/** The lines after which the reports stand; one ends where the other's line is. */
const MARKS = {
  sqlite: '<!-- Below this line scripts/soak writes its report. -->',
  postgres: '<!-- Below this line scripts/soak --storage postgres writes its report. -->',
}

export function printReport(report) {
  console.log(`\n${report.title}`)
  for (const { name, text, good } of report.results) console.log(`${good ? 'ok  ' : 'FAIL'}  ${name}: ${text}`)
  for (const line of report.details) console.log(`      ${line}`)
  console.log(`\nfaults (turns, longest time until all listeners accepted again and a message arrived):`)
  for (const { name, turns, slowest, notes } of report.faults)
    console.log(`  ${name.padEnd(26)} ${turns}  ${slowest}  ${notes}`)
  console.log(`\nserved: ${report.served}`)
  console.log(report.good ? '\nAll is as it should be.' : `\nSomething is wrong; the records are in ${report.folder}`)
}

/** Replaces what follows the mark of the engine. */
export function writeMarkdown(file, engine, report) {
  const { text, begin, end } = findPlace(file, engine)
  writeFileSync(file, `${text.slice(0, begin)}\n\n${markdown(engine, report)}${text.slice(end)}`)
}

/** Finds where the report of the engine stands. Throws if the file is missing, or has no place for it. */
export function findPlace(file, engine) {
  const text = readFileSync(file, 'utf8')
  const mark = MARKS[engine]
  const begin = text.indexOf(mark) + mark.length
  if (begin < mark.length) throw new Error(`${file} has no line "${mark}"`)
  const end = Math.min(...Object.values(MARKS).map((other) => at(text, other, begin)))
  return { text, begin, end }
}

function at(text, mark, from) {
  const found = text.indexOf(mark, from)
  return found === -1 ? text.length : found
}

function markdown(engine, { date, title, results, details, explained, faults, served, missing }) {
  const rows = results.map(
    ({ name, text, good }) => `| ${name} | ${escapeCell(text)} | ${good ? 'ok' : '**not ok**'} |`,
  )
  const turns = faults.map(
    ({ name, what, turns: times, slowest, notes }) =>
      `| ${name} | ${escapeCell(what)} | ${times} | ${slowest} | ${escapeCell(notes)} |`,
  )
  return `## Report of ${date}, ${engine === 'sqlite' ? 'SQLite' : 'PostgreSQL'}

${title}
${missing.length === 0 ? '' : `\nFaults that were left out because a tool is missing: ${missing.join(', ')}.\n`}
| checked | found | |
|---|---|---|
${rows.join('\n')}
${details.length === 0 ? '' : `\n${details.map((line) => `- ${escapeCell(line)}`).join('\n')}\n`}
"Recovered after" is the longest time from the end of the fault until each listener had accepted a message and one had arrived at
an MX host.

| fault | what happens | turns | recovered after | notes |
|---|---|---|---|---|
${turns.join('\n')}

Besides messages, the daemon served:

- ${served.replaceAll(', ', '\n- ')}

Error lines that a fault explains, and how often each was logged:

${explained.length === 0 ? 'none' : explained.map((line) => `- \`${escapeCell(line).replaceAll('`', "'")}\``).join('\n')}
`
}

function escapeCell(text) {
  return String(text).replaceAll('|', '\\|').replaceAll('\n', ' ')
}
