/** Objects of unknown content, such as parsed JSON. */
type UnknownRecord = Readonly<Record<PropertyKey, unknown>>

/** An object or a list. */
function isObject(value: unknown): value is UnknownRecord {
  return typeof value === 'object' && value !== null
}

/** An object, no list and not null. */
export function isRecord(value: unknown): value is UnknownRecord {
  return isObject(value) && !Array.isArray(value)
}

/** The value of an own field, or of an item of a list, or undefined if there is none. */
export function ownValueOf(value: unknown, name: PropertyKey): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
}

/** The keys of an object that has no others than its type says. */
export function keysOf<Key extends string>(record: Readonly<Record<Key, unknown>>): Key[] {
  return Object.keys(record).filter((key): key is Key => key in record)
}
