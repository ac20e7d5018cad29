/**
 * Removes optional fields that are null or an empty list, which count as absent at any depth of a body. Clients whose
 * serializer writes every field send such bodies.
 *
 * If the schema accepts null or the empty list, the value has a meaning (in a PATCH it clears the
 * field) and stays. A required field stays too, and the schema reports what is wrong with it.
 *
 * Limits: only fields that a schema names are examined; records (`z.record`) and `z.lazy` are not.
 */
import { z } from 'zod'
import { isRecord } from '../../../../base/platform/records.js'

/** The fields of an object and the items of a list, according to a schema. */
interface Shape {
  readonly fields: ReadonlyMap<string, Field>
  readonly items: Shape | null
}

interface Field {
  readonly optional: boolean
  readonly acceptsNull: boolean
  readonly acceptsEmpty: boolean
  readonly shape: Shape | null
}

const shapeCache = new WeakMap<z.core.$ZodType, { readonly shape: Shape | null }>()
const schemasRefusingEmpty = new WeakSet<z.core.$ZodType>()

/** Marks an optional list that must not be empty, since absence would grant more than was requested. */
export function refuseEmptyList<Schema extends z.ZodType>(schema: Schema): Schema {
  schemasRefusingEmpty.add(schema)
  return schema
}

/** A copy without the fields that count as absent; the same value if there are none. */
export function removeAbsentFields(schema: z.core.$ZodType, given: unknown): unknown {
  const shape = shapeOf(schema)
  return shape === null ? given : prune(shape, given)
}

function prune(shape: Shape, given: unknown): unknown {
  if (Array.isArray(given)) return shape.items === null ? given : pruneItems(shape.items, given)
  return isRecord(given) ? pruneFields(shape.fields, given) : given
}

/** Every schema of a list of objects allows fewer items; a longer list is left for the schema to refuse. */
const MAX_ITEMS = 1_000

function pruneItems(items: Shape, given: readonly unknown[]): readonly unknown[] {
  if (given.length > MAX_ITEMS) return given
  const pruned = given.map((item) => prune(items, item))
  return pruned.some((item, index) => item !== given[index]) ? pruned : given
}

function pruneFields(fields: Shape['fields'], values: Readonly<Record<string, unknown>>): unknown {
  let copy: Record<string, unknown> | null = null
  for (const [name, field] of fields) {
    if (!Object.hasOwn(values, name)) continue
    const value = values[name]
    const absent = isAbsent(field, value)
    const pruned = absent || field.shape === null ? value : prune(field.shape, value)
    if (!absent && pruned === value) continue
    copy ??= { ...values }
    if (absent) delete copy[name]
    else copy[name] = pruned
  }
  return copy ?? values
}

function isAbsent({ optional, acceptsNull, acceptsEmpty }: Field, value: unknown): boolean {
  if (!optional) return false
  return value === null ? !acceptsNull : Array.isArray(value) && value.length === 0 && !acceptsEmpty
}

/** Computed once for each schema. */
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
      // The schema is the output of a preprocessing, and the input of a transformation.
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

/** Tries the schema itself: after a preprocessing its type no longer shows that it is optional. */
export function acceptsValue(schema: z.core.$ZodType, value: unknown): boolean {
  return z.safeParse(schema, value).success
}

/** The shape of a union. A field is optional if one of its forms does not require it. */
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
