/** Which test files there are, in the order in which they are started. */
import { readdir, readFile } from 'node:fs/promises'
import { join, sep } from 'node:path'

/** Folders with the slowest files: they start first, so that the run does not wait for them at the end. */
const slowest = ['journeys', 'ui', 'cli', 'receiving', 'spam', 'api']

/** Paths below `root`; without `quick` and `paths`, all of them. */
export async function findTestFiles(root, { quick, paths }) {
  const names = await readdir(root, { recursive: true })
  const files = names.filter((name) => name.endsWith('.test.js') && !name.split(sep).includes('fixtures'))
  const chosen = []
  for (const file of files) {
    const isNamed = paths.some((path) => file.startsWith(path))
    if (isNamed || (quick ? await isQuick(root, file) : paths.length === 0)) chosen.push(file)
  }
  return chosen.sort((one, other) => rank(one) - rank(other) || one.localeCompare(other))
}

/** Folders whose files run the whole daemon, and what other files that do so import. */
const wholeDaemon = ['journeys', 'conformance', 'ui']
const runsDaemon = /helpers\/(?:daemon\/test-daemon|cli\/command-line)\.js/

/** Neither runs the whole daemon nor needs another program. */
async function isQuick(root, file) {
  const [folder = ''] = file.split(sep)
  if (wholeDaemon.includes(folder) || /(^|-|\/)peers?\.test\.js$/.test(file)) return false
  return !runsDaemon.test(await readFile(join(root, file), 'utf8'))
}

function rank(file) {
  const [folder = ''] = file.split(sep)
  const place = slowest.indexOf(folder)
  return place === -1 ? slowest.length : place
}
