/** A whole number in a query string: digits alone, within bounds. Absent is the caller's `optional()`. */
import { z } from 'zod'

/** As long as the longest bound that anybody has. */
const digits = /^\d{1,15}$/

export function wholeNumber(least: number, most: number): z.ZodType<number, string> {
  const message = `must be a whole number from ${least} to ${most}`
  return z
    .string(message)
    .regex(digits, message)
    .transform(Number)
    .refine((value) => value >= least && value <= most, message)
    .meta({ override: { type: 'integer', minimum: least, maximum: most } })
}
