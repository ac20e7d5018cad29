/** What a browser loads of the dashboard: its files, and HTML of messages in frames; with the headers that restrict it. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { Agent, request } from 'undici'
import { uuidv7 } from '../../src/base/platform/ids.js'
import { storeInbound } from '../../src/records/messages/inbound/inbound-email.js'
import { type TestDaemon, testDaemon } from '../helpers/daemon/test-daemon.js'
import { temporaryFolder } from '../helpers/database/database.js'
import { givePassword, openBrowser } from '../helpers/http/browser-client.js'
import type { RestAnswer } from '../helpers/http/rest-client.js'
import { inboundMail } from '../helpers/mail/inbound-mail.js'

const INDEX = '<!doctype html><title>Posthorn</title><script type="module" src="/ui/assets/index.abc.js"></script>'
const SCRIPT = `export const text = '${'x'.repeat(5_000)}'`

function writeFiles(t: Test): string {
  const folder = temporaryFolder(t)
  mkdirSync(join(folder, 'assets'))
  writeFileSync(join(folder, 'index.html'), INDEX)
  writeFileSync(join(folder, 'favicon.svg'), '<svg xmlns="http://www.w3.org/2000/svg"/>')
  writeFileSync(join(folder, 'assets', 'index.abc.js'), SCRIPT)
  return folder
}

interface Loaded {
  readonly status: number
  readonly headers: RestAnswer['headers']
  readonly bytes: Buffer
  readonly text: string
}

/** A GET with these fields: its status, its header fields and its bytes. */
async function load(
  t: Test,
  { daemon }: TestDaemon,
  path: string,
  headers: Record<string, string> = {},
): Promise<Loaded> {
  const agent = new Agent({ connect: { ca: daemon.tls.cert, servername: 'localhost' } })
  t.teardown(() => agent.destroy())
  const endpoint = daemon.api[0]
  if (endpoint === undefined || endpoint.kind === 'unix') throw new Error('no port')
  const answer = await request(`https://127.0.0.1:${endpoint.port}${path}`, { dispatcher: agent, headers })
  const bytes = Buffer.from(await answer.body.arrayBuffer())
  return { status: answer.statusCode, headers: answer.headers, bytes, text: bytes.toString() }
}

t.test('a dashboard that is turned off leaves the pages that links in mail lead to', async (t) => {
  const app = await testDaemon(t, { uiFolder: writeFiles(t), settings: { ui: { enabled: false } } })
  const start = await load(t, app, '/ui/')
  t.same([start.status, start.text.includes('This is a mail server')], [200, true])
  for (const [path, status] of [
    ['/ui/docs', 200],
    ['/ui/emails', 404],
    ['/ui/assets/index.abc.js', 404],
    ['/ui/api/session', 404],
    ['/ui/api/v1/domains', 404],
  ] as const)
    t.equal((await load(t, app, path)).status, status, path)
  const made = await app.cli('workspace', 'create', 'Third', '--email', 'third@a.test', '--json')
  t.match(made.json(), { set_password_url: null })
})

t.test('the shell answers every path of the dashboard, and may do nothing but load its own files', async (t) => {
  const app = await testDaemon(t, { uiFolder: writeFiles(t) })
  for (const path of ['/ui/', '/ui/emails', '/ui/domains/01a1/records', '/ui/set-password?token=x']) {
    const { status, headers, text } = await load(t, app, path)
    t.same([status, text], [200, INDEX], path)
    t.match(headers, {
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-cache',
      'x-frame-options': 'DENY',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'same-origin',
      'cross-origin-opener-policy': 'same-origin',
    })
    const policy = String(headers['content-security-policy'])
    for (const part of [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "frame-ancestors 'none'",
      "base-uri 'none'",
    ]) {
      t.ok(policy.split('; ').includes(part), part)
    }
    t.notMatch(policy, /unsafe/)
  }
  const { etag } = (await load(t, app, '/ui/')).headers
  t.equal((await load(t, app, '/ui/', { 'if-none-match': String(etag) })).status, 304)
  t.equal((await load(t, app, '/ui')).status, 302)
  t.match((await load(t, app, '/ui/docs')).text, /<h1/, 'the page of the interface stays')
  t.equal((await load(t, app, '/ui/invitation')).status, 404, 'an invitation without a token')
  t.equal((await app.rest('POST', '/ui/emails', { key: null })).status, 404, 'it takes no form')
})

t.test('assets are compressed, and kept for a year', async (t) => {
  const app = await testDaemon(t, { uiFolder: writeFiles(t) })
  const path = '/ui/assets/index.abc.js'
  const plain = await load(t, app, path)
  t.same([plain.status, plain.text], [200, SCRIPT])
  t.match(plain.headers, {
    'content-type': 'text/javascript; charset=utf-8',
    'cache-control': 'public, max-age=31536000, immutable',
    vary: 'Accept-Encoding',
  })
  const br = await load(t, app, path, { 'accept-encoding': 'gzip, deflate, br, zstd' })
  t.equal(br.headers['content-encoding'], 'br')
  t.equal(brotliDecompressSync(br.bytes).toString(), SCRIPT)
  const gzip = await load(t, app, path, { 'accept-encoding': 'gzip' })
  t.equal(gzip.headers['content-encoding'], 'gzip')
  t.equal(gunzipSync(gzip.bytes).toString(), SCRIPT)
  t.match((await load(t, app, '/ui/favicon.svg')).headers, {
    'content-type': 'image/svg+xml',
    'cache-control': 'no-cache',
  })
  for (const other of ['/ui/assets/none.js', '/ui/assets/', '/ui/assets/..%2findex.html']) {
    t.equal((await load(t, app, other)).status, 404, other)
  }
})

t.test('each coding of a file has an ETag of its own', async (t) => {
  const app = await testDaemon(t, { uiFolder: writeFiles(t) })
  for (const path of ['/ui/assets/index.abc.js', '/ui/emails']) {
    const tags: string[] = []
    const codings = [undefined, 'gzip', 'br'] as const
    const fieldsOf = (coding: (typeof codings)[number]) => (coding === undefined ? {} : { 'accept-encoding': coding })
    for (const coding of codings) {
      const { headers } = await load(t, app, path, fieldsOf(coding))
      t.match(headers, { vary: 'Accept-Encoding' })
      t.equal(headers['content-encoding'], coding, path)
      tags.push(String(headers['etag']))
    }
    t.equal(new Set(tags).size, 3, tags.join())
    for (const [at, coding] of codings.entries()) {
      const others = tags.filter((tag) => tag !== tags[at]).join(', ')
      const changed = await load(t, app, path, { ...fieldsOf(coding), 'if-none-match': others })
      t.same([changed.status, changed.headers['etag']], [200, tags[at]], 'the tags of other codings do not count')
      const same = await load(t, app, path, { ...fieldsOf(coding), 'if-none-match': `${others}, W/${tags[at]}` })
      t.same([same.status, same.headers['etag'], same.bytes.length], [304, tags[at], 0])
      t.match(same.headers, { vary: 'Accept-Encoding' })
    }
  }
})

t.test('without a build there is the start page, and no shell', async (t) => {
  const app = await testDaemon(t, { uiFolder: join(temporaryFolder(t), 'none') })
  t.match((await load(t, app, '/ui/')).text, /It has no mailboxes to read/)
  t.equal((await load(t, app, '/ui/emails')).status, 404)
})

const HOSTILE = `<html><body onload="alert(1)"><script>alert(2)</script><img src="cid:logo@x"><img src=https://evil.test/p.gif>
<form action="https://evil.test"><input name=a></form></body></html>`
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

const MESSAGE = [
  'From: Eve <eve@evil.test>',
  'To: info@a.test',
  'Subject: <script>alert(0)</script>',
  'MIME-Version: 1.0',
  'Content-Type: multipart/related; boundary=b',
  '',
  '--b',
  'Content-Type: text/html; charset=utf-8',
  '',
  ...HOSTILE.split('\n'),
  '--b',
  'Content-Type: image/png',
  'Content-ID: <logo@x>',
  'Content-Disposition: inline; filename=a.png',
  'Content-Transfer-Encoding: base64',
  '',
  PNG,
  '--b--',
  '',
].join('\r\n')

t.test('HTML of a message is a document without script, origin and network, in frames of ours only', async (t) => {
  const app = await testDaemon(t)
  await givePassword(app)
  const browser = openBrowser(app)
  await browser.signIn('owner@a.test')
  const sent = await app.rest('POST', '/v1/emails', {
    body: { from: 'app@a.test', to: 'bob@b.test', subject: 's', html: HOSTILE },
  })
  const inboundId = uuidv7(app.now())
  const received = inboundMail({ id: inboundId, workspace_id: app.workspaceId, domain: 'a.test' })
  await app.daemon.database.commit(storeInbound(received, Buffer.from(MESSAGE)))
  const preview = await browser.ask('POST', '/previews', { body: { html: HOSTILE } })
  t.equal(preview.status, 201, preview.text)
  const { id } = preview.json<{ id: string }>()
  const paths = [
    `/frames/${app.workspaceId}/emails/${sent.json<{ id: string }>().id}`,
    `/frames/${app.workspaceId}/inbound/${inboundId}`,
    `/frames/previews/${id}`,
  ]
  for (const path of paths) {
    const { status, headers, text } = await browser.ask('GET', path)
    t.equal(status, 200, text)
    t.match(text, '<script>alert(2)</script>', 'as it is')
    t.match(headers, {
      'content-type': 'text/html; charset=utf-8',
      'x-frame-options': 'SAMEORIGIN',
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'content-security-policy': /^sandbox; default-src 'none'; img-src data:; style-src 'unsafe-inline'; /,
    })
    t.equal((await openBrowser(app).ask('GET', path)).status, 401, 'only for people who are signed in')
    const framed = await browser.ask('GET', path, { headers: { 'sec-fetch-site': 'cross-site' } })
    t.equal(framed.status, 403, 'not in a page of another site')
  }
  t.match((await browser.ask('GET', paths[1] ?? '')).text, `<img src="data:image/png;base64,${PNG}">`)
  const [ofEmail = '', ofInbound = ''] = paths
  for (const path of [ofEmail, ofInbound]) {
    const foreign = path.replace(app.workspaceId, app.otherWorkspaceId)
    t.equal((await browser.ask('GET', foreign)).status, 403, 'a workspace that is not mine')
  }
  await givePassword(app, 'owner@other.test')
  const theirs = openBrowser(app)
  await theirs.signIn('owner@other.test')
  t.equal((await theirs.ask('GET', `/frames/previews/${id}`)).status, 404, 'a preview of another session')
  const moved = ofEmail.replace(app.workspaceId, app.otherWorkspaceId)
  t.equal((await theirs.ask('GET', moved)).status, 404, 'a message of another workspace')
  app.advance(600_000)
  t.equal((await browser.ask('GET', `/frames/previews/${id}`)).status, 404, 'after ten minutes')
  t.same(app.errors, [])
})
