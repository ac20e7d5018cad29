/** Which test files there are, in the order in which they are started, and how long each took last time. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { dirname, join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Seconds by file, of the last run of each on this machine. */
const timesFile = fileURLToPath(new URL('../../node_modules/.cache/posthorn/test-times.json', import.meta.url))
/** Folders with the slowest files, for those whose time is not known yet. */
const slowest = ['journeys', 'ui', 'operations', 'inbound', 'servers']
/** What a file says that changes what all of its process share, or counts it. */
const aloneMark = /^\s*(?:\/\/|\*) Runs alone: /m
/** What a file says whose tests are about the files or the words of SQLite. */
const sqliteMark = /^\s*(?:\/\/|\*) Of SQLite alone: /m
/** What a file imports, itself or through others, that has a database. */
const databaseHelper = /helpers\/database\/(?:database|daemon-database)\.js$/

/**
 * Paths below `root`; without `quick` and `paths`, all of them. On PostgreSQL, those that have a database and are not about
 * SQLite. Those that took longest come first, as `{ file, isAlone }`.
 */
export async function findTestFiles(root, { quick, paths, storage }) {
  const names = await readdir(root, { recursive: true })
  const times = readTimes()
  const imports = new Imports()
  const chosen = []
  for (const file of names.filter((name) => name.endsWith('.test.js') && !name.split(sep).includes('fixtures'))) {
    const text = await readFile(join(root, file), 'utf8')
    const isNamed = paths.some((path) => file.startsWith(path))
    const isChosen = isNamed || (quick ? isQuick(file, text) : paths.length === 0)
    const fits =
      storage !== 'postgres' || (!sqliteMark.test(text) && (await imports.reach(join(root, file), databaseHelper)))
    if (isChosen && fits) chosen.push({ file, isAlone: aloneMark.test(text) })
  }
  const secondsOf = ({ file }) => times[file] ?? 10 * (slowest.length - rank(file))
  return chosen.sort((one, other) => secondsOf(other) - secondsOf(one) || one.file.localeCompare(other.file))
}

/** The modules that each module imports. */
class Imports {
  #known = new Map()

  /** Whether the module imports one whose path matches, itself or through others. */
  async reach(module, wanted, passed = new Set()) {
    if (wanted.test(module)) return true
    if (passed.has(module)) return false
    passed.add(module)
    for (const next of await this.#list(module)) if (await this.reach(next, wanted, passed)) return true
    return false
  }

  async #list(module) {
    if (!this.#known.has(module)) {
      const text = await readFile(module, 'utf8')
      const names = [...text.matchAll(/(?:from|import\() ?'(\.[^']+\.js)'/g)].map(([, name]) =>
        join(dirname(module), name),
      )
      // Those of the program have no helpers of tests.
      this.#known.set(
        module,
        names.filter((name) => name.includes(`${sep}test${sep}`) && existsSync(name)),
      )
    }
    return this.#known.get(module)
  }
}

export function rememberTimes(outcomes) {
  const times = { ...readTimes(), ...Object.fromEntries(outcomes.map(({ file, seconds }) => [file, seconds])) }
  mkdirSync(dirname(timesFile), { recursive: true })
  writeFileSync(timesFile, JSON.stringify(times))
}

function readTimes() {
  try {
    return JSON.parse(readFileSync(timesFile, 'utf8'))
  } catch {
    return {}
  }
}

/** Folders whose files run the whole daemon, and what other files that do so import. */
const wholeDaemon = ['journeys', 'conformance', 'ui', 'clients']
const runsDaemon = /helpers\/(?:daemon\/test-daemon|cli\/command-line)\.js/

/** Neither runs the whole daemon nor needs another program. */
function isQuick(file, text) {
  const [folder = ''] = file.split(sep)
  if (wholeDaemon.includes(folder) || /(^|-|\/)peers?\.test\.js$/.test(file)) return false
  return !runsDaemon.test(text)
}

function rank(file) {
  const [folder = ''] = file.split(sep)
  const place = slowest.indexOf(folder)
  return place === -1 ? slowest.length : place
}
