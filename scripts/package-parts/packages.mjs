/**
 * The packages that the program loads from node_modules/: what the named dependencies reach in package-lock.json, without
 * what a package needs for its own compilation only. Binaries are those for Linux with glibc on one architecture, as Node.js names it.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Package: what it names for its compilation. The binaries are in the release already. */
const forCompilationOnly = { 'better-sqlite3': ['node-addon-api'] }

/** Folders below node_modules/, each with its entry in the lockfile and whether the program runs without it, sorted. */
export function findPackages(names, architecture) {
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'))
  const found = new Map()
  const queue = names.map((name) => ({ name, from: '', optional: false }))
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    const { name, from, optional } = next
    const folder = findFolder(packages, name, from)
    if (folder === null && !optional)
      throw new Error(`${name}, which ${from || 'the project'} needs, is not in the lockfile`)
    if (folder === null || found.has(folder) || !fits(packages[folder], architecture)) continue
    const entry = packages[folder]
    found.set(folder, { folder, entry, optional: optional && !isBinary(entry) })
    queue.push(...needsOf(entry, folder))
  }
  return [...found.values()].sort((a, b) => (a.folder < b.folder ? -1 : 1))
}

/** What has to be fetched for an architecture that this machine does not have. */
export function findBinaries(names, architecture) {
  return findPackages(names, architecture).filter(({ entry }) => isBinary(entry))
}

/** Where each package is: below the project, or below the folder into which those of the architecture were fetched. */
export function placePackages(packages, fetched) {
  return packages.flatMap(({ folder, optional }) => {
    const place = [folder, join(fetched, folder)].find((one) => existsSync(one))
    if (place !== undefined) return [{ folder, place }]
    if (optional) return []
    throw new Error(`${folder} is not installed: run npm ci`)
  })
}

/** A package of one system has nothing but its binary. */
function isBinary({ os, cpu }) {
  return os !== undefined || cpu !== undefined
}

function fits({ os = ['linux'], cpu, libc = ['glibc'] }, architecture) {
  return os.includes('linux') && (cpu ?? [architecture]).includes(architecture) && libc.includes('glibc')
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
