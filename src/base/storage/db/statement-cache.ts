/**
 * Prepared statements of one connection, cached by their text.
 *
 * Bounded, because texts with a list of varying length (`in (?, ?, …)`) would pile up. The oldest statement is
 * evicted first; preparing a statement in steady use again takes 20 µs.
 */

import type SQLite from 'better-sqlite3'
import { createLruCache } from '../../platform/lru-cache.js'

export type StatementCache = (sql: string) => SQLite.Statement<unknown[]>

export function createStatementCache(db: SQLite.Database, limit = 1000): StatementCache {
  const statements = createLruCache<SQLite.Statement<unknown[]>>({ max: limit })
  return (sql) => {
    const cached = statements.get(sql)
    if (cached !== undefined) return cached

    const statement = db.prepare<unknown[]>(sql)
    statements.set(sql, statement)
    return statement
  }
}
