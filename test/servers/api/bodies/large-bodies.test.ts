/** Bodies that are parsed on a thread: the same values, refusals and fingerprints as on the main thread. */
import t from 'tap'
import { Refusal } from '../../../../src/base/mail/refusal.js'
import { fingerprintOf } from '../../../../src/outbound/sending/idempotency.js'
import { findLargeBody, nameOfLargeBody } from '../../../../src/servers/api/bodies/large-bodies.js'
import { BodyThread } from '../../../../src/servers/api/http/input/body-thread.js'
import { parseJsonBody } from '../../../../src/servers/api/http/input/json-body.js'
import { parseInput } from '../../../../src/servers/api/http/input/parse-input.js'
import { DEFAULT_BODY } from '../../../../src/servers/api/http/route/route.js'
import { testDaemon } from '../../../helpers/daemon/test-daemon.js'

const email = { from: 'The App <app@example.com>', to: ['bob@example.com', { address: 'c@example.com', name: 'C' }] }
const long = 'some words ä€ '.repeat(10_000)
const content = Buffer.alloc(100_000, 'abc').toString('base64')
const bodies: readonly (readonly [name: string, body: unknown])[] = [
  ['email', { ...email, subject: 'x', html: long, headers: { 'X-A': 'b' }, tags: [{ name: 'a', value: 'b' }] }],
  [
    'email',
    {
      ...{ ...email, subject: 'x', text: 'x' },
      attachments: [
        { filename: 'a', content },
        { filename: 'b', content: 'QUFB' },
      ],
      inline_images: [{ content, cid: 'c' }],
    },
  ],
  ['batch', [{ ...email, subject: 'x', text: long }, { ...email }, 7]],
  ['email', { ...email, template_id: 't', template_data: { a: { b: [1, null, { c: long }] } } }],
  ['template', { name: 't', subject: 's', html: long }],
  ['email', { ...email, html: long, unknown: 1 }],
]

t.test('what the thread answers is what the main thread would parse', async (t) => {
  const thread = new BodyThread()
  t.teardown(() => thread.stop())
  for (const [schema, body] of bodies) {
    const bytes = Buffer.from(JSON.stringify(body))
    const outcome = (parse: () => unknown): unknown => {
      try {
        return parse()
      } catch (error) {
        return error
      }
    }
    const here = outcome(() => parseInput(findLargeBody(schema), parseJsonBody(Buffer.from(bytes))))
    const raw = Buffer.concat([bytes])
    const there = await thread.parse({ schema, raw, fingerprintLabel: '/x' }, 'ws').catch((error: unknown) => error)
    if (here instanceof Refusal) {
      const { kind, message, details } = here
      t.match(there, { name: 'Refusal', kind, message, details })
    } else t.strictSame(there, { value: here, fingerprint: fingerprintOf(['/x', bytes]) }, schema)
  }
  const wrong = thread.parse({ schema: 'email', raw: Buffer.from('{'), fingerprintLabel: null }, 'ws')
  await t.rejects(wrong, { name: 'Refusal', kind: 'invalid-json' })
})

t.test('every route with a large body is among them', async (t) => {
  const { daemon } = await testDaemon(t)
  const routes = [...daemon.routes, ...daemon.browserRoutes]
  const large = routes.filter((route) => 'maxBody' in route && (route.maxBody ?? 0) > DEFAULT_BODY)
  t.ok(large.length > 10)
  for (const { method, path, body } of large) t.ok(body !== null && nameOfLargeBody(body) !== null, `${method} ${path}`)
})
