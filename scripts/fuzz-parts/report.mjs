/** The table of docs/fuzzing.md: the row of a target that ran is replaced, the others stay. */
import { readFileSync, writeFileSync } from 'node:fs'
import { countFindings } from './findings.mjs'

const FILE = 'docs/fuzzing.md'
const BEGIN = '<!-- figures: scripts/fuzz --report -->\n'
const END = '<!-- end of figures -->'
const HEAD =
  '| target | what is checked of each input | inputs | a second | kept | blocks | cases | run |\n|---|---|--:|--:|--:|--:|--:|---|\n'

/** `order`: the names of all targets. */
export function writeReport({ target, inputs, seconds: taken, kept, blocks }, { seconds, order }) {
  const page = readFileSync(FILE, 'utf8')
  const [before, rest] = page.split(BEGIN)
  const [table, after] = rest.split(END)
  const known = new Map(table.split('\n').map((line) => [line.split('|')[1]?.trim(), line]))
  const date = new Date().toISOString().slice(0, 10)
  const cells = [
    target.name,
    target.checks,
    inputs.toLocaleString('en'),
    Math.round(inputs / taken).toLocaleString('en'),
    kept,
    blocks.toLocaleString('en'),
    countFindings(target.name),
    `${date}, ${seconds} s`,
  ]
  known.set(target.name, `| ${cells.join(' | ')} |`)
  const lines = order.flatMap((name) => known.get(name) ?? [])
  writeFileSync(FILE, `${before}${BEGIN}${HEAD}${lines.join('\n')}\n${END}${after}`)
}
