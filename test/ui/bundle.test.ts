/** What the build made: small, without inline code, and served under the policy of the dashboard. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { testDaemon } from '../helpers/daemon/test-daemon.js'

const FOLDER = 'dist/ui'
/** Bytes, gzipped. */
const MAX_BUNDLE = 150 * 1_024

const files = readdirSync(FOLDER, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map(({ parentPath, name }) => join(parentPath, name))

t.test('all files together are small', async (t) => {
  const sizes = files.map((file) => gzipSync(readFileSync(file)).length)
  const total = sizes.reduce((sum, size) => sum + size, 0)
  t.ok(files.length > 5)
  t.ok(total < MAX_BUNDLE, `${total} bytes`, { sizes: files.map((file, at) => `${file} ${sizes[at]}`) })
})

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
