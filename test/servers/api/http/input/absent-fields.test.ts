/** Fields that count as absent: null and the empty list where a field is optional. */
import t, { type Test } from 'tap'
import { z } from 'zod'
import { refuseEmptyList, removeAbsentFields } from '../../../../../src/servers/api/http/input/absent-fields.js'
import { withMaxSize } from '../../../../../src/servers/api/http/input/schema-bounds.js'
import { type TestDaemon, testDaemon } from '../../../../helpers/daemon/test-daemon.js'
import type { RestAnswer } from '../../../../helpers/http/rest-client.js'

const inner = z.strictObject({ needed: z.string(), left: z.string().optional() })

const schema = z
  .strictObject({
    needed: z.string(),
    text: z.string().optional(),
    usual: z.enum(['a', 'b']).default('a'),
    list: withMaxSize(5, 'texts', z.array(z.string()).min(1)).optional(),
    clearable: z.string().nullable().optional(),
    emptied: z.array(z.string()).optional(),
    granted: refuseEmptyList(z.array(z.string()).min(1).optional()),
    object: inner.optional(),
    objects: z.array(inner).optional(),
    either: z.union([z.string(), inner, z.strictObject({ other: z.number(), left: z.string().optional() })]).optional(),
    record: z.record(z.string(), z.unknown()).optional(),
  })
  .superRefine(() => undefined)

t.test('null and the empty list count as absent where a field is optional and does not take them', async (t) => {
  const rows: readonly (readonly [given: unknown, kept: unknown])[] = [
    [{ needed: null }, { needed: null }],
    [{ needed: [] }, { needed: [] }],
    [{ text: null, usual: null, list: null }, {}],
    [{ text: [], usual: [], list: [] }, {}],
    [
      { clearable: null, emptied: [] },
      { clearable: null, emptied: [] },
    ],
    [{ clearable: [], emptied: null }, {}],
    [{ granted: [] }, { granted: [] }],
    [{ granted: null }, {}],
    [{ object: { needed: 'x', left: null } }, { object: { needed: 'x' } }],
    [{ objects: [{ needed: 'x', left: [] }, null] }, { objects: [{ needed: 'x' }, null] }],
    [{ list: [null] }, { list: [null] }],
    [{ either: { needed: 'x', left: null, other: null } }, { either: { needed: 'x' } }],
    [{ either: { other: 1, left: null } }, { either: { other: 1 } }],
    [{ record: { mine: null, list: [] } }, { record: { mine: null, list: [] } }],
    [{ colour: null }, { colour: null }],
    [
      { text: 'x', list: ['y'] },
      { text: 'x', list: ['y'] },
    ],
    [null, null],
    [[], []],
    ['text', 'text'],
    [undefined, undefined],
  ]
  for (const [given, kept] of rows) t.strictSame(removeAbsentFields(schema, given), kept, JSON.stringify(given))
  const right = { needed: 'x' }
  t.equal(removeAbsentFields(schema, right), right, 'what is right is not copied')
  const hostile = JSON.parse('{"needed": "x", "text": null, "__proto__": {"text": 1}}') as object
  t.ok(Object.hasOwn(removeAbsentFields(schema, hostile) as object, '__proto__'), 'no field is lost on the way')
  t.equal(removeAbsentFields(z.string(), null), null)
  const many = (count: number) => ({ objects: Array(count).fill({ needed: 'x', left: null }) })
  t.match(removeAbsentFields(schema, many(1_000)), { objects: [{ left: undefined }] })
  t.strictSame(removeAbsentFields(schema, many(1_001)), many(1_001), 'what is too long anyway is not looked at')
})

t.test('requests with absent fields are accepted by the API', async (t) => {
  const app = await testDaemon(t)
  const nothing = { cc: [], bcc: null, reply_to: null, headers: [], tags: null, attachments: null, scheduled_for: null }
  const email = { from: 'app@a.test', to: 'bob@b.test', subject: 'hello', text: 'a line' }
  const bare = { ...email, ...nothing, html: null, priority: null, tracking: null, template_data: [] }
  await t.test('fields that are null or an empty list', async (t) => {
    const { id } = requireCreated(t, await app.rest('POST', '/v1/emails', { body: bare }))
    const record = (await app.rest('GET', `/v1/emails/${id}`)).json<Record<string, unknown>>()
    t.match(record, { cc: [], bcc: [], reply_to: [], priority: 'normal', tracking: { open: true, click: true } })
    const batch = (await app.rest('POST', '/v1/emails/batch', { body: [bare] })).json<object>()
    t.match(batch, { success_count: 1, error_count: 0 })
    const again = { ...email, to: record['to'], cc: record['cc'], reply_to: record['reply_to'], tags: record['tags'] }
    requireCreated(t, await app.rest('POST', '/v1/emails', { body: again }))
  })
  await t.test('addresses in each of their forms', async (t) => await formsOfAddresses(t, app, email))
  await t.test('a null that clears a value still clears it', async (t) => {
    const made = requireCreated(
      t,
      await app.rest('POST', '/v1/contacts', { body: { email: 'c@b.test', first_name: 'Bob', last_name: [] } }),
    )
    const body = { first_name: null, subscribed: null, metadata: null, email: [] }
    const changed = await app.rest('PATCH', `/v1/contacts/${made.id}`, { body })
    t.match(changed.json(), { email: 'c@b.test', first_name: null, subscribed: true, metadata: {} })
    const scopes = await app.rest('POST', '/v1/api-keys', { body: { name: 'k', scopes: [] } })
    t.equal(scopes.status, 400, 'an empty list of scopes grants nothing')
  })
  t.same(app.errors, [])
})

async function formsOfAddresses(t: Test, app: TestDaemon, email: Readonly<Record<string, unknown>>): Promise<void> {
  const carol = { address: 'carol@b.test', name: 'Carol' }
  const forms: readonly unknown[] = [
    'carol@b.test',
    ['carol@b.test'],
    carol,
    [carol],
    [{ address: 'carol@b.test', name: null }],
    { email_address: carol },
    [{ email_address: carol }],
    ['carol@b.test', carol, { email_address: carol }],
  ]
  for (const form of forms) {
    for (const field of ['to', 'cc', 'bcc', 'reply_to']) {
      const { id } = requireCreated(t, await app.rest('POST', '/v1/emails', { body: { ...email, [field]: form } }))
      const record = (await app.rest('GET', `/v1/emails/${id}`)).json<Record<string, readonly string[]>>()
      t.equal(record[field]?.[0], 'carol@b.test', `${field}: ${JSON.stringify(form)}`)
    }
  }
  const wrong = await app.rest('POST', '/v1/emails', { body: { ...email, reply_to: [{ address: 'nobody' }] } })
  t.match(wrong.json(), {
    error: { code: 'invalid_email_address', details: { errors: [{ field: 'reply_to[0].address' }] } },
  })
}

function requireCreated(t: Test, answer: RestAnswer): { readonly id: string } {
  t.equal(answer.status, 201, answer.text)
  return answer.json<{ id: string }>()
}
