/**
 * The licenses of all that the files of a release contain, as one text: those of the packages of each architecture, and Node.js's.
 *
 *   node licenses.mjs --version V --node V --node-license FILE FILE...
 *
 * FILE: LICENSES-OF-PACKAGES.md of a tarball
 */
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'

/** The heading of a package, as scripts/package-parts/licenses.mjs and vite write it. */
const HEADING = /^## (\S+) (?:- )?(\d\S*) \((.+)\)$/m

/** Name, version, license and text of each package of such a file. */
export function readSections(text) {
  return text
    .split(new RegExp(`(?=${HEADING.source})`, 'm'))
    .map((part) => ({ part, found: HEADING.exec(part) }))
    .filter(({ found }) => found?.index === 0)
    .map(({ part, found }) => ({ name: found[1], version: found[2], license: found[3], text: part.trim() }))
}

/** Those of several files, each once. */
export function mergeSections(texts) {
  const sections = texts.flatMap(readSections)
  return [...new Map(sections.map((section) => [`${section.name}@${section.version}`, section])).values()]
}

function main() {
  const text = { type: 'string' }
  const { values, positionals } = parseArgs({
    options: { version: text, node: text, 'node-license': text },
    allowPositionals: true,
  })
  const sections = mergeSections(positionals.map((file) => readFileSync(file, 'utf8')))
  const node = `## Node.js ${values.node} (MIT, and those of its parts)\n\n${readFileSync(values['node-license'], 'utf8').trim()}`
  const all = [...sections.map((section) => section.text), node]
  process.stdout.write(`# Licenses of the packages in Posthorn ${values.version}\n\n${all.join('\n\n')}\n`)
}

if (import.meta.filename === process.argv[1]) main()
