/** Texts that a database cannot store as they are, in every field and parameter of every operation. */
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { z } from 'zod'
import type { ErrorBody } from '../../../../../src/servers/api/http/error-answer.js'
import type { FieldError } from '../../../../../src/servers/api/http/input/parse-input.js'
import { findUnstorableTexts } from '../../../../../src/servers/api/http/input/unstorable-texts.js'
import { isOpenArea, type Route } from '../../../../../src/servers/api/http/route/route.js'
import { exampleOf } from '../../../../../src/servers/api/openapi/example.js'
import { type TestDaemon, testDaemon } from '../../../../helpers/daemon/test-daemon.js'
import { rowsWithUnstorableText } from '../../../../helpers/database/unstorable-rows.js'
import { givePassword, openBrowser } from '../../../../helpers/http/browser-client.js'
import { populate } from '../../../../helpers/http/fuzz-workspace.js'
import type { RestAnswer } from '../../../../helpers/http/rest-client.js'

t.test('each text and each name is found, with its place', async (t) => {
  const body = { a: ['x', 'y\0', { 'b\ud800': 1 }], c: { d: '😀', e: '\ude00' }, f: null, g: 1 }
  const found = [...findUnstorableTexts(body)]
  t.same(
    found.map(({ path }) => path),
    [
      ['a', 1],
      ['a', 2, 'b\ud800'],
      ['c', 'e'],
    ],
  )
  t.match(found[1]?.fault, /^has a name that has half/)
  const storable = fc.jsonValue({ stringUnit: 'grapheme' })
  fc.assert(fc.property(storable, (value) => JSON.stringify(value).includes('\\u0000') || isStorable(value)))
})

t.test('the bytes of files are not read one by one', async (t) => {
  const note = 'a\0'
  t.notOk(isStorable({ attachment: [{ content: { note } }] }))
  for (const bytes of [Buffer.alloc(3), new Uint8Array(3)]) {
    t.ok(isStorable({ attachment: [{ content: Object.assign(bytes, { note }) }] }), 'none of its fields is read')
  }
})

function isStorable(value: unknown): boolean {
  return [...findUnstorableTexts(value)].length === 0
}

const wrongTexts = ['a\0b', 'a\ud83db'] as const

/** Copies of the value, each with another of its texts, or of the fields that its schema knows, replaced by `wrong`. */
function* spoil(value: unknown, wrong: string): Generator<unknown> {
  if (typeof value === 'string') yield wrong
  else if (Array.isArray(value)) {
    for (const [at, item] of value.entries()) for (const bad of spoil(item, wrong)) yield value.with(at, bad)
  } else if (typeof value === 'object' && value !== null) {
    for (const [name, item] of Object.entries(value)) {
      for (const bad of spoil(item, wrong)) yield { ...value, [name]: bad }
    }
    yield { ...value, [`x${wrong}`]: 'a name' }
  }
}

function* bodiesOf(schema: z.ZodType, wrong: string): Generator<unknown> {
  const example = exampleOf(schema).value
  yield* spoil(example, wrong)
  if (!(schema instanceof z.ZodObject)) return
  for (const name of Object.keys(schema.shape)) yield { ...Object(example), [name]: wrong }
}

type Ask = (route: Route, target: string, body?: unknown) => Promise<RestAnswer>

async function tryRoute(t: Test, route: Route, ask: Ask): Promise<void> {
  const { method, path, body, query, area } = route
  // A pixel answers every request.
  const least = area === 'tracking' ? 200 : 400
  const plain = path.replaceAll(/:\w+/g, 'x')
  const withId = path.replaceAll(/:\w+/g, 'a%00b')
  const answers: (readonly [what: string, RestAnswer])[] = []
  if (withId !== path) answers.push(['path', await ask(route, withId)])
  const names = query instanceof z.ZodObject ? Object.keys(query.shape) : []
  for (const name of names) {
    const answer = await ask(route, `${plain}?${name}=a%00b`)
    t.ok(answer.status >= least && answer.status < 500, `${method} ${path}?${name}: ${answer.status}`)
  }
  const wrongBodies = body === null ? [] : wrongTexts.flatMap((wrong) => [...bodiesOf(body, wrong)])
  for (const wrong of wrongBodies) answers.push([JSON.stringify(wrong).slice(0, 300), await ask(route, plain, wrong)])
  for (const [what, { status, text }] of answers) {
    if (status < least || status >= 500) t.fail(`${method} ${path}: ${what}: ${status} ${text.slice(0, 200)}`)
  }
  t.pass(`${method} ${path}: ${answers.length + names.length} requests`)
}

async function checkNothingStored(t: Test, app: TestDaemon): Promise<void> {
  t.same(app.errors, [], 'nothing of it was a fault of ours')
  t.same(await rowsWithUnstorableText(app.daemon.database.read), [], 'no row has such a text')
}

t.test('no operation takes a text that cannot be stored', async (t) => {
  const app = await testDaemon(t)
  await populate(app, app.key, 'a.test')
  const ask: Ask = (route, target, body) => app.rest(route.method, `/v1${target}`, { body })
  for (const route of app.daemon.routes) {
    app.advance(61_000)
    await tryRoute(t, route, ask)
  }
  await checkNothingStored(t, app)
})

t.test('nor does one of the interface of people', async (t) => {
  const app = await testDaemon(t)
  await populate(app, app.key, 'a.test')
  await givePassword(app)
  const browser = openBrowser(app)
  t.equal((await browser.signIn('owner@a.test')).status, 201)
  const ask: Ask = (route, target, body) => browser.ask(route.method, target, { body, headers: {} })
  for (const route of app.daemon.browserRoutes.filter(({ area }) => !isOpenArea(area))) {
    app.advance(61_000)
    await tryRoute(t, route, ask)
  }
  await checkNothingStored(t, app)
})

t.test('the answer names the field, the rule and the cure', async (t) => {
  const app = await testDaemon(t)
  const template = { name: 'Hello', subject: 'Hello', html: '<p>a\0b</p>', text: 'half \ud83d' }
  const answer = await app.rest('POST', '/v1/templates', { body: template })
  t.equal(answer.status, 400)
  const { error } = answer.json<ErrorBody>()
  t.equal(error.code, 'validation_error')
  const errors = (error.details?.['errors'] ?? []) as readonly FieldError[]
  t.same(
    errors.map(({ field, message }) => `${field} ${message}`),
    [
      'html has the character NUL (U+0000), which no text has: remove it',
      'text has half of a surrogate pair: send each character whole',
    ],
  )
})
