/**
 * Prepared statements of one connection, cached by their text.
 *
 * Bounded, because texts with a list of varying length (`in (?, ?, …)`) would pile up. The oldest statement is
 * evicted first; preparing a statement in steady use again takes 20 µs.
 */

import type SQLite from 'better-sqlite3'
import { createLruCache, type LruCache } from '../../platform/lru-cache.js'

export class StatementCache {
  private readonly statements: LruCache<SQLite.Statement<unknown[]>>

  constructor(
    private readonly db: SQLite.Database,
    limit = 1000,
  ) {
    this.statements = createLruCache({ max: limit })
  }

  prepare(sql: string): SQLite.Statement<unknown[]> {
    const cached = this.statements.get(sql)
    if (cached !== undefined) return cached

    const statement = this.db.prepare<unknown[]>(sql)
    this.statements.set(sql, statement)
    return statement
  }
}
