/**
 * Bounds that hold before a schema looks at what is inside: it parses every item of a list
 * and every value of an object first, and counts them afterwards.
 */
import { z } from 'zod'

/** A list of at most so many items, or an object of at most so many fields. */
export function withMaxSize<Schema extends z.ZodType>(
  most: number,
  what: string,
  schema: Schema,
): z.ZodPreprocess<Schema> {
  return z.preprocess((given, context) => {
    if (sizeOf(given) <= most) return given
    context.addIssue({ code: 'custom', message: `at most ${most} ${what}` })
    return z.NEVER
  }, schema)
}

function sizeOf(given: unknown): number {
  if (Array.isArray(given)) return given.length
  return typeof given === 'object' && given !== null ? Object.keys(given).length : 0
}

/** An object of which no field is lost: a record passes over the name that means an object's prototype. */
export function rejectProto<Schema extends z.ZodType>(schema: Schema): z.ZodPreprocess<Schema> {
  return z.preprocess((given, context) => {
    if (typeof given !== 'object' || given === null || !Object.hasOwn(given, '__proto__')) return given
    context.addIssue({ code: 'custom', path: ['__proto__'], message: 'cannot be a name here' })
    return z.NEVER
  }, schema)
}
