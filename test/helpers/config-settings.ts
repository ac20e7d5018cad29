/** Lists the settings of the schema. */
import { z } from 'zod'
import { tables } from '../../src/base/config/live-config.js'
import { settings } from '../../src/base/config/schema.js'

/** The names of all settings, such as `tls.acme.email`. */
export function listSettings(schema: z.core.$ZodType = settings, path = ''): readonly string[] {
  const inner = schema instanceof z.ZodPrefault ? schema.unwrap() : schema
  if (!(inner instanceof z.ZodObject) || tables.has(path)) return [path]
  return Object.entries(inner.shape).flatMap(([key, value]) =>
    listSettings(value, path === '' ? key : `${path}.${key}`),
  )
}
