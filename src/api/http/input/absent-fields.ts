/**
 * What counts as not given: an optional field that is null or an empty list, wherever in a body
 * the schema has one. Clients whose serializer writes every field send such bodies.
 *
 * Where the schema itself takes null or the empty list, the value means something (in a PATCH it
 * clears what is there) and stays. A field that must be given stays too, and the schema says what is
 * wrong with it.
 *
 * Limits: a body is looked at as far as its schema names fields; records are the client's own and
 * are left alone, and so is what stands behind a `z.lazy`.
 */
import { z } from 'zod'
import { isRecord } from '../../../platform/records.js'

/** What a schema knows of the fields of an object and of the items of a list. */
interface Shape {
  readonly fields: ReadonlyMap<string, Field>
  readonly items: Shape | null
}

interface Field {
  /** It may be left out. */
  readonly optional: boolean
  readonly acceptsNull: boolean
  readonly acceptsEmpty: boolean
  readonly shape: Shape | null
}

const shapeCache = new WeakMap<z.core.$ZodType, { readonly shape: Shape | null }>()
const schemasRefusingEmpty = new WeakSet<z.core.$ZodType>()

/** An optional list of which an empty one is refused, because taking it for absent would grant more than was asked for. */
export function refuseEmptyList<Schema extends z.ZodType>(schema: Schema): Schema {
  schemasRefusingEmpty.add(schema)
  return schema
}

/** The value without the fields that count as absent; the very value where there are none. */
export function removeAbsentFields(schema: z.core.$ZodType, given: unknown): unknown {
  const shape = shapeOf(schema)
  return shape === null ? given : prune(shape, given)
}

function prune(shape: Shape, given: unknown): unknown {
  if (Array.isArray(given)) return shape.items === null ? given : pruneItems(shape.items, given)
  return isRecord(given) ? pruneFields(shape.fields, given) : given
}

/** Of a list: every schema whose items have fields takes fewer, and what is longer is refused without a look at it. */
const MAX_ITEMS = 1_000

function pruneItems(items: Shape, given: readonly unknown[]): readonly unknown[] {
  if (given.length > MAX_ITEMS) return given
  const kept = given.map((item) => prune(items, item))
  return kept.some((item, place) => item !== given[place]) ? kept : given
}

function pruneFields(fields: Shape['fields'], given: Readonly<Record<string, unknown>>): unknown {
  let copy: Record<string, unknown> | null = null
  for (const [name, field] of fields) {
    if (!Object.hasOwn(given, name)) continue
    const value = given[name]
    const absent = isAbsent(field, value)
    const kept = absent || field.shape === null ? value : prune(field.shape, value)
    if (!absent && kept === value) continue
    copy ??= { ...given }
    if (absent) delete copy[name]
    else copy[name] = kept
  }
  return copy ?? given
}

function isAbsent({ optional, acceptsNull, acceptsEmpty }: Field, value: unknown): boolean {
  if (!optional) return false
  return value === null ? !acceptsNull : Array.isArray(value) && value.length === 0 && !acceptsEmpty
}

/** Found out once for each schema. */
function shapeOf(schema: z.core.$ZodType): Shape | null {
  const known = shapeCache.get(schema)
  if (known !== undefined) return known.shape
  const shape = buildShape(schema)
  shapeCache.set(schema, { shape })
  return shape
}

function buildShape(schema: z.core.$ZodType): Shape | null {
  const def = defOf(schema)
  switch (def.type) {
    case 'object':
      return { fields: new Map(Object.entries(def.shape).map(([name, field]) => [name, fieldOf(field)])), items: null }
    case 'array':
      return { fields: new Map(), items: shapeOf(def.element) }
    case 'union':
      return mergeShapes(def.options.flatMap((option) => shapeOf(option) ?? []))
    case 'pipe':
      // Of a preprocessing the schema stands behind its function, of a transformation before it.
      return shapeOf(isTransform(def.in) ? def.out : def.in)
    case 'optional':
    case 'nullable':
    case 'default':
    case 'prefault':
    case 'catch':
    case 'readonly':
    case 'nonoptional':
      return shapeOf(def.innerType)
    default:
      return null
  }
}

/** Zod declares the definitions of its schemas for their union alone. */
export function defOf(schema: z.core.$ZodType): z.core.$ZodTypes['_zod']['def'] {
  return (schema as z.core.$ZodTypes)._zod.def
}

export function isTransform(schema: z.core.$ZodType): boolean {
  return defOf(schema).type === 'transform'
}

function fieldOf(schema: z.core.$ZodType): Field {
  return {
    optional: acceptsValue(schema, undefined),
    acceptsNull: acceptsValue(schema, null),
    acceptsEmpty: acceptsValue(schema, []) || schemasRefusingEmpty.has(schema),
    shape: shapeOf(schema),
  }
}

/** Asked of the schema itself: what its type says of being optional is lost behind preprocessing. */
export function acceptsValue(schema: z.core.$ZodType, value: unknown): boolean {
  return z.safeParse(schema, value).success
}

/** Of the forms that a value may have: a field that one form does without may be left out. */
function mergeShapes(forms: readonly Shape[]): Shape | null {
  if (forms.length === 0) return null
  const objects = forms.filter(({ fields }) => fields.size > 0)
  const names = new Set(objects.flatMap(({ fields }) => [...fields.keys()]))
  const fields = new Map([...names].map((name) => [name, mergeField(objects, name)]))
  return { fields, items: mergeShapes(forms.flatMap(({ items }) => items ?? [])) }
}

function mergeField(objects: readonly Shape[], name: string): Field {
  const known = objects.flatMap(({ fields }) => fields.get(name) ?? [])
  return {
    optional: known.length < objects.length || known.some(({ optional }) => optional),
    acceptsNull: known.some(({ acceptsNull }) => acceptsNull),
    acceptsEmpty: known.some(({ acceptsEmpty }) => acceptsEmpty),
    shape: mergeShapes(known.flatMap(({ shape }) => shape ?? [])),
  }
}
