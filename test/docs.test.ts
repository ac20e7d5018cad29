/**
 * What the pages name is there: files of src/, test/ and scripts/, npm scripts, links between pages. What is made from
 * the comments of src/ is current.
 * A page that still names a file after it moved fails here, with the file of that name that exists.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import t from 'tap'
import { eventTypes } from '../src/records/events/payloads.js'
import { buildPages, GLOSSARY_PAGE, INDEX_PAGE } from './helpers/code/index-of-files.js'
import { readSources } from './helpers/code/read-sources.js'

const pages = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  ...readdirSync('docs', { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name)),
]
const wings = readdirSync('src', { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)
const sources = readdirSync('src', { recursive: true, encoding: 'utf8' })
const npmScripts = Object.keys(
  (JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> }).scripts,
)

/** Paths below src/, with or without `src/` and `.ts`; `base/mail` within a longer path or a URL is none. */
const sourcePath = new RegExp(
  `(?<![\\w/.:@-])(?:src/)?((?!config/monitoring/)(?:${wings.join('|')})/[a-z][\\w/-]*)(?![\\w-]|\\.toml)(?:\\.ts)?`,
  'g',
)
/** Capitals stand for a name that the reader chooses: `src/servers/api/RESOURCE/`. */
const srcPath = /(?<![\w/.-])src\/([\w/-]*\w)(?:\.ts)?/g
const projectPath =
  /(?<![\w/.-])((?:(?:test|scripts|systemd|docs)\/[\w/.-]*|config\/(?:monitoring\/[\w.-]*|[\w-]+\.tom))\w)/g
const npmScript = /npm run ([\w:-]+)/g
const link = /\]\((?!https?:)([^)\s]+)\)/g

/** A name between backquotes with an ending, or with a folder. */
const fileInComment =
  /`((?:[a-z][a-z0-9-]*\/)*[a-z][a-z0-9-]*(?:\.test)?(?:\.tsx?|\.mjs)|(?:[a-z][a-z0-9-]*\/)+[a-z][a-z0-9-]*)`/g
/** A file of src/ or test/, as scripts import it from the build. */
const builtFile = /['"`](?:\.{1,2}\/)*(?:dist\/)?((?:src|test)\/[\w/.-]+\.js)['"`]/g

function commentsOf(text: string): string {
  return (text.match(/\/\*\*[\s\S]*?\*\/|\/\/[^\n]*/g) ?? []).join('\n')
}

/** Each ending of a path, since a comment may leave out the first folders. */
function endingsOf(path: string): readonly string[] {
  const parts = path.split('/')
  return parts.map((_part, at) => parts.slice(at).join('/'))
}

function foldersOf(path: string): readonly string[] {
  const folder = dirname(path)
  return folder === '.' ? [] : [folder, ...foldersOf(folder)]
}

/** The key type of a DKIM query (RFC 6376 section 3.5). */
const noFiles: ReadonlySet<string> = new Set(['dns/txt'])

function existsInSource(path: string): boolean {
  return ['', '.ts', '.tsx', '.d.ts'].some((ending) => existsSync(join('src', `${path}${ending}`)))
}

function suggestionFor(path: string): string {
  const same = sources.filter((name) => basename(name, '.ts') === basename(path))
  return same.length === 0 ? 'no file has that name' : `perhaps ${same.join(' or ')}`
}

function matchesOf(text: string, pattern: RegExp): readonly string[] {
  return [...new Set([...text.matchAll(pattern)].map(([, match = '']) => match))]
}

function slugOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')
}

function anchorsOf(page: string): readonly string[] {
  return matchesOf(readFileSync(page, 'utf8'), /^#+ (.+)$/gm).map(slugOf)
}

function linkFault(page: string, target: string): string | null {
  const [path = '', anchor] = target.split('#')
  const file = path === '' ? page : join(dirname(page), path)
  if (!existsSync(file)) return `${page}: links to ${target}, which is not there`
  if (anchor === undefined || !file.endsWith('.md') || anchorsOf(file).includes(anchor)) return null
  return `${page}: links to ${target}, which has no such heading`
}

t.test('the pages that are made from the comments of src/ are current: `npm run docs:index` renews them', async (t) => {
  for (const [page, text] of Object.entries(buildPages(readSources('src')))) {
    t.ok(existsSync(page) && readFileSync(page, 'utf8') === text, `${page} is not current: npm run docs:index`)
  }
})

t.test('the index has a sentence for each file, and the glossary those that name a word', async (t) => {
  const pagesOf = (...files: readonly (readonly [path: string, text: string])[]): Readonly<Record<string, string>> =>
    buildPages(files.map(([path, text]) => ({ path, text })))
  const address = [
    'src/base/mail/address.ts',
    '/**\n * An address: all of it.\n * More. A *part* is one `a.B` of\n * it.\n */',
  ] as const
  const pages = pagesOf(
    address,
    ['src/servers/smtp/session/b.ts', '/** Parses DATA, e.g. Once. Twice. */'],
    ['src/servers/smtp/a.ts', '#!/usr/bin/env node\n/** Lists, without end:\n *\n * - one\n */\n/** Other. */'],
  )
  const rows = (page: string): readonly string[] =>
    (pages[page] ?? '').split('\n').filter((line) => /^(?:- |##)/.test(line))
  t.same(rows(INDEX_PAGE), [
    '## servers/smtp/',
    '- `servers/smtp/a`: Lists, without end.',
    '### servers/smtp/session/',
    '- `servers/smtp/session/b`: Parses DATA, e.g. Once.',
    '## base/mail/',
    '- `base/mail/address`: An address: all of it.',
  ])
  t.same(rows(GLOSSARY_PAGE), ['- **part** (`base/mail/address`): A *part* is one `a.B` of it.'])
  t.throws(() => pagesOf(address, ['src/base/mail/c.ts', '/** A *part* of c. */']), /"part" is defined in/)
})

t.test('each line of a journey names a file and what is in it', async (t) => {
  const text = readFileSync('docs/architecture.md', 'utf8')
  const lines = [...text.matchAll(/^```\n(.*?)^```/gms)].flatMap(([, chain = '']) => chain.trimEnd().split('\n'))
  t.ok(lines.length > 60, `${lines.length} lines`)
  for (const line of lines) {
    const [, path = '', name = ''] = /^ *(\S+) (\w+)(?: |$)/.exec(line) ?? []
    const declaration = new RegExp(`(?:function|class|const) ${name}\\b|^  (?:[a-z]+ )*${name}(?:[(:<]| =)`, 'm')
    t.ok(existsInSource(path) && declaration.test(readFileSync(join('src', `${path}.ts`), 'utf8')), line.trim())
  }
})

t.test('pages name files below src/ that exist, with or without src/', async (t) => {
  const faults = pages.flatMap((page) =>
    [srcPath, sourcePath]
      .flatMap((pattern) => matchesOf(readFileSync(page, 'utf8'), pattern))
      .filter((path) => !/[A-Z]{2}/.test(path) && !existsInSource(path))
      .map((path) => `${page}: src/${path}: ${suggestionFor(path)}`),
  )
  t.same(faults, [])
})

t.test('pages name tests, scripts and other files of the project that exist', async (t) => {
  const faults = pages.flatMap((page) =>
    matchesOf(readFileSync(page, 'utf8'), projectPath)
      .filter((path) => !existsSync(path))
      .map((path) => `${page}: ${path}`),
  )
  t.same(faults, [])
})

t.test('links between pages lead to pages and headings that exist', async (t) => {
  const faults = pages.flatMap((page) =>
    matchesOf(readFileSync(page, 'utf8'), link).flatMap((target) => linkFault(page, target) ?? []),
  )
  t.same(faults, [])
})

t.test('the boundaries of docs/security.md name tests that exist', async (t) => {
  const text = readFileSync('docs/security.md', 'utf8')
  const table = text.slice(text.indexOf('\n## Boundaries'), text.indexOf('\n## TLS'))
  const rows = table.split('\n').filter((line) => /^\| (?!boundary|--|\*\*)/.test(line) && !line.startsWith('|--'))
  t.ok(rows.length >= 40, `${rows.length} boundaries`)
  for (const row of rows) {
    const [, file = '', name = ''] = /\| `(test\/[\w/.-]+\.test\.ts)`: "(.+)" \|$/.exec(row) ?? []
    t.ok(isTest(file, name), row)
  }
})

t.test('the promises of docs/upgrading.md name tests and scripts that exist', async (t) => {
  const text = readFileSync('docs/upgrading.md', 'utf8')
  const table = text.slice(text.indexOf('\n## What a version promises'), text.indexOf('\n## What may change'))
  const rows = table.split('\n').filter((line) => /^\| (?!subject)/.test(line))
  t.ok(rows.length >= 10, `${rows.length} promises`)
  for (const row of rows) {
    const tests = [...row.matchAll(/`(test\/[\w/.-]+\.test\.ts)`: ("[^"]+"(?:; "[^"]+")*)/g)]
    t.ok(tests.length > 0 || /`scripts\/[\w-]+` \|$/.test(row), row)
    for (const [, file = '', names = ''] of tests) {
      for (const name of names.slice(1, -1).split('"; "')) t.ok(isTest(file, name), `${file}: ${name}`)
    }
  }
})

function isTest(file: string, name: string): boolean {
  const source = existsSync(file) ? readFileSync(file, 'utf8') : ''
  return name !== '' && [`'${name}'`, `"${name}"`].some((quoted) => source.includes(quoted))
}

t.test('the tables of the pages on events and webhooks have every event type', async (t) => {
  for (const [page, rows] of [
    ['docs/events.md', /^\| (`[a-z]+\.[a-z_]+`) \|/gm],
    ['docs/webhooks.md', /^\| [a-z ]+ \| ((?:`[a-z]+\.[a-z_]+`(?:, )?)+) \|$/gm],
  ] as const) {
    const types = matchesOf(readFileSync(page, 'utf8'), rows).flatMap((cell) => cell.replaceAll('`', '').split(', '))
    t.same(types.toSorted(), eventTypes.toSorted(), page)
  }
})

t.test('comments name files that exist', async (t) => {
  const code = [...readSources('src'), ...readSources('test')]
  const files = [...code, ...readSources('scripts', /./)].map(({ path }) => path.replace(/\.[a-z]+$/, ''))
  const folders = new Set(files.flatMap(foldersOf).flatMap(endingsOf))
  const known = new Set([...files.flatMap(endingsOf), ...folders, ...noFiles])
  // A path without an ending names a file if it begins with a folder: a media type does not.
  const isFile = (name: string): boolean => name.includes('.') || folders.has(name.slice(0, name.indexOf('/')))
  const faultsOf = (path: string, text: string): readonly string[] =>
    matchesOf(commentsOf(text), fileInComment)
      .filter((name) => isFile(name) && !known.has(name.replace(/\.[a-z]+$/, '')))
      .map((name) => `${path}: ${name}: ${suggestionFor(name)}`)
  t.same(
    code.flatMap(({ path, text }) => faultsOf(path, text)),
    [],
  )
  const names = ['mail/adress.ts', 'base/mail/adress', 'adress.ts', 'mail/address', 'text/plain']
  const stale = faultsOf('a.ts', `// ${names.map((name) => `\`${name}\``).join(' ')}`)
  t.equal(stale.length, 3, 'the first three are found')
})

t.test('scripts import files of the build that exist', async (t) => {
  const faults = readSources('scripts', /./).flatMap(({ path, text }) =>
    matchesOf(text, builtFile)
      .filter((file) => !['.ts', '.tsx', '.d.ts'].some((ending) => existsSync(file.replace(/\.js$/, ending))))
      .map((file) => `${path}: ${file}`),
  )
  t.same(faults, [])
})

t.test('npm scripts that pages name exist', async (t) => {
  const faults = pages.flatMap((page) =>
    matchesOf(readFileSync(page, 'utf8'), npmScript)
      .filter((name) => !npmScripts.includes(name))
      .map((name) => `${page}: npm run ${name}`),
  )
  t.same(faults, [])
})

t.test('every decision is listed, and has at most 40 lines', async (t) => {
  const listed = readFileSync('docs/decisions/README.md', 'utf8')
  for (const name of readdirSync('docs/decisions').filter((name) => name !== 'README.md')) {
    t.match(listed, `(${name})`, `${name} is listed`)
    const lines = readFileSync(join('docs/decisions', name), 'utf8').trimEnd().split('\n').length
    t.ok(lines <= 40, `${name} has ${lines} lines`)
  }
})
