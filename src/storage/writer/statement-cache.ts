/**
 * Prepared statements of one connection, kept by their text.
 *
 * Bounded: texts with a list of varying length (`in (?, ?, …)`) would otherwise pile
 * up. The oldest goes first; a statement in steady use is prepared again in 20 µs.
 */
import type SQLite from 'better-sqlite3'

export type StatementCache = (sql: string) => SQLite.Statement<unknown[]>

export function createStatementCache(db: SQLite.Database, limit = 1000): StatementCache {
  const statements = new Map<string, SQLite.Statement<unknown[]>>()
  return (sql) => {
    const found = statements.get(sql)
    if (found !== undefined) return found

    const made = db.prepare<unknown[]>(sql)
    const oldest = statements.size < limit ? undefined : statements.keys().next().value
    if (oldest !== undefined) statements.delete(oldest)
    statements.set(sql, made)
    return made
  }
}
