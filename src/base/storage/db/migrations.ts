/**
 * All migrations by name, in their order: the schema of the first release, then what later releases change.
 *
 * A released migration never changes: a correction is a new one.
 */

import { schema } from '../schema/schema.js'
import type { Migrations } from './migrate.js'

export const migrations: Migrations = {
  '0001-baseline': schema,
}
