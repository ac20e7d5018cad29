/**
 * The packages that the program loads from node_modules/: what the named dependencies reach in package-lock.json, without
 * what a package needs for its own compilation only.
 */
import { existsSync, readFileSync } from 'node:fs'

/** Package: what it names for its compilation. The binaries are in the release already. */
const forCompilationOnly = { 'better-sqlite3': ['node-addon-api'] }

/** Folders below node_modules/, sorted. */
export function findPackages(names) {
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'))
  const found = new Set()
  const queue = names.map((name) => ({ name, from: '' }))
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    const { name, from, optional } = next
    const folder = findFolder(packages, name, from)
    if (folder === null || !existsSync(folder)) {
      if (optional) continue
      throw new Error(`${name}, which ${from || 'the project'} needs, is not installed: run npm ci`)
    }
    if (found.has(folder)) continue
    found.add(folder)
    queue.push(...needsOf(packages[folder], folder))
  }
  return [...found].sort()
}

function needsOf(entry, folder) {
  const skipped = forCompilationOnly[folder.replace(/^node_modules\//, '')] ?? []
  const needed = Object.keys(entry.dependencies ?? {}).map((name) => ({ name, from: folder, optional: false }))
  const offered = { ...entry.optionalDependencies, ...entry.peerDependencies }
  const optional = Object.keys(offered).map((name) => ({ name, from: folder, optional: true }))
  return [...needed, ...optional].filter(({ name }) => !skipped.includes(name))
}

/** As Node.js looks for it: beside the package, then in each folder above. */
function findFolder(packages, name, from) {
  const parents = from === '' ? [''] : [...parentsOf(from), '']
  const folder = parents.map((parent) => `${parent === '' ? '' : `${parent}/`}node_modules/${name}`)
  return folder.find((one) => packages[one] !== undefined && packages[one].dev !== true) ?? null
}

/** `node_modules/a/node_modules/b`, then `node_modules/a`. */
function parentsOf(folder) {
  const parts = folder.split('/node_modules/')
  return parts.map((_, at) => parts.slice(0, parts.length - at).join('/node_modules/'))
}
