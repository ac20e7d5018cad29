/** Lists of any length in a statement: bound as one value, so that the statement is compiled once. */
import { type AliasedRawBuilder, type Expression, type RawBuilder, type SqlBool, sql } from 'kysely'
import type { Json } from '../tables/columns.js'

/** A condition on a column. `list` is a slot. */
export function isInJsonList(column: string, list: Json<readonly string[]>): Expression<SqlBool> {
  return sql<SqlBool>`${sql.ref(column)} in (select value from json_each(${list}))`
}

/** The tuples of a list as rows of a query. `list` is a slot. */
export function tuplesOf(
  list: Json<readonly (readonly unknown[])[]>,
): AliasedRawBuilder<{ value: string }, 'json_each'> {
  return sql<{ value: string }>`json_each(${list})`.as('json_each')
}

/** A value of each tuple, from place 0. */
export function valueOfTuple<Value extends string | number>(place: number): RawBuilder<Value> {
  return sql<Value>`json_each.value ->> ${sql.lit(place)}`
}

/**
 * Whether the list in `column` has an object with this `name` and this `value`. A `value` of null matches any value.
 */
export function hasNamedValue(column: string, name: string | null, value: string | null): RawBuilder<boolean> {
  return sql<boolean>`exists (select 1 from json_each(${sql.ref(column)}) where json_each.value ->> 'name' = ${name} and
    (${value} is null or json_each.value ->> 'value' = ${value}))`
}

/** Whether the list in `column` has this text. */
export function hasText(column: string, text: string): RawBuilder<boolean> {
  return sql<boolean>`exists (select 1 from json_each(${sql.ref(column)}) where json_each.value = ${sql.lit(text)})`
}

/** Whether a list in `column` of `table` has the text that `key` is, ASCII letters in lower case, in a row of the same workspace. */
export function isListedIn(
  { table, column }: { readonly table: string; readonly column: string },
  { key, workspaceId }: { readonly key: string; readonly workspaceId: string },
): RawBuilder<boolean> {
  const [rows, list] = [sql.table(table), sql.ref(`${table}.${column}`)]
  return sql<boolean>`${sql.ref(key)} in (select lower(json_each.value) from ${rows}, json_each(${list})
    where ${sql.ref(`${table}.workspace_id`)} = ${sql.ref(workspaceId)})`
}
