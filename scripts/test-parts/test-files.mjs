/** Which test files there are, in the order in which they are started, and how long each took last time. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { dirname, join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Seconds by file, of the last run of each on this machine. */
const timesFile = fileURLToPath(new URL('../../node_modules/.cache/posthorn/test-times.json', import.meta.url))
/** Folders with the slowest files, for those whose time is not known yet. */
const slowest = ['journeys', 'ui', 'operations', 'inbound', 'servers']
/** What a file says that changes what all of its process share, or counts it. */
const aloneMark = /^\s*(?:\/\/|\*) Runs alone: /m

/** Paths below `root`; without `quick` and `paths`, all of them. Those that took longest come first, as `{ file, isAlone }`. */
export async function findTestFiles(root, { quick, paths }) {
  const names = await readdir(root, { recursive: true })
  const times = readTimes()
  const chosen = []
  for (const file of names.filter((name) => name.endsWith('.test.js') && !name.split(sep).includes('fixtures'))) {
    const text = await readFile(join(root, file), 'utf8')
    const isNamed = paths.some((path) => file.startsWith(path))
    if (isNamed || (quick ? isQuick(file, text) : paths.length === 0)) {
      chosen.push({ file, isAlone: aloneMark.test(text) })
    }
  }
  const secondsOf = ({ file }) => times[file] ?? 10 * (slowest.length - rank(file))
  return chosen.sort((one, other) => secondsOf(other) - secondsOf(one) || one.file.localeCompare(other.file))
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
