/**
 * Writes package.json and package-lock.json with which `npm ci` fetches, and checks, the packages with binaries of an architecture.
 *
 *   node lockfile-of-binaries.mjs --architecture arm64 --node VERSION --digest SHA512 --to DIR
 *
 * --node, --digest   the Node.js to carry, of the npm package node-linux-ARCHITECTURE
 *
 * Versions and digests of the other packages are those of the project's own lockfile.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { separatePackages } from '../build-parts/bundle.mjs'
import { findBinaries } from './packages.mjs'

const text = { type: 'string' }
const { architecture, node, digest, to } = parseArgs({
  options: { architecture: text, node: text, digest: text, to: text },
}).values

const locked = findBinaries(separatePackages, architecture).map(({ folder, entry }) => [
  folder,
  { version: entry.version, integrity: entry.integrity },
])
locked.push([`node_modules/node-linux-${architecture}`, { version: node, integrity: `sha512-${digest}` }])
const versions = locked.map(([folder, { version }]) => [folder.replace(/^.*node_modules\//, ''), version])
const dependencies = Object.fromEntries(versions)
write('package.json', { dependencies })
write('package-lock.json', { lockfileVersion: 3, packages: { '': { dependencies }, ...Object.fromEntries(locked) } })

function write(name, value) {
  writeFileSync(join(to, name), `${JSON.stringify(value, null, 2)}\n`)
}
