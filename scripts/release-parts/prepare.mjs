/**
 * Makes the working tree that of a version: package.json, package-lock.json, the client for Node.js and the example for Kubernetes
 * name it, its section of CHANGELOG.md has a date, and the pages that show commands of the packages name their files. What is right
 * already stays.
 *
 *   node prepare.mjs VERSION --date YYYY-MM-DD [--tags LIST] [--check]
 *   node prepare.mjs VERSION --notes
 *
 * --tags    all tags of the repository, with spaces: the version must be above all releases of its major version, and the first
 *           release of a major version above all others
 * --check   only tells whether the version can be released
 * --notes   prints the section of CHANGELOG.md
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'

/** Their blocks show names of files. `scripts/test-packages` runs those of the first two. */
const pages = ['docs/install.md', 'docs/operations.md', 'docs/containers.md']

/** What names the version elsewhere, and how often. The lockfile has it twice, before those of other packages. */
const inJson = /(?<="version": ")[^"]+(?=")/g
const places = [
  ['package.json', inJson, 1],
  ['package-lock.json', inJson, 2],
  ['clients/js/package.json', inJson, 1],
  ['clients/js/src/nodemailer-transport.ts', /(?<=\bversion = ')[^']+(?=')/g, 1],
  ['config/container/kubernetes.yaml', /(?<=\bimage: \S+\/posthorn:)\S+/g, 1],
]

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
  const last = lastRelease()
  if (last !== undefined && compare(version, last) <= 0) {
    throw new Error(`VERSION: found ${version}, but ${last} is released (tag v${last}); allowed: a later version`)
  }
}

/** Of the same major version, because the one before gets fixes too; of all, where that has no release yet. */
function lastRelease() {
  const released = values.tags
    .split(/\s+/)
    .filter((tag) => tag.startsWith('v') && isRelease(tag.slice(1)))
    .map((tag) => tag.slice(1))
    .sort(compare)
  return released.findLast((one) => majorOf(one) === majorOf(version)) ?? released.at(-1)
}

function majorOf(text) {
  return Number(text.split('.')[0])
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

/** Nothing is written if one of the files has no place for the version. */
function writeAll(section) {
  const texts = [['CHANGELOG.md', dateChangelog(section)], ...places.map(setPlaces), ...pages.map(renameInBlocks)]
  for (const [file, text] of texts) writeFileSync(file, text)
}

function dateChangelog({ heading, state }) {
  return state === 'unreleased'
    ? changelog.replace(`${heading}\n`, () => `## [${version}] - ${values.date}\n`)
    : changelog
}

/** Only the first places change: what npm has written stays as it is. */
function setPlaces([file, pattern, times]) {
  const text = readFileSync(file, 'utf8')
  let found = 0
  const changed = text.replace(pattern, (before) => {
    found += 1
    return found > times ? before : version
  })
  if (found < times) {
    throw new Error(
      `${file}: found ${found} of ${times} versions as ${pattern.source}: repair it, or places in prepare.mjs`,
    )
  }
  return [file, changed]
}

/** The version that a page has is that of the first package in it. */
function renameInBlocks(page) {
  const text = readFileSync(page, 'utf8')
  const before = /\bposthorn[_-](\d+\.\d+\.\d+)[_-]/.exec(text)?.[1]
  if (before === undefined) {
    throw new Error(`${page}: found no name of a package with a version: repair it, or pages in prepare.mjs`)
  }
  const name = new RegExp(`(?<![\\d.])${before.replaceAll('.', '\\.')}(?!\\d)`, 'g')
  return [page, text.replace(/^( *)```[\s\S]*?^\1```/gm, (block) => block.replace(name, version))]
}
