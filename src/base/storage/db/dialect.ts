/**
 * All expressions whose words differ between the engines. Each has the same result in both.
 *
 * Call these functions where a statement is built, and not where a module is loaded: the engine is known only then. A
 * value is a column, a slot or an expression.
 *
 * PostgreSQL compares text by its bytes, as SQLite does, where a column takes part: its columns have the collation "C".
 * An expression without a column says so itself.
 */
import { type AliasedRawBuilder, type RawBuilder, type SqlBool, sql } from 'kysely'
import { SHORT_CLICK_URL } from '../schema/events.js'
import type { Json } from '../tables/columns.js'
import { pickByEngine } from './engine.js'

/** The greatest value. None is null. */
export function greatestOf(...values: readonly unknown[]): RawBuilder<number> {
  const list = sql.join(values)
  return pickByEngine({ sqlite: sql<number>`max(${list})`, postgres: sql<number>`greatest(${list})` })
}

/** The least value. None is null. */
export function leastOf(...values: readonly unknown[]): RawBuilder<number> {
  const list = sql.join(values)
  return pickByEngine({ sqlite: sql<number>`min(${list})`, postgres: sql<number>`least(${list})` })
}

/** The number that the write before this one has given a row, in the same commit. The column is the key of the table. */
export function newestNumberOf(table: string, column: string): RawBuilder<number> {
  return pickByEngine({
    sqlite: sql<number>`(select max(${sql.ref(column)}) from ${sql.table(table)})`,
    // As a value that is found once: PostgreSQL would ask for it at each row, past the index.
    postgres: sql<number>`(select currval(pg_get_serial_sequence(${sql.lit(table)}, ${sql.lit(column)})))`,
  })
}

/** A slot of an integer or null, where nothing else tells PostgreSQL its type, or where it would be one of 32 bits. */
export function integerOf<Value extends number | null>(slot: Value): RawBuilder<Value> {
  return pickByEngine({ sqlite: sql<Value>`${slot}`, postgres: sql<Value>`cast(${slot} as bigint)` })
}

/** A slot of a text or null, where nothing else tells PostgreSQL its type. */
export function textOf<Value extends string | null>(slot: Value): RawBuilder<Value> {
  return pickByEngine({ sqlite: sql<Value>`${slot}`, postgres: sql<Value>`cast(${slot} as text)` })
}

/** Makes a key of an index of a condition: SQLite needs the comparison to find the index, and PostgreSQL has a type for it. */
export function isTrue(condition: RawBuilder<unknown>): RawBuilder<boolean> {
  return pickByEngine({ sqlite: sql<boolean>`(${condition}) = 1`, postgres: sql<boolean>`(${condition})` })
}

/** Text with its ASCII letters in lower case, and all others as they are. */
export function lowerCaseOf(text: unknown): RawBuilder<string> {
  return pickByEngine({ sqlite: sql<string>`lower(${text})`, postgres: sql<string>`lower(${text} collate "C")` })
}

/** Whether the column has this text. The case of ASCII letters does not matter, and an index of the column serves. */
export function equalsIgnoringCase(column: string, text: string): RawBuilder<boolean> {
  const ref = sql.ref(column)
  return pickByEngine({
    sqlite: sql<boolean>`${ref} = ${text} collate nocase`,
    postgres: sql<boolean>`lower(${ref}) = ${lowerCaseOf(text)}`,
  })
}

/** Whether the column matches a pattern with `%`, `_` and the escape `\`. The case of ASCII letters does not matter. */
export function matchesPattern(column: string, pattern: string | null): RawBuilder<boolean> {
  const ref = sql.ref(column)
  return pickByEngine({
    sqlite: sql<boolean>`${ref} like ${pattern} escape '\\'`,
    postgres: sql<boolean>`${ref} ilike ${pattern} escape '\\'`,
  })
}

/** Whether the text, which is a column or an expression, contains `part`. The case of ASCII letters does not matter. */
export function containsIgnoringCase(within: string | RawBuilder<unknown>, part: unknown): RawBuilder<boolean> {
  const [text, lower] = [sql`lower(${typeof within === 'string' ? sql.ref(within) : within})`, lowerCaseOf(part)]
  return pickByEngine({
    sqlite: sql<boolean>`instr(${text}, ${lower}) > 0`,
    postgres: sql<boolean>`strpos(${text}, ${lower}) > 0`,
  })
}

/** Milliseconds since 1970 of a time as RFC 3339 has it. */
export function millisecondsOf(time: RawBuilder<string>): RawBuilder<number> {
  return pickByEngine({
    sqlite: sql<number>`cast(round(unixepoch(${time}, 'subsec') * 1000) as integer)`,
    postgres: sql<number>`cast(round(extract(epoch from cast(${time} as timestamptz)) * 1000) as bigint)`,
  })
}

/** A text before bytes, which are those of a message from `start`, where 1 is the first. */
export function joinBytes(text: string, bytes: RawBuilder<Buffer>, start: number): RawBuilder<Buffer> {
  return pickByEngine({
    sqlite: sql<Buffer>`cast(${text} || substr(${bytes}, ${start}) as blob)`,
    postgres: sql<Buffer>`convert_to(${text}, 'UTF8') || substr(${bytes}, ${start})`,
  })
}

/**
 * Tells rows of the same time apart, in the order of an index of the time. In SQLite it is the number of the row, which
 * ends every index of a table that is not `without rowid`; in PostgreSQL, which sorts such rows, their key.
 */
export function placeOf(table: string, key: string): RawBuilder<number | string> {
  return pickByEngine({ sqlite: sql.id(table, 'rowid'), postgres: sql.id(table, key) })
}

/** Comes before all values of `placeOf`. */
export function firstPlace(): number | string {
  return pickByEngine<number | string>({ sqlite: 0, postgres: '' })
}

/**
 * The URL of a click. SQLite finds it in the index `clicks_of_broadcasts`, but for one that is too long for an index, and
 * reads the row for that.
 */
export function urlOfClick(): RawBuilder<string> {
  const stored = jsonText('data', 'url')
  return pickByEngine({ sqlite: sql<string>`coalesce(${sql.raw(SHORT_CLICK_URL)}, ${stored})`, postgres: stored })
}

/** The text in a field of the JSON object in `column`. Null if there is no such field. */
export function jsonText(column: string, field: string): RawBuilder<string> {
  const ref = sql.ref(column)
  return pickByEngine({
    sqlite: sql<string>`json_extract(${ref}, ${sql.lit(`$.${field}`)})`,
    postgres: sql<string>`(cast(${ref} as json) ->> ${sql.lit(field)})`,
  })
}

/** 1 or 0 for true or false in a field of the JSON object in `column`. Null if there is no such field. */
export function jsonFlag(column: string, field: string): RawBuilder<0 | 1 | null> {
  const ref = sql.ref(column)
  return pickByEngine({
    sqlite: sql<0 | 1 | null>`json_extract(${ref}, ${sql.lit(`$.${field}`)})`,
    postgres: sql<0 | 1 | null>`cast(cast(cast(${ref} as json) ->> ${sql.lit(field)} as boolean) as integer)`,
  })
}

/**
 * The JSON object in `column` with the fields of the object `patch` in place of its own. Other fields stay as they are, in
 * their order, and new ones follow. No field of `patch` is null or an object.
 */
export function patchJson<Value>(column: string, patch: RawBuilder<unknown>): RawBuilder<Json<Value>> {
  const ref = sql.ref(column)
  return pickByEngine({
    sqlite: sql<Json<Value>>`json_patch(${ref}, ${patch})`,
    postgres: sql<Json<Value>>`(select '{' || coalesce(string_agg(field, ',' order by place), '') || '}' from (
      select min(place) as place, cast(to_json(key) as text) || ':'
          || cast((array_agg(value order by place desc))[1] as text) as field from (
        select key, value, ordinality as place from json_each(cast(${ref} as json)) with ordinality
        union all
        select key, value, 1000000 + ordinality from json_each(cast(${patch} as json)) with ordinality) as parts
      group by key) as fields)`,
  })
}

/** Whether a column of texts has one of a list. `list` is a slot. */
export function isInJsonList(column: string, list: Json<readonly string[]>): RawBuilder<SqlBool> {
  return isInList(column, list, sql`value`)
}

/** Whether a column of integers has one of a list. `list` is a slot. */
export function isInJsonNumbers(column: string, list: Json<readonly number[]>): RawBuilder<SqlBool> {
  return isInList(column, list, sql`cast(value as bigint)`)
}

function isInList(column: string, list: unknown, value: RawBuilder<unknown>): RawBuilder<SqlBool> {
  const ref = sql.ref(column)
  return pickByEngine({
    sqlite: sql<SqlBool>`${ref} in (select value from json_each(${list}))`,
    postgres: sql<SqlBool>`${ref} = any(array(select ${value} from json_array_elements_text(cast(${list} as json))))`,
  })
}

/** The tuples of a list as rows of a query. `list` is a slot. */
export function tuplesOf(
  list: Json<readonly (readonly unknown[])[]>,
): AliasedRawBuilder<{ value: string }, 'json_each'> {
  return elementsOf(sql`${list}`).as('json_each')
}

/** A text of each tuple, from place 0. */
export function textOfTuple(place: number): RawBuilder<string> {
  return sql<string>`json_each.value ->> ${sql.lit(place)}`
}

/**
 * Whether the list in `column` has an object with this `name` and this `value`. A `value` of null matches any value.
 */
export function hasNamedValue(column: string, name: string | null, value: string | null): RawBuilder<boolean> {
  return sql<boolean>`exists (select 1 from ${elementsOf(sql.ref(column))} as json_each
    where json_each.value ->> 'name' = ${name} and (${textOf(value)} is null or json_each.value ->> 'value' = ${value}))`
}

/** Whether the list in `column` has this text. */
export function hasText(column: string, text: string): RawBuilder<boolean> {
  const ref = sql.ref(column)
  return sql<boolean>`exists (select 1 from ${textsOf(ref)} as json_each where json_each.value = ${sql.lit(text)})`
}

/** Whether a list in `column` of `table` has the text that `key` is, ASCII letters in lower case, in a row of the same workspace. */
export function isListedIn(
  { table, column }: { readonly table: string; readonly column: string },
  { key, workspaceId }: { readonly key: string; readonly workspaceId: string },
): RawBuilder<boolean> {
  const [rows, list] = [sql.table(table), sql.ref(`${table}.${column}`)]
  return sql<boolean>`${sql.ref(key)} in (select ${lowerCaseOf(sql`json_each.value`)}
    from ${rows}, ${textsOf(list)} as json_each where ${sql.ref(`${table}.workspace_id`)} = ${sql.ref(workspaceId)})`
}

function elementsOf(list: RawBuilder<unknown>): RawBuilder<{ value: string }> {
  return pickByEngine({
    sqlite: sql<{ value: string }>`json_each(${list})`,
    postgres: sql<{ value: string }>`json_array_elements(cast(${list} as json))`,
  })
}

function textsOf(list: RawBuilder<unknown>): RawBuilder<{ value: string }> {
  return pickByEngine({
    sqlite: sql<{ value: string }>`json_each(${list})`,
    postgres: sql<{ value: string }>`json_array_elements_text(cast(${list} as json))`,
  })
}
