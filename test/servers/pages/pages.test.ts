/** Pages for people beside the dashboard: their HTML, what a browser may do with it, and answers to forms. */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import fc from 'fast-check'
import { Parser } from 'htmlparser2'
import t, { type Test } from 'tap'
import { parseAddress } from '../../../src/base/mail/address.js'
import { escapeHtml, html } from '../../../src/base/mail/markup.js'
import { uuidv7 } from '../../../src/base/platform/ids.js'
import { eventTypes } from '../../../src/records/events/payloads.js'
import { insertUser } from '../../../src/workspaces/accounts/people/users.js'
import { type TestDaemon, testDaemon } from '../../helpers/daemon/test-daemon.js'
import { temporaryFolder } from '../../helpers/database/database.js'
import { inviteMember } from '../../helpers/http/invite-member.js'
import type { RestAnswer } from '../../helpers/http/rest-client.js'

interface Seen {
  readonly tags: readonly string[]
  readonly attributes: readonly (readonly [name: string, value: string])[]
  readonly text: string
}

/** As an HTML parser reads it. */
function parsePage(page: string): Seen {
  const tags: string[] = []
  const attributes: (readonly [string, string])[] = []
  let text = ''
  const parser = new Parser({
    onopentag: (name, found) => {
      tags.push(name)
      attributes.push(...Object.entries(found))
    },
    ontext: (piece) => {
      text += piece
    },
  })
  parser.end(page)
  return { tags, attributes, text }
}

const attribute = (page: string, name: string, of: string): string | undefined =>
  new RegExp(`<${of}[^>]* ${name}="([^"]*)"`).exec(page)?.[1]

t.test('any value stays text, in content and in attributes', async (t) => {
  const anything = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string({ unit: fc.constantFrom('<', '>', '"', "'", '&', '/', '=', ' ', 'a', '-', '!') }),
  )
  fc.assert(
    fc.property(anything, (value) => {
      const { tags, attributes } = parsePage(html`<p title="${value}">${value}</p>`.text)
      return tags.join() === 'p' && attributes.length === 1
    }),
  )
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme-ascii' }), (value) => {
      const { attributes, text } = parsePage(html`<p title="${value}">${value}</p>`.text)
      return text === value && attributes[0]?.[1] === value
    }),
  )
  t.equal(escapeHtml(`<a href="x">&'\0`), '&lt;a href=&quot;x&quot;&gt;&amp;&#39;')
  t.equal(html`${[html`<i>${1}</i>`, html`<b></b>`]}${null}`.text, '<i>1</i><b></b>')
})

const page = (
  app: TestDaemon,
  path: string,
  form?: Readonly<Record<string, string>>,
  headers = {},
): Promise<RestAnswer> =>
  app.rest(form === undefined ? 'GET' : 'POST', path, {
    key: null,
    ...(form === undefined ? {} : { body: new URLSearchParams(form).toString() }),
    headers: { ...(form === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' }), ...headers },
  })

const themeScript = /<script src="(?:\.\.\/)?assets\/first-theme-[\w-]+\.js"><\/script>/

/**
 * The page runs and loads nothing but the script of the color scheme, if its policy allows it, and its one style is the one that
 * its policy names.
 */
function harmless(t: Test, answer: RestAnswer): void {
  const { tags, attributes } = parsePage(answer.text.replace(themeScript, ''))
  t.same(
    tags.filter((tag) => ['script', 'img', 'link', 'iframe', 'object', 'base', 'meta'].includes(tag) && tag !== 'meta'),
    [],
  )
  t.same(
    attributes.filter(([name]) => name.startsWith('on') || name === 'style' || name === 'src'),
    [],
  )
  const addresses = attributes.filter(([name]) => name === 'href' || name === 'action').map(([, value]) => value)
  t.same(
    addresses.filter((value) => new URL(value, 'https://own.test/prefix/ui/page').origin !== 'https://own.test'),
    [],
    'all addresses are our own',
  )
  t.same(
    addresses.filter((value) => value.startsWith('/')),
    [],
    'and stay under the path of `public_url`',
  )
  const style = /<style>([\s\S]*)<\/style>/.exec(answer.text)?.[1] ?? ''
  t.notMatch(style, /url\(|@import/)
  const policy = String(answer.headers['content-security-policy'])
  t.match(policy, `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`)
  t.match(
    policy,
    /^default-src 'none';.*form-action 'self'; frame-ancestors 'none'; base-uri 'none'(?:; script-src 'self')?$/,
  )
  t.equal(policy.includes('script-src'), themeScript.test(answer.text))
  t.match(answer.headers, {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'same-origin',
    'x-frame-options': 'DENY',
  })
}

/** The pages of all resources, which the first page of the documentation links to. */
async function readDocs(app: TestDaemon): Promise<readonly RestAnswer[]> {
  const home = await page(app, '/ui/docs')
  const links = parsePage(home.text).attributes.flatMap(([name, value]) =>
    name === 'href' && /^docs\/[a-z-]+$/.test(value) ? [value] : [],
  )
  return [home, ...(await Promise.all([...new Set(links)].map((link) => page(app, `/ui/${link}`))))]
}

t.test('the documentation has a page for each resource, with every endpoint, its fields and its codes', async (t) => {
  const app = await testDaemon(t)
  const all = await readDocs(app)
  t.ok(all.length > 15)
  for (const docs of all) {
    t.equal(docs.status, 200)
    harmless(t, docs)
    const { attributes } = parsePage(docs.text)
    const ids = attributes.filter(([name]) => name === 'id').map(([, value]) => value)
    t.equal(new Set(ids).size, ids.length)
    const jumps = attributes.flatMap(([name, value]) =>
      name === 'href' && value.startsWith('#') ? [value.slice(1)] : [],
    )
    t.same(
      jumps.filter((id) => !ids.includes(id)),
      [],
      'every jump has its place',
    )
  }
  const html = all.map(({ text }) => text).join('\n')
  const { text } = parsePage(html)
  for (const { method, path } of app.daemon.routes) {
    const shown = `/v1${path.replace(/:(\w+)/g, '{$1}')}`
    t.ok(text.includes(`${method}${shown}`), `${method} ${path}`)
  }
  for (const type of eventTypes) t.ok(text.includes(`EVENT${type}`), type)
  for (const word of [
    'bounce_subtype',
    'X-Service-Signature',
    'to[].email_address.address',
    'validation_error',
    'Needs no key.',
    'Bearer KEY',
    'owner_id',
  ]) {
    t.ok(text.includes(word), word)
  }
  t.notMatch(text, /undefined|\[object|NaN|-9007/)
  const rows = html.split('<tr>').map((row) => parsePage(row).text.trim())
  const rowOf = (start: string): string | undefined => rows.find((row) => row.startsWith(start))
  t.match(rowOf('limitinteger, query'), /From 1 to 100\./, 'bounds of parameters')
  t.match(rowOf('scopeslist of string'), /"full", "send", "read"/, 'words of a list')
  t.match(rowOf('filerequired'), /^filerequiredfile/, 'what comes as a file')
  t.ok(rowOf('attachments[].file_cache_keystring'), 'what only one of two forms needs is not required')
  t.ok(rowOf('from.addressrequired'))
  t.ok(rowOf('data.member_countinteger'), 'what an answer always has is not called required')
  t.notMatch(text, '`')
  for (const sample of [
    `curl '${app.config.service.public_url}/v1/emails' \\\n  -H 'Authorization: Bearer KEY'`,
    `-X DELETE '${app.config.service.public_url}/v1/suppressions?email=bob%40example.com'`,
    `-F 'file=@FILE'`,
    '"subject": "Your bill"',
    '"dkim_keys": [',
    'await fetch(',
    'requests.request(',
    'curl_setopt_array(',
  ]) {
    t.ok(text.includes(sample), sample)
  }
  t.match(html, /<input type="checkbox" id="index"><label for="index">/, 'the index folds without a script')
  t.ok(html.includes('href="../try/'), 'an operation leads to its trial')
})

t.test('the documentation is searched without a script', async (t) => {
  const app = await testDaemon(t)
  const search = async (words: string) => page(app, `/ui/docs?q=${encodeURIComponent(words)}`)
  const found = await search('REPLAY range')
  harmless(t, found)
  t.match(parsePage(found.text).text, /1 result has these words\./)
  t.match(found.text, /href="docs\/webhooks#\w+"/)
  t.match(parsePage((await search('scheduled_for')).text).text, /POST\s*\/v1\/emails/, 'by a field of the request')
  const hostile = await search('"><script>alert(1)</script>')
  harmless(t, hostile)
  t.match(parsePage(hostile.text).text, /No operation has all these words\./)
  t.equal((await search(' ')).text, (await page(app, '/ui/docs')).text)
  t.notMatch((await page(app, '/ui/docs/nothing')).text, 'aria-label="Resources"')
})

t.test('the address of the service leads browsers to its pages, and programs get the usual answer', async (t) => {
  const app = await testDaemon(t, { uiFolder: join(temporaryFolder(t), 'none') })
  const browser = { accept: 'text/html,application/xhtml+xml;q=0.9,*/*;q=0.8' }
  for (const path of ['/', '/?next=https://evil.test/', '/ui', '/ui?next=//evil.test']) {
    const answer = await page(app, path, undefined, browser)
    t.same([answer.status, answer.headers['location'], answer.text], [302, 'ui/', ''], path)
    const head = await app.rest('HEAD', path, { key: null, headers: browser })
    t.same([head.status, head.headers['location']], [302, 'ui/'], `HEAD ${path}`)
  }
  for (const headers of [{}, { accept: '*/*' }, { accept: 'application/json' }] as const) {
    const answer = await page(app, '/', undefined, headers)
    t.match(answer, { status: 404, headers: { 'content-type': /json/ } }, JSON.stringify(headers))
    t.match(answer.json(), { error: { code: 'not_found' } })
  }
  t.equal((await app.rest('POST', '/', { key: null, headers: browser, body: {} })).status, 404)
  const start = await page(app, '/ui/')
  t.equal(start.status, 200)
  harmless(t, start)
  const links = parsePage(start.text).attributes.filter(([name]) => name === 'href')
  for (const [, link] of links) {
    const { pathname } = new URL(link, 'https://own.test/ui/')
    t.equal((await page(app, pathname)).status, 200, `${link} leads somewhere`)
  }
  t.equal(links.length, 2)
  t.same(app.errors, [])
})

const password = 'correct horse battery'

t.test('an invitation is accepted with a plain form, once', async (t) => {
  const app = await testDaemon(t)
  await app.rest('PATCH', `/v1/workspaces/${app.workspaceId}`, { body: { name: '<script>alert(1)</script>' } })
  const token = await inviteMember(app, 'nina@b.test')
  const form = await page(app, `/ui/invitation?token=${token}`)
  t.equal(form.status, 200)
  harmless(t, form)
  t.match(parsePage(form.text).text, /owner@a\.test invites nina@b\.test to <script>alert\(1\)<\/script> as a member/)
  t.equal(attribute(form.text, 'action', 'form'), 'invitation')
  t.equal(attribute(form.text, 'value', 'input type="hidden" name="token"'), token)

  const filled = { token, full_name: 'Nina "Neu"', password: 'shorty' }
  const again = await page(app, '/ui/invitation', filled)
  t.equal(again.status, 400)
  harmless(t, again)
  t.match(parsePage(again.text), { text: /at least 12 characters/ })
  t.ok(
    parsePage(again.text).attributes.some(([, value]) => value === 'Nina "Neu"'),
    'the name is not lost',
  )
  t.notMatch(again.text, 'shorty', 'the password does not come back')

  const done = await page(app, '/ui/invitation', { ...filled, password })
  t.equal(done.status, 201)
  harmless(t, done)
  const key = /ph_[\w-]{43}/.exec(done.text)?.[0] ?? ''
  t.equal((await app.rest('GET', '/v1/emails', { key })).status, 200)
  const twice = await page(app, '/ui/invitation', { ...filled, password })
  t.equal(twice.status, 409)
  t.match(parsePage(twice.text).text, /accepted already/)
  t.equal((await page(app, `/ui/invitation?token=${token}`)).status, 409)

  const second = await inviteMember(app, 'nina@b.test', { workspaceId: app.otherWorkspaceId, key: app.otherKey })
  const known = await page(app, `/ui/invitation?token=${second}`)
  t.match(parsePage(known.text).text, /has an account here/)
  t.notMatch(known.text, /name="full_name"/)
  t.equal((await page(app, '/ui/invitation', { token: second, password: 'a wrong password' })).status, 403)
  t.equal((await page(app, '/ui/invitation', { token: second, password })).status, 201)
  t.same(app.errors, [])
})

t.test('a foreign form is refused with a page', async (t) => {
  const app = await testDaemon(t, { uiFolder: join(temporaryFolder(t), 'none') })
  const token = await inviteMember(app, 'nina@b.test')
  const form = { token, full_name: 'Nina', password }
  const cases: readonly (readonly [what: string, status: number, answer: Promise<RestAnswer>])[] = [
    ['of another site', 403, page(app, '/ui/invitation', form, { origin: 'https://evil.test' })],
    ['of nowhere', 403, page(app, '/ui/invitation', form, { origin: 'null' })],
    ['of another site, without an origin', 403, page(app, '/ui/invitation', form, { 'sec-fetch-site': 'cross-site' })],
    ['of another type', 415, app.rest('POST', '/ui/invitation', { key: null, body: form })],
    ['too long', 413, page(app, '/ui/invitation', { ...form, full_name: 'x'.repeat(20_000) })],
    ['at a page without one', 405, page(app, '/ui/docs', form)],
    ['without a token', 404, page(app, '/ui/invitation', { password })],
    ['no token at all', 404, page(app, '/ui/invitation')],
    ['a token that is made up', 404, page(app, `/ui/invitation?token=${'x'.repeat(80)}`)],
    ['no page', 404, page(app, '/ui/nothing')],
    ['no page', 404, page(app, '/ui//')],
    ['at the start', 405, page(app, '/ui/', form)],
  ]
  for (const [what, status, asked] of cases) {
    const answer = await asked
    t.equal(answer.status, status, what)
    t.match(answer.headers, { 'content-type': /^text\/html/ }, what)
  }
  for (const hostile of [
    '"><script>',
    '%00%ff',
    '\u{1F600}\u202e',
    "' onload=x",
    'a'.repeat(7_000),
    `${token}%0d%0a`,
    '%',
  ]) {
    const answer = await page(
      app,
      `/ui/invitation?token=${hostile.includes('%') ? hostile : encodeURIComponent(hostile)}`,
    )
    t.equal(answer.status, 404, hostile.slice(0, 20))
    harmless(t, answer)
  }
  t.equal((await page(app, `/ui/invitation?token=${'x'.repeat(9_000)}`)).status, 414)
  const head = await app.rest('HEAD', `/ui/invitation?token=${token}`, { key: null })
  t.match(head, { status: 200, text: '', headers: { 'content-type': /^text\/html/ } })
  const [endpoint] = app.daemon.api
  if (endpoint === undefined || endpoint.kind === 'unix') throw new Error('no port')
  const own = `https://127.0.0.1:${endpoint.port}`
  t.equal((await page(app, '/ui/invitation', form, { origin: own })).status, 201, 'a browser that shows our own page')
  t.equal((await app.rest('GET', '/uix', { key: null })).status, 404)
  t.match((await app.rest('GET', '/uix', { key: null })).headers, { 'content-type': /json/ })
  t.same(app.errors, [])
})

t.test('an internal error is a page too, and hides its cause', async (t) => {
  const app = await testDaemon(t)
  const token = await inviteMember(app, 'nina@b.test')
  await app.daemon.database.commit([
    insertUser({
      id: uuidv7(1),
      email: parseAddress('nina@b.test'),
      full_name: 'Nina',
      password_hash: 'broken',
      created_at: 1,
    }),
  ])
  const answer = await page(app, '/ui/invitation', { token, password })
  t.equal(answer.status, 500)
  harmless(t, answer)
  t.match(parsePage(answer.text).text, /internal error/)
  t.match(
    app.errors.join(),
    /a stored password has an unknown format.*requestId|requestId.*a stored password has an unknown format/,
  )
})
