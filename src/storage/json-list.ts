/** A condition on a column and a list of any length, which is bound as one value, so that a statement is compiled once. */
import { type Expression, type SqlBool, sql } from 'kysely'
import type { Json } from './tables/columns.js'

/** `list`: a slot. */
export function isInJsonList(column: string, list: Json<readonly string[]>): Expression<SqlBool> {
  return sql<SqlBool>`${sql.ref(column)} in (select value from json_each(${list}))`
}
