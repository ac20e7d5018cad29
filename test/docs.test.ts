/**
 * What the pages name is there: files of src/, test/ and scripts/, npm scripts, links between pages.
 * A page that still names a file after it moved fails here, with the file of that name that exists.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import t from 'tap'

const pages = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  ...readdirSync('docs', { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name)),
]
const rooms = readdirSync('src', { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)
const sources = readdirSync('src', { recursive: true, encoding: 'utf8' })
const npmScripts = Object.keys(
  (JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> }).scripts,
)

/** Paths below src/, with or without `src/` and `.ts`; `mail/domain` within a longer path or a URL is none. */
const sourcePath = new RegExp(
  `(?<![\\w/.:@-])(?:src/)?((?!config/monitoring/)(?:${rooms.join('|')})/[a-z][\\w/-]*)(?![\\w-]|\\.toml)(?:\\.ts)?`,
  'g',
)
/** Capitals stand for a name that the reader chooses: `src/api/RESOURCE/`. */
const srcPath = /(?<![\w/.-])src\/([\w/-]*\w)(?:\.ts)?/g
const projectPath =
  /(?<![\w/.-])((?:(?:test|scripts|systemd|docs)\/[\w/.-]*|config\/(?:monitoring\/[\w.-]*|[\w-]+\.tom))\w)/g
const npmScript = /npm run ([\w:-]+)/g
const link = /\]\((?!https?:)([^)\s]+)\)/g

function existsInSource(path: string): boolean {
  return existsSync(join('src', path)) || existsSync(join('src', `${path}.ts`))
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

t.test('the architecture page names files of src/ that exist', async (t) => {
  const text = readFileSync('docs/architecture.md', 'utf8')
  const named = matchesOf(text, sourcePath)
  t.ok(named.length > 100, 'it names files')
  t.same(
    named.filter((path) => !existsInSource(path)).map((path) => `${path}: ${suggestionFor(path)}`),
    [],
  )
})

t.test('the index of behaviours is long enough, and each row names a file', async (t) => {
  const text = readFileSync('docs/architecture.md', 'utf8')
  const index = text.slice(text.indexOf('\n## Where is'), text.indexOf('\n## The way out'))
  const rows = index.split('\n').filter((line) => line.startsWith('| ') && !line.startsWith('| behaviour'))
  t.ok(rows.length >= 40, `${rows.length} rows`)
  t.same(
    rows.filter((row) => [...row.matchAll(sourcePath)].length === 0),
    [],
  )
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
    const source = existsSync(file) ? readFileSync(file, 'utf8') : ''
    t.ok(name !== '' && [`'${name}'`, `"${name}"`].some((quoted) => source.includes(quoted)), row)
  }
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
