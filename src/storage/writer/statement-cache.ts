/**
 * Prepared statements of one connection, kept by their text.
 *
 * Bounded: texts with a list of varying length (`in (?, ?, …)`) would otherwise pile
 * up. The oldest goes first; a statement in steady use is prepared again in 20 µs.
 */
import type SQLite from 'better-sqlite3'

export type StatementOf = (sql: string) => SQLite.Statement<unknown[]>

export function statementCache(db: SQLite.Database, limit = 1000): StatementOf {
  const kept = new Map<string, SQLite.Statement<unknown[]>>()
  return (sql) => {
    const found = kept.get(sql)
    if (found !== undefined) return found

    const made = db.prepare<unknown[]>(sql)
    const oldest = kept.size < limit ? undefined : kept.keys().next().value
    if (oldest !== undefined) kept.delete(oldest)
    kept.set(sql, made)
    return made
  }
}
