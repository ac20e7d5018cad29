/**
 * Makes the working tree that of a version: package.json, package-lock.json and the client for Node.js name it, its section of
 * CHANGELOG.md has a date, and the pages that show commands of the packages name their files. What is right already stays.
 *
 *   node prepare.mjs VERSION --date YYYY-MM-DD [--tags LIST] [--check]
 *   node prepare.mjs VERSION --notes
 *
 * --tags    all tags of the repository, with spaces: the version must be above each that is one of a release
 * --check   only tells whether the version can be released
 * --notes   prints the section of CHANGELOG.md
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'

/** Their blocks show names of files, and `scripts/test-packages` runs them. */
const pages = ['README.md', 'docs/install.md', 'docs/operations.md']

const { values, positionals } = parseArgs({
  options: {
    date: { type: 'string' },
    tags: { type: 'string', default: '' },
    check: { type: 'boolean' },
    notes: { type: 'boolean' },
  },
  allowPositionals: true,
})
const [version = ''] = positionals
const changelog = readFileSync('CHANGELOG.md', 'utf8')

try {
  requireVersion()
  const section = findSection()
  if (values.notes) process.stdout.write(`${section.text}\n`)
  else if (!values.check) writeAll(section)
} catch (error) {
  process.stderr.write(`release: ${error.message}\n`)
  process.exitCode = 1
}

/** A pre-release has no name that both npm and dpkg sort before its release. */
function requireVersion() {
  if (!isRelease(version)) {
    throw new Error(
      `VERSION: found "${version}", allowed: three numbers as 1.2.3, without a suffix and without leading zeros`,
    )
  }
  const last = values.tags
    .split(/\s+/)
    .filter((tag) => tag.startsWith('v') && isRelease(tag.slice(1)))
    .map((tag) => tag.slice(1))
    .sort(compare)
    .at(-1)
  if (last !== undefined && compare(version, last) <= 0) {
    throw new Error(`VERSION: found ${version}, but ${last} is released (tag v${last}); allowed: a later version`)
  }
}

function isRelease(text) {
  return /^(?:0|[1-9]\d*)(?:\.(?:0|[1-9]\d*)){2}$/.test(text)
}

function compare(one, other) {
  const [left, right] = [one, other].map((text) => text.split('.').map(Number))
  const place = left.findIndex((number, at) => number !== right[at])
  return place === -1 ? 0 : left[place] - right[place]
}

/** Its heading, what follows the version in it, and its text. */
function findSection() {
  const parts = changelog.split(/^(?=## )/m)
  const own = parts.find((part) => part.startsWith(`## [${version}]`))
  const wanted = `"## [${version}] - unreleased"`
  if (own === undefined) throw new Error(`CHANGELOG.md has no section ${wanted}: write there what users notice`)
  const [heading = '', ...lines] = own.split('\n')
  const state = /^## \[[^\]]+\] - (unreleased|\d{4}-\d\d-\d\d)$/.exec(heading)?.[1]
  if (state === undefined)
    throw new Error(`CHANGELOG.md: found the heading "${heading}", allowed: ${wanted}, or with a date as 2026-01-31`)
  const text = lines.join('\n').trim()
  if (lines.every((line) => line.trim() === '' || line.startsWith('#'))) {
    throw new Error(`CHANGELOG.md: the section ${wanted} is empty: write there what users notice`)
  }
  return { heading, state, text }
}

function writeAll({ heading, state }) {
  if (state === 'unreleased') {
    write('CHANGELOG.md', changelog.replace(`${heading}\n`, `## [${version}] - ${values.date}\n`))
  }
  const before = JSON.parse(readFileSync('package.json', 'utf8')).version
  if (before === version) return
  // Only the lines change: what npm has written stays as it is. The lockfile names the version twice, first of all.
  for (const [file, times] of [
    ['package.json', 1],
    ['package-lock.json', 2],
    ['clients/js/package.json', 1],
  ])
    replace(file, `"version": "${before}"`, `"version": "${version}"`, times)
  replace('clients/js/src/nodemailer-transport.ts', `version = '${before}'`, `version = '${version}'`, 1)
  for (const page of pages) write(page, renameInBlocks(readFileSync(page, 'utf8'), before))
}

function replace(file, before, after, times) {
  let text = readFileSync(file, 'utf8')
  for (let time = 0; time < times; time += 1) text = text.replace(before, after)
  write(file, text)
}

function renameInBlocks(text, before) {
  const name = new RegExp(`(?<![\\d.])${before.replaceAll('.', '\\.')}(?!\\d)`, 'g')
  return text.replace(/^( *)```[\s\S]*?^\1```/gm, (block) => block.replace(name, version))
}

function write(file, text) {
  writeFileSync(file, text)
}
