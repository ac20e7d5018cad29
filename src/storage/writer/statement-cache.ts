/**
 * Prepared statements of one connection, kept by their text.
 *
 * Bounded: texts with a list of varying length (`in (?, ?, …)`) would otherwise pile
 * up. The least recently used goes first.
 */

import type SQLite from 'better-sqlite3'
import { createLruCache } from '../../platform/lru-cache.js'

export type StatementCache = (sql: string) => SQLite.Statement<unknown[]>

export function createStatementCache(db: SQLite.Database, limit = 1000): StatementCache {
  const statements = createLruCache<SQLite.Statement<unknown[]>>({ max: limit })
  return (sql) => {
    const found = statements.get(sql)
    if (found !== undefined) return found

    const made = db.prepare<unknown[]>(sql)
    statements.set(sql, made)
    return made
  }
}
