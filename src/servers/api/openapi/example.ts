/**
 * Builds an example for a schema: the schema's own `example`, else the usual value of the field's name
 * (`example-values.ts`), else a value from its type (a literal, the first word of an enumeration, a moment, an id).
 *
 * Optional fields are shown only if their schema has an example. Fields without any example are listed in `missing`.
 */
import { z } from 'zod'
import { defOf, isTransform } from '../http/input/absent-fields.js'
import { exampleValues } from './example-values.js'

interface Example {
  /** Undefined if anything is missing. */
  readonly value: unknown
  /** Paths without an example, such as `data[].name`. */
  readonly missing: readonly string[]
}

export function exampleOf(schema: z.core.$ZodType): Example {
  const missing: string[] = []
  const value = valueFor(schema, { name: '', path: '', missing })
  return { value: missing.length === 0 ? value : undefined, missing }
}

interface ExamplePlace {
  /** The name of the field, or of the list that has the item. */
  readonly name: string
  readonly path: string
  readonly missing: string[]
}

/** Undefined if the field is optional and omitted. */
function valueFor(schema: z.core.$ZodType, place: ExamplePlace): unknown {
  const own = findOwnExample(schema)
  if (own !== undefined) return own
  const def = defOf(schema)
  switch (def.type) {
    case 'object':
      return objectFor(def.shape, place)
    case 'array':
      return [valueFor(def.element, { ...place, path: `${place.path}[]` })]
    case 'union':
      return findCompleteOption(def.options, place)
    case 'optional':
    case 'default':
      return hasExample(def.innerType) ? valueFor(def.innerType, place) : undefined
    case 'nullable':
      return usualValueOf(schema, place.name) === null ? null : valueFor(def.innerType, place)
    case 'catch':
    case 'readonly':
      return valueFor(def.innerType, place)
    case 'pipe':
      return isTransform(def.in) ? valueFor(def.out, place) : leafValueFor(schema, place)
    default:
      return leafValueFor(schema, place)
  }
}

function findOwnExample(schema: z.core.$ZodType): unknown {
  return z.globalRegistry.get(schema)?.['example']
}

function hasExample(schema: z.core.$ZodType): boolean {
  return findOwnExample(schema) !== undefined
}

function objectFor(shape: z.core.$ZodShape, { path, missing }: ExamplePlace): Readonly<Record<string, unknown>> {
  const fields = Object.entries(shape).map(([name, field]) => {
    const inner = { name, path: path === '' ? name : `${path}.${name}`, missing }
    return [name, valueFor(field, inner)] as const
  })
  return Object.fromEntries(fields.filter(([, value]) => value !== undefined))
}

function findCompleteOption(options: readonly z.core.$ZodType[], place: ExamplePlace): unknown {
  for (const option of options) {
    const missing: string[] = []
    const value = valueFor(option, { ...place, missing })
    if (missing.length === 0) return value
  }
  place.missing.push(place.path)
  return undefined
}

/** The field's usual value, which may be null, or undefined if there is none. */
function usualValueOf(schema: z.core.$ZodType, name: string): unknown {
  const usual = Object.hasOwn(exampleValues, name) ? (exampleValues[name] ?? []) : []
  return usual.find((value) => z.safeParse(schema, value).success)
}

function leafValueFor(schema: z.core.$ZodType, { name, path, missing }: ExamplePlace): unknown {
  const known = [usualValueOf(schema, name), ...typeExamplesOf(schema)].find(
    (value) => value !== undefined && z.safeParse(schema, value).success,
  )
  if (known === undefined) missing.push(path)
  return known
}

/** The moment and id of all examples. */
const MOMENT = '2030-01-31T09:00:00.000Z'
const ID = '01a1ff35-3880-7ef5-bbba-0d7e1de2529c'

function typeExamplesOf(schema: z.core.$ZodType): readonly unknown[] {
  const def = defOf(schema)
  switch (def.type) {
    case 'literal':
      return def.values
    case 'enum':
      return Object.values(def.entries)
    case 'boolean':
      return [true]
    case 'record':
      return [{}]
    case 'string':
      return 'format' in def ? [MOMENT, ID] : []
    default:
      return []
  }
}
