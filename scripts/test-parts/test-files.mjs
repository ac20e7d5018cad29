/** Which test files there are, in the order in which they are started. */
import { readdir, readFile } from 'node:fs/promises'
import { join, sep } from 'node:path'

/** Folders whose files take longest. Started first, they are not what everything else waits for at the end. */
const longest = ['journeys', 'cli', 'receiving', 'spam', 'api']

/** Paths below `root`. Neither `quick` nor `paths`: all of them. */
export async function findTestFiles(root, { quick, paths }) {
  const names = await readdir(root, { recursive: true })
  const files = names.filter((name) => name.endsWith('.test.js') && !name.split(sep).includes('fixtures'))
  const wanted = []
  for (const file of files) {
    const isNamed = paths.some((path) => file.startsWith(path))
    if (isNamed || (quick ? await isQuick(root, file) : paths.length === 0)) wanted.push(file)
  }
  return wanted.sort((one, other) => rank(one) - rank(other) || one.localeCompare(other))
}

/** Folders whose files run the whole daemon, and what other files that do so import. */
const wholeDaemon = ['journeys', 'conformance']
const runsDaemon = /helpers\/(?:daemon\/test-daemon|cli\/command-line)\.js/

/** Neither a journey through the whole daemon nor a test beside another program. */
async function isQuick(root, file) {
  const [folder = ''] = file.split(sep)
  if (wholeDaemon.includes(folder) || /(^|-|\/)peers?\.test\.js$/.test(file)) return false
  return !runsDaemon.test(await readFile(join(root, file), 'utf8'))
}

function rank(file) {
  const [folder = ''] = file.split(sep)
  const place = longest.indexOf(folder)
  return place === -1 ? longest.length : place
}
