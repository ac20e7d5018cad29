/**
 * Random requests to every route, with a key and with a session in a browser: no 5xx, no request without an answer, errors in the form of the interface, and
 * nothing of another workspace read or changed.
 *
 * Requests are made from the routes' own schemas, with values that lead far in and values that are wrong. FUZZ_RUNS
 * is the number of requests for each route (default 12).
 */
import fc from 'fast-check'
import t from 'tap'
import { z } from 'zod'
import { workspaceTables } from '../../../src/base/storage/maintenance/erase.js'
import { type ErrorBody, statusOfCode } from '../../../src/servers/api/http/error-answer.js'
import { isOpenArea, type Route } from '../../../src/servers/api/http/route/route.js'
import { type TestDaemon, testDaemon } from '../../helpers/daemon/test-daemon.js'
import { arbitraryOf } from '../../helpers/http/arbitrary-of-schema.js'
import { givePassword, openBrowser } from '../../helpers/http/browser-client.js'
import { populate } from '../../helpers/http/fuzz-workspace.js'
import { multipart, multipartType } from '../../helpers/http/multipart.js'
import type { RestAnswer } from '../../helpers/http/rest-client.js'

/** Of each route: a request takes much longer than a property of a function. */
const runs = Math.ceil((fc.readConfigureGlobal().numRuns ?? 300) / 75)
/** Milliseconds; longer than any answer takes. */
const PATIENCE = 20_000

const words = [
  'app@a.test',
  'App <app@a.test>',
  'bob@b.test',
  '"odd local"@b.test',
  'jürgen@b.test',
  'gone@b.test',
  'a.test',
  'new.test',
  'hello',
  'Hello {{first_name}}',
  '<p>hello <img src="cid:logo"></p>',
  'aGVsbG8=',
  'Hi {{name}} {{{a.b}}} {{unsubscribe_url}}',
  'logo',
  'text/plain',
  'X-Custom',
  '<id@a.test>',
  'Message-ID',
  '2026-01-01T00:00:00Z',
  '2999-01-01T00:00:00+02:00',
  '192.0.2.0/24',
  'full',
  'send',
  'member',
  '+49 151 23456789',
  '+12125550123',
  'Code {code} for {minutes}',
  '0421',
  '__proto__',
  '',
]

function encodeSegment(text: string): string {
  // A lone surrogate cannot be sent as text.
  return encodeURIComponent(Buffer.from(text).toString())
}

/** A path with a value at every parameter: an id that exists, one that does not, anything. */
function paths({ path }: Route, ids: readonly string[]): fc.Arbitrary<string> {
  const value = fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...ids) }, fc.string({ unit: 'binary' }))
  return value.map((id) => path.replace(/:\w+/g, encodeSegment(id) || 'x'))
}

function queries({ query }: Route, more: readonly string[]): fc.Arbitrary<string> {
  const names = query instanceof z.ZodObject ? Object.keys(query.shape) : []
  const name = fc.oneof(fc.constantFrom('limit', ...names), fc.string({ maxLength: 5 }))
  const value = fc.oneof(
    fc.constantFrom('1', '0', '100', '-1', '9'.repeat(40), 'delivered', 'manual', ...words, ...more),
    fc.string({ unit: 'binary' }),
  )
  return fc
    .array(fc.tuple(name, value), { maxLength: 3 })
    .map((pairs) => pairs.map(([left, right]) => `${encodeSegment(left)}=${encodeSegment(right)}`).join('&'))
}

/** Header fields that no honest client sends. */
const hostile = fc.constantFrom(
  '',
  '{',
  'null',
  '[]',
  '"text"',
  '{"a":1,"a":2}',
  '{"__proto__":{"admin":true}}',
  `${'['.repeat(50_000)}`,
  `{"limit":${'9'.repeat(5000)}}`,
  `"${'x'.repeat(100_000)}"`,
  Buffer.from([0xff, 0xfe, 0x00, 0x7b]),
)

interface Given {
  readonly body: unknown
  readonly headers: Readonly<Record<string, string>>
}

function requestsOf(route: Route, all: readonly string[]): fc.Arbitrary<Given> {
  const { body } = route
  if (route.file !== null) return forms(all)
  if (body === null) return fc.constant({ body: undefined, headers: {} })
  const bodies = fc.oneof({ weight: 12, arbitrary: arbitraryOf(body, all) }, { weight: 1, arbitrary: hostile })
  return bodies.map((value) => ({ body: value, headers: {} }))
}

/** Rows of such words as files, in forms that are valid, cut off, with other parts or another boundary. */
function forms(all: readonly string[]): fc.Arbitrary<Given> {
  const cell = fc.oneof(fc.constantFrom('email', 'first_name', 'reason', ...all), fc.string({ unit: 'binary' }))
  const rows = fc.array(
    fc.array(cell, { maxLength: 4 }).map((cells) => cells.join(',')),
    { maxLength: 4 },
  )
  const part = fc.oneof({ weight: 9, arbitrary: fc.constant('file') }, fc.constantFrom('', 'other', '__proto__'))
  const cut = fc.oneof({ weight: 9, arbitrary: fc.constant(0) }, fc.integer({ min: 1, max: 200 }))
  const type = fc.oneof({ weight: 9, arbitrary: fc.constant(multipartType) }, fc.constantFrom(...otherTypes))
  return fc.tuple(rows, part, cut, type).map(([lines, name, missing, headers]) => {
    const whole = multipart(lines.join('\n'), { part: name })
    return { body: whole.subarray(0, whole.length - missing), headers }
  })
}

const otherTypes = ['text/csv', 'multipart/form-data', 'multipart/form-data; boundary=other'].map((type) => ({
  'content-type': type,
}))

async function waitForAnswer(request: Promise<RestAnswer>): Promise<RestAnswer> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('never answered')), PATIENCE)
  })
  try {
    return await Promise.race([request, late])
  } finally {
    clearTimeout(timer)
  }
}

/** The answer to a click on an unknown link, which people see. */
function isPage({ status, headers }: RestAnswer): boolean {
  return status === 404 && String(headers['content-type']).startsWith('text/html')
}

/** Checks the form of an error. */
function checkError({ status, text, json }: RestAnswer): void {
  const { error } = json<ErrorBody>()
  const known: Readonly<Record<string, number>> = statusOfCode
  if (error.status !== status || known[error.code] !== status || error.message === '') throw new Error(text)
  const errors = error.details?.['errors']
  if (errors === undefined) return
  const form = z.array(z.strictObject({ field: z.string(), message: z.string().min(1), value: z.unknown() }))
  if (!form.safeParse(errors).success) throw new Error(text)
}

/** What the daemon notes of a domain by itself: the clock of the test passes the time of its next check. */
const checkColumns: ReadonlySet<string> = new Set(['record_states', 'checked_at', 'next_check_at'])

/** All rows of a workspace, in every table that has any. */
async function everythingOf(app: TestDaemon, workspaceId: string): Promise<unknown> {
  return await Promise.all(
    workspaceTables.map(async (table) => {
      const rows = await app.rows<object>(`select * from ${table} where workspace_id = ?`, workspaceId)
      return [table, rows.map((row) => Object.entries(row).filter(([column]) => !checkColumns.has(column)))]
    }),
  )
}

t.test('no request makes the API answer a 5xx, hang, or reveal or change anything of another workspace', async (t) => {
  const app = await testDaemon(t, {
    settings: { outbound: { max_connections: 1 }, sms: { provider: 'log', allowed_countries: ['DE', 'US'] } },
  })
  const own = await populate(app, app.key, 'a.test')
  const theirs = await populate(app, app.otherKey, 'other.test')
  // The clock runs far ahead: the daemon's own check of their domain would change its row.
  const far = app.now() + 365 * 86_400_000
  await app.daemon.database.commit([{ sql: 'update domains set next_check_at = ?', parameters: [far] }])
  const before = await everythingOf(app, app.otherWorkspaceId)
  const secrets = [...theirs.ids, ...theirs.names, app.otherWorkspaceId, app.otherKey]
  const ids = [...own.ids, ...theirs.ids, '0197b9e5-5c1c-7cf4-8d1f-0b6a2f6f4a10', 'x', '%', '../emails']
  /** Not in paths, where it would delete the workspace of the test. */
  const workspaces = [app.workspaceId, app.otherWorkspaceId]
  /** Ids that our answers contained; they may be stored and returned again. */
  const known = new Set<string>()
  const fuzz = async (route: Route, send: Send): Promise<void> => {
    const requests = fc.record({
      // The id of a pixel is all that its request needs, so a foreign one would rightly change something.
      path: paths(route, route.area === 'tracking' ? own.ids : ids),
      query: queries(route, [...ids, ...workspaces]),
      given: requestsOf(route, [...words, ...ids, ...workspaces]),
    })
    const ask = async ({ path, query, given }: { path: string; query: string; given: Given }): Promise<void> => {
      const target = query === '' ? path : `${path}?${query}`
      const answer = await waitForAnswer(send(target, given))
      if (answer.status >= 500) throw new Error(`${answer.status}: ${answer.text}`)
      if (answer.status >= 400 && !isPage(answer)) checkError(answer)
      const body = Buffer.isBuffer(given.body) ? given.body.toString() : JSON.stringify(given.body ?? null)
      const said = decodeURIComponent(target.replace(/%(?![0-9a-f]{2})/gi, '')) + body
      for (const secret of secrets) if (said.includes(secret)) known.add(secret)
      const leaked = secrets.find((secret) => answer.text.includes(secret) && !known.has(secret))
      if (leaked !== undefined) throw new Error(`tells of ${leaked}: ${answer.text}`)
      const foreign = theirs.ids.some((id) => path.split('/').includes(id))
      if (foreign && answer.status < 400) throw new Error(`does something to what is another's: ${answer.text}`)
    }
    await fc.assert(fc.asyncProperty(requests, ask), { numRuns: runs })
  }
  for (const route of app.daemon.routes) {
    // A key that revokes itself could ask nothing more.
    const key = await freshKey(app)
    await fuzz(route, (target, given) => app.rest(route.method, `/v1${target}`, { key, ...given }))
    t.pass(`${route.method} ${route.path} with a key`)
  }
  await givePassword(app)
  const browser = openBrowser(app)
  for (const { route, base } of browserRoutes(app)) {
    // Beyond the limits of requests and sign-ins.
    app.advance(61_000)
    // Some requests end sessions, and each sign-in hashes a password.
    if ((await browser.ask('GET', '/session')).status !== 200) {
      t.equal((await browser.signIn('owner@a.test')).status, 201)
    }
    await fuzz(route, (target, given) => browser.ask(route.method, `${base}${target}`, given))
    t.pass(`${route.method} ${route.path} with a session`)
  }
  t.same(await everythingOf(app, app.otherWorkspaceId), before, "and nothing of the other's has changed")
  t.same(app.errors, [])
})

type Send = (target: string, given: Given) => Promise<RestAnswer>

/** The routes under `/ui/api`: those of the API that need a key, and those of people. */
function browserRoutes({ daemon }: TestDaemon): readonly { readonly route: Route; readonly base: string }[] {
  return [
    ...daemon.routes.filter((route) => !isOpenArea(route.area)).map((route) => ({ route, base: '/v1' })),
    ...daemon.browserRoutes.map((route) => ({ route, base: '' })),
  ]
}

async function freshKey(app: TestDaemon): Promise<string> {
  const answer = await app.rest('POST', '/v1/api-keys', { body: { name: 'fuzz' } })
  return answer.json<{ readonly key: string }>().key
}
