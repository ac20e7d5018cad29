/** Fields of reports: forms, JSON and what is neither. */
import fc from 'fast-check'
import t from 'tap'
import { parseCallbackBody } from '../../../../../src/servers/api/http/input/callback-fields.js'

const fieldsOf = (text: string | Buffer): Record<string, string> =>
  Object.fromEntries(parseCallbackBody(Buffer.from(text)))

t.test('forms and JSON objects, whatever their names look like', async (t) => {
  const cases: readonly (readonly [string, Record<string, string>])[] = [
    ['MessageStatus=delivered&ErrorCode=', { messagestatus: 'delivered', errorcode: '' }],
    ['delivery_status=a&Delivery-Status=b', { deliverystatus: 'a' }],
    ['a=%E2%82%AC+1', { a: '€ 1' }],
    ['{"Status":"ok","code":7,"done":true,"none":null,"list":[1]}', { status: 'ok', code: '7', done: 'true' }],
    [' \n{"status":{"name":"DELIVERED","id":3},"other":{"id":1}}', { status: 'DELIVERED' }],
    ['{"__proto__":"x","constructor":"y"}', { proto: 'x', constructor: 'y' }],
    ['', {}],
    ['{', {}],
    ['{}', {}],
    ['{"a":', {}],
    [`{"a":${'['.repeat(8_000)}`, {}],
    [`{"a":${'[1],'.repeat(3_000)}`, {}],
  ]
  for (const [text, expected] of cases) t.same({ ...fieldsOf(text) }, expected, text.slice(0, 40))
  t.same(fieldsOf(Buffer.from([0x7b, 0xff, 0xfe])), {})
})

t.test('at most 200 fields are kept', async (t) => {
  const names = Array.from({ length: 1_000 }, (_, place) => `n${place}`)
  t.equal(Object.keys(fieldsOf(names.map((name) => `${name}=1`).join('&'))).length, 200)
  t.equal(Object.keys(fieldsOf(JSON.stringify(Object.fromEntries(names.map((name) => [name, 1]))))).length, 200)
})

t.test('no body makes it fail', async (t) => {
  const part = fc.constantFrom(
    '{',
    '}',
    '"',
    'status',
    ':',
    '=',
    '&',
    '%',
    '%zz',
    '+',
    '\\',
    '[',
    ']',
    ',',
    'null',
    '\0',
  )
  const bodies = fc.oneof(
    fc.array(part, { maxLength: 60 }).map((parts) => Buffer.from(parts.join(''))),
    fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
    fc.json({ maxDepth: 4 }).map((text) => Buffer.from(text)),
  )
  let filled = 0
  fc.assert(
    fc.property(bodies, (raw) => {
      const fields = parseCallbackBody(raw)
      filled += fields.size > 0 ? 1 : 0
      return [...fields].every(([name, value]) => name === name.toLowerCase() && typeof value === 'string')
    }),
  )
  t.ok(filled > 100, `${filled} had fields`)
})
