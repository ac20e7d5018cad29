/** The engine that the tests run on, and tests that are about SQLite alone. */
import { engineInUse } from '../../../src/base/storage/db/engine.js'

/** The `skip` option of such a test: false, or why PostgreSQL has nothing to show there. */
export function skipOnPostgres(why: string): false | string {
  return isOnPostgres() ? `of SQLite alone: ${why}` : false
}

/** Whether the databases of tests are those of PostgreSQL. */
export function isOnPostgres(): boolean {
  return process.env['POSTHORN_TEST_STORAGE'] === 'postgres'
}

/** Of tests that read the plans of statements. */
export const plansOfSqlite = 'plans are written in its words'
/** Of tests that give the file of a database to another program or connection. */
export const fileOfSqlite = 'its file is opened by others too'

/** The text of a field of JSON, as words of a statement. */
export function wordsOfJson(column: string, field: string): string {
  return isOnPostgres() ? `(${column}::json ->> '${field}')` : `json_extract(${column}, '$.${field}')`
}

/** Statements that tests write out name their parameters by question marks, as SQLite does. */
export function toWordsOfEngine(sql: string): string {
  if (!isOnPostgres() && engineInUse() === 'sqlite') return sql
  let number = 0
  return sql.replace(/\?/g, () => {
    number += 1
    return `$${number}`
  })
}

/** The name of the node that opens the database of a test. */
export const testNode = isOnPostgres() ? 'one' : ''
