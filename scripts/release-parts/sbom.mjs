/**
 * Writes the bill of materials of a release in CycloneDX: of what npm knows about all packages of package-lock.json, it takes those
 * that the files of the release contain, and adds Node.js and SQLite. Equal commits give equal bytes.
 *
 *   npm sbom --sbom-format cyclonedx --package-lock-only | node sbom.mjs --version V --commit ID --time SECONDS --node V
 *     --node-package NAME=DIGEST... --sqlite V FILE...
 *
 * --node-package   a package of npm that Node.js comes from, and its digest in base64 (SHA-512)
 * --sqlite         the version of the SQLite that is compiled into better-sqlite3
 * FILE             LICENSES-OF-PACKAGES.md of a tarball
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { mergeSections } from './licenses.mjs'

const text = { type: 'string' }
const { values, positionals } = parseArgs({
  options: {
    version: text,
    commit: text,
    time: text,
    node: text,
    'node-package': { type: 'string', multiple: true },
    sqlite: text,
  },
  allowPositionals: true,
})
const { version, commit, time, node, sqlite } = values
const own = `posthorn@${version}`
if (!sqlite)
  throw new Error('--sqlite: the version of SQLite is missing; build.sh reads it in sqlite3.h of better-sqlite3')

const known = JSON.parse(readFileSync(0, 'utf8'))
const components = mergeSections(positionals.map((file) => readFileSync(file, 'utf8'))).map(describePackage)
const nodes = (values['node-package'] ?? []).map(describeNode)
const { sorted, refs } = sortComponents([...components, ...nodes, describeSqlite()])
const { serialNumber: _, ...bill } = {
  ...known,
  metadata: {
    timestamp: new Date(Number(time) * 1000).toISOString(),
    tools: known.metadata.tools,
    component: describeOwn(),
  },
  components: sorted,
  dependencies: describeDependencies(),
}
const { $schema, bomFormat, specVersion, ...rest } = bill
const serialNumber = `urn:uuid:${uuidOf(JSON.stringify(bill))}`
process.stdout.write(`${JSON.stringify({ $schema, bomFormat, specVersion, serialNumber, ...rest }, null, 2)}\n`)

/** Throws if npm does not know it: then the lockfile is not that of the release. */
function describePackage({ name, version: number, license }) {
  const found = known.components.find((one) => nameOf(one) === name && one.version === number)
  if (found === undefined) throw new Error(`${name} ${number} is in the release, and not in package-lock.json`)
  const { properties, scope, ...component } = found
  // Packages that are bundled into the dashboard are dependencies of the build alone for npm; the release needs all of them.
  const withLicense = component.licenses?.length > 0 ? {} : { licenses: [{ license: { name: license } }] }
  return { ...component, scope: 'required', ...withLicense }
}

function nameOf({ group, name }) {
  return group === undefined || name.startsWith('@') ? name : `${group}/${name}`
}

function describeNode(argument) {
  const [, name, digest] = /^([^=]+)=(.+)$/.exec(argument)
  return {
    'bom-ref': `${name}@${node}`,
    type: 'platform',
    name,
    version: node,
    scope: 'required',
    description: 'Node.js',
    purl: `pkg:npm/${name}@${node}`,
    cpe: `cpe:2.3:a:nodejs:node.js:${node}:*:*:*:*:*:*:*`,
    hashes: [{ alg: 'SHA-512', content: Buffer.from(digest, 'base64').toString('hex') }],
    licenses: [{ license: { id: 'MIT' } }],
  }
}

/** Scanners for weaknesses know it by this name, and not by that of the package which contains it. */
function describeSqlite() {
  return {
    'bom-ref': `sqlite@${sqlite}`,
    type: 'library',
    name: 'sqlite',
    version: sqlite,
    scope: 'required',
    description: 'SQLite, compiled into better-sqlite3',
    purl: `pkg:generic/sqlite@${sqlite}`,
    cpe: `cpe:2.3:a:sqlite:sqlite:${sqlite}:*:*:*:*:*:*:*`,
    licenses: [{ license: { id: 'blessing' } }],
  }
}

function describeOwn() {
  const { properties, externalReferences, ...component } = known.metadata.component
  const commits = [{ name: 'posthorn:commit', value: commit }]
  const names = { 'bom-ref': own, type: 'application', name: 'posthorn', version, purl: `pkg:npm/${own}` }
  return { ...component, ...names, properties: commits }
}

function sortComponents(list) {
  const byRef = new Map(list.map((component) => [component['bom-ref'], component]))
  const names = [...byRef.keys()].sort()
  return { sorted: names.map((name) => byRef.get(name)), refs: new Set(names) }
}

/** Of packages in the release. What only the build needs is left out; what nothing names is bundled into Posthorn itself. */
function describeDependencies() {
  const list = known.dependencies.filter(({ ref }) => refs.has(ref))
  const edges = list.map(({ ref, dependsOn = [] }) => ({
    ref,
    dependsOn: dependsOn.filter((one) => refs.has(one)).sort(),
  }))
  const named = new Set(edges.flatMap(({ dependsOn }) => dependsOn))
  const root = known.dependencies.find(({ ref }) => ref === known.metadata.component['bom-ref'])
  const direct = [...refs].filter((ref) => root?.dependsOn?.includes(ref) || !named.has(ref)).sort()
  return [{ ref: own, dependsOn: direct }, ...edges.sort((one, other) => (one.ref < other.ref ? -1 : 1))]
}

/** A UUID of version 8 that is the digest of a text. */
function uuidOf(content) {
  const bytes = createHash('sha256').update(content).digest().subarray(0, 16)
  bytes[6] = (bytes[6] & 0x0f) | 0x80
  bytes[8] = (bytes[8] & 0x3f) | 0x80
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
