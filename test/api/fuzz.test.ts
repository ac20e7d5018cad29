/** Whatever comes in at any route, nothing of it is a fault of ours: no 5xx, and the daemon goes on. */
import fc from 'fast-check'
import t from 'tap'
import { z } from 'zod'
import type { ErrorBody } from '../../src/api/answer.js'
import type { Route } from '../../src/api/route.js'
import { arbitraryOf } from '../helpers/arbitrary-of-schema.js'
import { testDaemon } from '../helpers/test-daemon.js'

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
  '',
]

/** A path with something at every parameter: an id that is there, one that is not, anything. */
function paths({ path }: Route, ids: readonly string[]): fc.Arbitrary<string> {
  const value = fc.oneof(fc.constantFrom(...ids), fc.string({ unit: 'binary' }).map(encoded))
  return value.map((id) => `/v1${path.replace(/:\w+/g, id || 'x')}`)
}

function encoded(text: string): string {
  // A lone surrogate is no text that could be sent.
  return encodeURIComponent(Buffer.from(text).toString())
}

function queries({ query }: Route): fc.Arbitrary<string> {
  const names = query instanceof z.ZodObject ? Object.keys(query.shape) : []
  const name = fc.oneof(fc.constantFrom('limit', ...names), fc.string({ maxLength: 5 }))
  const value = fc.oneof(
    fc.constantFrom('1', '0', '100', '-1', 'delivered', 'manual', ...words),
    fc.string({ unit: 'binary' }),
  )
  return fc
    .array(fc.tuple(name, value), { maxLength: 2 })
    .map((pairs) => pairs.map(([left, right]) => `${encoded(left)}=${encoded(right)}`).join('&'))
}

t.test('no request makes the door answer a 5xx', async (t) => {
  const app = await testDaemon(t, { settings: { outbound: { max_connections: 1 } } })
  await app.rest('POST', '/v1/suppressions', { body: { email: 'gone@b.test' } })
  const email = { from: 'app@a.test', to: 'bob@b.test', subject: 's', text: 't', scheduled_for: '2999-01-01T00:00:00Z' }
  const soon = new Date(app.now() + 86_400_000).toISOString()
  const sent = await app.rest('POST', '/v1/emails', { body: { ...email, scheduled_for: soon } })
  const template = { name: 'n', subject: 's', html: '<p>{{hello}}</p>' }
  const made = await app.rest('POST', '/v1/templates', { body: template })
  const templateId = made.json<{ readonly id: string }>().id
  const ids = [templateId, sent.json<{ readonly id: string }>().id, '0197b9e5-5c1c-7cf4-8d1f-0b6a2f6f4a10', 'x']
  for (const route of app.daemon.routes) {
    const body = route.body === null ? fc.constant(undefined) : arbitraryOf(route.body, [templateId, ...words])
    const key = route.path.startsWith('/api-keys/') ? app.otherKey : app.key
    const requests = fc.record({ path: paths(route, ids), query: queries(route), body })
    await fc.assert(
      fc.asyncProperty(requests, async ({ path, query, body: given }) => {
        const answer = await app.rest(route.method, query === '' ? path : `${path}?${query}`, { key, body: given })
        if (answer.status >= 500) throw new Error(`${answer.status}: ${answer.text}`)
        if (answer.status < 400) return
        const { error } = answer.json<ErrorBody>()
        if (error.status !== answer.status || error.message === '') throw new Error(answer.text)
      }),
      { numRuns: 60 },
    )
    t.pass(`${route.method} ${route.path}`)
  }
  t.same(app.errors, [])
})
