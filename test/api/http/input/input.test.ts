/** What counts as absent in a request, and in what words its problems are told. */
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { z } from 'zod'
import { refuseEmptyList, removeAbsentFields } from '../../../../src/api/http/input/absent-fields.js'
import { type FieldError, parseInput } from '../../../../src/api/http/input/parse-input.js'
import { withMaxSize } from '../../../../src/api/http/input/schema-bounds.js'
import { exampleOf } from '../../../../src/api/openapi/example.js'
import { Refusal } from '../../../../src/mail/refusal.js'
import { arbitraryOf } from '../../../helpers/arbitrary-of-schema.js'
import type { RestAnswer } from '../../../helpers/rest-client.js'
import { type TestDaemon, testDaemon } from '../../../helpers/test-daemon.js'

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

/** How zod puts it. */
const foreign =
  /^(?:Invalid|Too (?:big|small)|Unrecognized|Required)\b|, received |expected (?:string|number|array|object)/

const secrets = ['password', 'token', 'signature']
const odd: readonly unknown[] = [null, -1, 1.5, 1e12, true, '', 'x'.repeat(50_000), [], [null], ['x'], {}, { x: 1 }]

t.test('every problem of every request is told in our words, with field, rule and value', async (t) => {
  const app = await testDaemon(t)
  const told = new Set<string>()
  for (const { method, path, body, query } of app.daemon.routes) {
    for (const schema of [body, query]) {
      if (schema === null) continue
      const given = [
        ...wrongValues(schema),
        ...fc.sample(arbitraryOf(schema, ['a@b.test', 'x']), { numRuns: 60, seed: 7 }),
      ]
      for (const value of given) {
        for (const error of problemsOf(schema, value)) {
          told.add(error.message)
          const bad = faultOf(error)
          if (bad !== null) t.fail(`${method} ${path}: ${bad}: ${JSON.stringify(error).slice(0, 300)}`)
        }
      }
    }
  }
  t.ok(told.size > 60, `${told.size} different problems`)
  for (const sentence of ['is not a known field', 'is required', 'must be text, found null', 'must not be empty']) {
    t.ok(told.has(sentence), sentence)
  }
  const aText = problemsOf(z.array(z.string()).max(3), 'x'.repeat(50)).map(({ message }) => message)
  t.same(aText, Array(2).fill('must be a list, found text'), 'a text is not measured where a list is wanted')
})

t.test('a problem names its field, the rule and the value, shortened, and no secret', async (t) => {
  const text = (shape: z.ZodRawShape, given: object) => problemsOf(z.strictObject(shape), given).at(-1)
  const rows: readonly (readonly [z.ZodType, unknown, string, FieldError['value']])[] = [
    [z.string(), 5, 'must be text, found a number', 5],
    [z.string(), ['x'], 'must be text, found a list', null],
    [z.string().max(3), 'four', 'must have at most 3 characters, found 4', 'four'],
    [z.string().min(2), 'x', 'must have at least 2 characters, found 1', 'x'],
    [z.string().min(1), '', 'must not be empty', ''],
    [z.string().max(3), 'x'.repeat(500), 'must have at most 3 characters, found 500', `${'x'.repeat(97)}...`],
    [z.array(z.string()).max(1), ['a', 'b'], 'must have at most 1 item, found 2', null],
    [z.int().max(3), 4, 'must be at most 3', 4],
    [z.int().min(3), 2, 'must be at least 3', 2],
    [z.int(), 1.5, 'must be a whole number, found a number', 1.5],
    [z.number().multipleOf(5), 7, 'must be a multiple of 5', 7],
    [z.boolean(), 'yes', 'must be true or false, found text', 'yes'],
    [z.enum(['a', 'b']), 'c', 'allowed: a, b', 'c'],
    [z.literal(1), 2, 'allowed: 1', 2],
    [z.uuid(), 'x', 'must be a UUID', 'x'],
    [z.union([z.string(), z.array(z.string())]), 5, 'must be text or a list', 5],
    [z.record(z.string(), z.string()), [1], 'must be an object, found a list', null],
  ]
  for (const [schema, given, message, value] of rows) {
    t.same(text({ field: schema }, { field: given }), { field: 'field', message, value })
  }
  t.match(text({ password: z.string().max(3) }, { password: 'secret' }), { field: 'password', value: null })
})

/** The example with one field made wrong, for each field; and what is no object at all. */
function wrongValues(schema: z.ZodType): readonly unknown[] {
  const { value } = exampleOf(schema)
  const example = typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {}
  const shape = schema instanceof z.ZodObject ? Object.keys(schema.shape) : []
  const single = shape.flatMap((name) => odd.map((wrong) => ({ ...example, [name]: wrong })))
  return [...odd, {}, { ...example, ['colour\n'.repeat(100)]: 1 }, ...single]
}

function problemsOf(schema: z.ZodType, value: unknown): readonly FieldError[] {
  try {
    parseInput(schema, value)
    return []
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return [{ field: '', message: error.message, value: null }, ...(error.details['errors'] as readonly FieldError[])]
  }
}

function faultOf({ field, message, value }: FieldError): string | null {
  const rule = message.slice(message.lastIndexOf(': ') + 1).trim()
  if (foreign.test(message) || foreign.test(rule)) return 'not our words'
  if (message === '' || message.length > 1_000 || message.includes('undefined')) return 'no sentence'
  if (field.length > 200 || (typeof value === 'string' && value.length > 200)) return 'not bounded'
  if (secrets.some((name) => field.endsWith(name)) && value !== null) return 'a secret is repeated'
  return null
}

t.test('such requests are taken by the door', async (t) => {
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
  await t.test('what clears a value still clears it', async (t) => {
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
