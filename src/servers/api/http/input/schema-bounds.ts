/** Checks before a schema parses its content: Zod parses every item of a list or object before it counts them. */
import { z } from 'zod'

/** A list of at most `max` items, or an object of at most `max` fields. */
export function withMaxSize<Schema extends z.ZodType>(
  max: number,
  what: string,
  schema: Schema,
): z.ZodPreprocess<Schema> {
  return z.preprocess((given, context) => {
    if (sizeOf(given) <= max) return given
    context.addIssue({ code: 'custom', message: `at most ${max} ${what}` })
    return z.NEVER
  }, schema)
}

function sizeOf(given: unknown): number {
  if (Array.isArray(given)) return given.length
  return typeof given === 'object' && given !== null ? Object.keys(given).length : 0
}

/** Refuses the field `__proto__`, which `z.record` would drop silently. */
export function rejectProto<Schema extends z.ZodType>(schema: Schema): z.ZodPreprocess<Schema> {
  return z.preprocess((given, context) => {
    if (typeof given !== 'object' || given === null || !Object.hasOwn(given, '__proto__')) return given
    context.addIssue({ code: 'custom', path: ['__proto__'], message: 'is not an allowed name' })
    return z.NEVER
  }, schema)
}
