/** Which test files there are, in the order in which they are started. */
import { readdir } from 'node:fs/promises'
import { sep } from 'node:path'

/** Folders whose files take longest. Started first, they are not what everything else waits for at the end. */
const longest = ['journeys', 'cli', 'receiving', 'api']

/** Paths below `root`. Neither `quick` nor `paths`: all of them. */
export async function findTestFiles(root, { quick, paths }) {
  const names = await readdir(root, { recursive: true })
  const isWanted = (name) =>
    (quick && isQuick(name)) || paths.some((path) => name.startsWith(path)) || (!quick && paths.length === 0)
  return names
    .filter((name) => name.endsWith('.test.js') && !name.split(sep).includes('fixtures') && isWanted(name))
    .sort((one, other) => rank(one) - rank(other) || one.localeCompare(other))
}

/** Journeys run the whole daemon, and peers are other programs. */
function isQuick(file) {
  return !file.startsWith(`journeys${sep}`) && !/(^|-|\/)peers?\.test\.js$/.test(file)
}

function rank(file) {
  const [folder = ''] = file.split(sep)
  const place = longest.indexOf(folder)
  return place === -1 ? longest.length : place
}
