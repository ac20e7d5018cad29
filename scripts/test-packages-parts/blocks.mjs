/**
 * Prints a block of commands of a page, as a reader would paste it.
 *
 *   node blocks.mjs PAGE HEADING NUMBER
 *
 * Blocks of commands have no language; what a command prints is marked as `text`.
 */
import { readFileSync } from 'node:fs'

/** The blocks in that language below a heading of a page; '' for those without one. Below a list they are indented. */
export function readBlocks(page, heading, language = '') {
  const sections = readFileSync(page, 'utf8').split(/^##+ /m)
  const section = sections.find((text) => text.startsWith(`${heading}\n`))
  if (section === undefined) throw new Error(`${page} has no heading "${heading}"`)
  return [...section.matchAll(/^( *)```(\w*)\n(.*?)^ *```$/gms)]
    .filter(([, , named]) => named === language)
    .map(([, indent, , text]) => text.replaceAll(new RegExp(`^${indent}`, 'gm'), ''))
}

if (import.meta.filename === process.argv[1]) {
  const [page, heading, number, language] = process.argv.slice(2)
  const found = readBlocks(page, heading, language)[Number(number) - 1]
  if (found === undefined) throw new Error(`${page}, ${heading}: has no block ${number}`)
  process.stdout.write(found)
}
