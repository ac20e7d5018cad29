/**
 * Values for a schema, most of them valid, many of them wrong somewhere: input of fast-check for the REST API.
 *
 * Works on the JSON schema of a zod schema's input side; at every place of the value some other JSON may stand
 * instead.
 */
import fc from 'fast-check'
import { z } from 'zod'

interface Schema {
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: Schema | boolean
  readonly minimum?: number
  readonly maximum?: number
  readonly $ref?: string
  readonly $defs?: Readonly<Record<string, Schema>>
}

/** `words`: strings that have a meaning to the API, so that some values get far. */
export function arbitraryOf(schema: z.ZodType, words: readonly string[]): fc.Arbitrary<unknown> {
  const root = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Schema
  return arbitrary(root, { defs: root.$defs ?? {}, root, words, depth: 0 })
}

interface Context {
  readonly defs: Readonly<Record<string, Schema>>
  readonly root: Schema
  readonly words: readonly string[]
  readonly depth: number
}

function arbitrary(schema: Schema, context: Context): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: 24, arbitrary: validArbitrary(schema, context) }, { weight: 1, arbitrary: fc.jsonValue() })
}

function validArbitrary(schema: Schema, context: Context): fc.Arbitrary<unknown> {
  const inner = { ...context, depth: context.depth + 1 }
  if (context.depth > 8) return fc.constant(null)
  if (schema.$ref !== undefined) return validArbitrary(resolveRef(schema.$ref, context), inner)
  if (schema.const !== undefined) return fc.constant(schema.const)
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum)
  const forms = schema.anyOf ?? schema.oneOf
  if (forms !== undefined) return fc.oneof(...forms.map((form) => validArbitrary(form, inner)))
  if (Array.isArray(schema.type)) {
    return fc.oneof(...(schema.type as string[]).map((type) => validArbitrary({ ...schema, type }, inner)))
  }
  return typeArbitrary(schema, inner)
}

function typeArbitrary(schema: Schema, context: Context): fc.Arbitrary<unknown> {
  switch (schema.type) {
    case 'string':
      return textArbitrary(context.words)
    case 'integer':
    case 'number':
      return fc.oneof(
        fc.integer({ min: schema.minimum ?? -10, max: Math.min(schema.maximum ?? 200, 1e6) }),
        fc.double(),
      )
    case 'boolean':
      return fc.boolean()
    case 'null':
      return fc.constant(null)
    case 'array':
      return fc.array(arbitrary(schema.items ?? {}, context), { maxLength: 4 })
    case 'object':
      return objectArbitrary(schema, context)
    default:
      return fc.jsonValue()
  }
}

function objectArbitrary(
  { properties = {}, required = [], additionalProperties }: Schema,
  context: Context,
): fc.Arbitrary<unknown> {
  const fields = Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [name, arbitrary(schema, context)]),
  )
  const known = fc.record(fields, { requiredKeys: required.filter((name) => name in fields) })
  if (typeof additionalProperties !== 'object') {
    const more = fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 1 })
    return fc.oneof({ weight: 12, arbitrary: known }, { weight: 1, arbitrary: mergeObjects(known, more) })
  }
  const free = fc.dictionary(textArbitrary(context.words), arbitrary(additionalProperties, context), { maxKeys: 3 })
  return mergeObjects(known, free)
}

function mergeObjects(one: fc.Arbitrary<object>, other: fc.Arbitrary<object>): fc.Arbitrary<object> {
  return fc.tuple(one, other).map(([left, more]) => ({ ...more, ...left }))
}

function textArbitrary(words: readonly string[]): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(...words) },
    { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 40 }) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(fc.constantFrom(...words), fc.constantFrom('\r\n', '\0', '"', '\\', '%', '�', '😀'))
        .map((parts) => parts.join('')),
    },
  )
}

function resolveRef(ref: string, { defs, root }: Context): Schema {
  if (ref === '#') return root
  return defs[ref.slice(ref.lastIndexOf('/') + 1)] ?? {}
}
