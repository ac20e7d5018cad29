/** The texts of all problems that a request can have, over every schema of the interface. */
import fc from 'fast-check'
import t from 'tap'
import { z } from 'zod'
import { Refusal } from '../../../../../src/base/mail/refusal.js'
import { type FieldError, parseInput } from '../../../../../src/servers/api/http/input/parse-input.js'
import { exampleOf } from '../../../../../src/servers/api/openapi/example.js'
import { testDaemon } from '../../../../helpers/daemon/test-daemon.js'
import { arbitraryOf } from '../../../../helpers/http/arbitrary-of-schema.js'

/** Wording of zod. */
const foreign =
  /^(?:Invalid|Too (?:big|small)|Unrecognized|Required)\b|, received |expected (?:string|number|array|object)/

const secrets = ['password', 'token', 'signature', 'code']

const odd: readonly unknown[] = [null, -1, 1.5, 1e12, true, '', 'x'.repeat(50_000), [], [null], ['x'], {}, { x: 1 }]

t.test('every problem of every request is reported in our words, with field, rule and value', async (t) => {
  const app = await testDaemon(t)
  const messages = new Set<string>()
  for (const { method, path, body, query } of app.daemon.routes) {
    for (const schema of [body, query]) {
      if (schema === null) continue
      const given = [
        ...wrongValues(schema),
        ...fc.sample(arbitraryOf(schema, ['a@b.test', 'x']), { numRuns: 60, seed: 7 }),
      ]
      for (const value of given) {
        for (const error of problemsOf(schema, value)) {
          messages.add(error.message)
          const bad = faultOf(error)
          if (bad !== null) t.fail(`${method} ${path}: ${bad}: ${JSON.stringify(error).slice(0, 300)}`)
        }
      }
    }
  }
  t.ok(messages.size > 60, `${messages.size} different problems`)
  for (const sentence of ['is not a known field', 'is required', 'must be text, found null', 'must not be empty']) {
    t.ok(messages.has(sentence), sentence)
  }
  const aText = problemsOf(z.array(z.string()).max(3), 'x'.repeat(50)).map(({ message }) => message)
  t.same(aText, Array(2).fill('must be a list, found text'), 'a text is not measured where a list is wanted')
})

t.test('a problem names its field, the rule and the shortened value, and no secret', async (t) => {
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

/** The example with one field made wrong, for each field; and values that are no object. */
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
