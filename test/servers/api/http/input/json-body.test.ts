/** JSON bodies: what is refused, and before it is parsed. */
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { Refusal } from '../../../../../src/base/mail/refusal.js'
import {
  checkShape,
  MAX_DEPTH,
  MAX_VALUES,
  parseJsonBody,
} from '../../../../../src/servers/api/http/input/json-body.js'
import { catchRefusal } from '../../../../helpers/catch-refusal.js'

const json = (text: string | Buffer): unknown => parseJsonBody(Buffer.from(text))

t.test('JSON is parsed, and anything else is refused', async (t) => {
  t.same(json(' {"a": ["\\"]}[{", "\\\\", 1e3, true, null], "é": "😀"} '), {
    a: ['"]}[{', '\\', 1000, true, null],
    é: '😀',
  })
  t.same(json('\ufeff{"a":1}'), { a: 1 }, 'a byte order mark is ignored')
  t.throws(() => json('\ufeff\ufeff1'), Refusal)
  for (const [text, place] of [
    ['{"a": 1,\n "b" 2}', 'line 2, column 6'],
    ['{"a": 1,}', 'line 1, column 9'],
    ["{'a': 1}", 'line 1, column 2'],
    ['[1, 2', 'line 1, column 6'],
    ['{"a": "unended}', 'line 1, column 7'],
    ['', 'line 1, column 1'],
    ['{"a": 1} x', 'line 1, column 10'],
    [`[${'1,'.repeat(10_000)}"a" 2]`, 'line 1, column 20006'],
  ] as const) {
    t.match(await catchRefusal(() => json(text)), { message: `the body is not valid JSON: ${place}` }, text)
  }
  const right = fc.json({ maxDepth: 3, stringUnit: 'binary' })
  fc.assert(
    fc.property(right, (text) => isDeepStrictEqual(json(text), JSON.parse(Buffer.from(text).toString()))),
    { numRuns: 200 },
  )
  const part = fc.constantFrom('{', '}', '[', ']', '"', '\\', ',', ':', 'x', '1', 'null', '\\u00', ' ', '\0')
  const bits = fc.oneof(
    fc.array(part, { maxLength: 400 }).map((parts) => Buffer.from(parts.join(''))),
    fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
  )
  const taken = { read: 0, refused: 0 }
  fc.assert(
    fc.property(bits, (raw) => {
      try {
        parseJsonBody(raw)
        taken.read += 1
      } catch (error) {
        taken.refused += 1
        return error instanceof Refusal && error.kind === 'invalid-json'
      }
      return true
    }),
    { numRuns: 300 },
  )
  t.ok(taken.read > 0 && taken.refused > 100, JSON.stringify(taken))
})

/** Brackets and commas outside strings, counted as the text is read. */
function countJson(text: string): { readonly depth: number; readonly values: number } {
  const bare = text.replace(/"(?:[^"\\]|\\.)*"/gs, '""')
  let depth = 0
  let deepest = 0
  for (const character of bare) {
    if ('[{'.includes(character)) depth += 1
    if (']}'.includes(character)) depth -= 1
    deepest = Math.max(deepest, depth)
  }
  return { depth: deepest, values: [...bare].filter((character) => '[{,'.includes(character)).length }
}

t.test('JSON that is nested too deeply or has too many values is refused before it is parsed', async (t) => {
  const nested = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`
  t.same(json(nested(MAX_DEPTH)), JSON.parse(nested(MAX_DEPTH)))
  for (const deep of [nested(MAX_DEPTH + 1), '{"a":'.repeat(MAX_DEPTH + 1), '['.repeat(5_000_000)]) {
    t.match(await catchRefusal(() => json(deep)), { kind: 'invalid-json', message: /nests deeper/ })
  }
  const list = (values: number): string => `[${Array<string>(values).fill('1').join(',')}]`
  t.equal((json(list(MAX_VALUES)) as unknown[]).length, MAX_VALUES)
  t.match(await catchRefusal(() => json(list(MAX_VALUES + 1))), { kind: 'invalid-json', message: /holds more/ })

  // Strings of any length and any escapes never count, and never hide what follows.
  const character = fc.constantFrom('\\"', '\\\\', '[', '{', ',', 'x', 'é')
  const string = fc.array(character, { maxLength: 600 }).map((parts) => `"${parts.join('')}"`)
  fc.assert(
    fc.property(fc.array(string, { maxLength: 3 }), fc.integer({ min: 1, max: MAX_DEPTH + 3 }), (strings, depth) => {
      const text = `${'['.repeat(depth)}${strings.join(',')}${']'.repeat(depth)}`
      const refused = countJson(text).depth > MAX_DEPTH
      try {
        checkShape(Buffer.from(text))
        return !refused
      } catch {
        return refused
      }
    }),
  )
})

t.test('names of one object and digits of a number are counted before anything is parsed', async (t) => {
  const names = (count: number): string =>
    `{${Array.from({ length: count }, (_, place) => `"k${place}":{"a":1}`).join()}}`
  t.equal(Object.keys(json(names(5_000)) as object).length, 5_000)
  t.match(await catchRefusal(() => json(names(5_001))), {
    kind: 'invalid-json',
    message: 'an object has more than 5000 names',
  })
  t.equal((json(`[${names(2_600)},${names(2_600)}]`) as unknown[]).length, 2, 'each object is counted for itself')
  t.equal(json('1'.repeat(300)), Number('1'.repeat(300)))
  for (const number of ['1'.repeat(401), `0.${'1'.repeat(401)}`, `-1e${'0'.repeat(401)}`]) {
    t.match(await catchRefusal(() => json(number)), {
      kind: 'invalid-json',
      message: 'a number has more than 400 digits',
    })
  }
  t.same(json(`"${'1'.repeat(1_000)}"`), '1'.repeat(1_000), 'a text may have more')
  t.end()
})
