/** What the build made: small, without inline code, and served under the policy of the dashboard. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { testDaemon } from '../helpers/daemon/test-daemon.js'

const FOLDER = 'dist/ui'
/** Bytes, gzipped: the shell and one page with all that they import at once. */
const MAX_FIRST_LOAD = 150 * 1_024

const files = readdirSync(FOLDER, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map(({ parentPath, name }) => join(parentPath, name))

t.test('no page loads much before it shows something', async (t) => {
  const shell = [join(FOLDER, 'index.html'), ...namedIn(join(FOLDER, 'index.html'))].flatMap((name) =>
    withImports(name),
  )
  t.ok(files.length > 5)
  for (const file of files.filter((name) => name.endsWith('.js'))) {
    const loaded = [...new Set([...shell, ...withImports(file)])]
    const sizes = loaded.map((name) => gzipSync(readFileSync(name)).length)
    const total = sizes.reduce((sum, size) => sum + size, 0)
    t.ok(total < MAX_FIRST_LOAD, `${file}: ${total} bytes`, { sizes: loaded.map((name, at) => `${name} ${sizes[at]}`) })
  }
})

/** The assets that the page names. */
function namedIn(html: string): readonly string[] {
  return [...readFileSync(html, 'utf8').matchAll(/(?:src|href)="\/ui\/(assets\/[^"]+)"/g)].map(([, name = '']) =>
    join(FOLDER, name),
  )
}

/** A file and all that it imports at once. It loads the rest when it is needed. */
function withImports(file: string, known: readonly string[] = []): readonly string[] {
  if (known.includes(file)) return known
  const text = file.endsWith('.js') ? readFileSync(file, 'utf8') : ''
  return [...text.matchAll(/(?:from|import)\s*["'`]\.\/([^"'`]+\.js)["'`]/g)].reduce<readonly string[]>(
    (all, [, name = '']) => withImports(join(FOLDER, 'assets', name), all),
    [...known, file],
  )
}

t.test('the page has no inline code and no address outside', async (t) => {
  const html = readFileSync(join(FOLDER, 'index.html'), 'utf8')
  t.notMatch(html, /<script(?![^>]*\ssrc=)/)
  t.notMatch(html, /<style|\sstyle=|\son\w+=/)
  t.notMatch(html, /(?:src|href)="(?!\/ui\/assets\/)/)
})

t.test('no script makes code from text, or HTML from values', async (t) => {
  for (const file of files.filter((name) => name.endsWith('.js'))) {
    t.notMatch(readFileSync(file, 'utf8'), /\beval\(|new Function\(/, file)
  }
})

t.test('every path of the dashboard answers its page, and assets are kept for long', async (t) => {
  const app = await testDaemon(t)
  const ask = (path: string) => app.rest('GET', path, { key: null, headers: { accept: 'text/html' } })
  for (const path of ['/ui/', '/ui/domains', '/ui/domains/some-id', '/ui/set-password?token=x']) {
    const answer = await ask(path)
    t.equal(answer.status, 200, path)
    t.match(answer.headers['content-security-policy'], /default-src 'none'/)
    t.notMatch(answer.headers['content-security-policy'], /unsafe/)
  }
  const asset = files.find((name) => name.endsWith('.js'))?.slice('dist'.length) ?? ''
  const answer = await ask(asset)
  t.equal(answer.status, 200)
  t.match(answer.headers['cache-control'], /immutable/)
})
