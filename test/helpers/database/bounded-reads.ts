/**
 * Which reads of a request may touch more rows than one step has.
 *
 * A read is bounded if each of its conditions is a bound of the index that it walks, so that every row that it
 * touches is returned, and if it has a limit; or if it finds one row by its complete key. The statements are those
 * that ran, with their parameters.
 */
import SQLite from 'better-sqlite3'
import { JobThread } from '../../../src/base/platform/processes/job-thread.js'
import { isRecord } from '../../../src/base/platform/records.js'
import { INDEX_STEP } from '../../../src/base/storage/db/stepped-walk.js'
import { boundedTables, shortReads } from './query-plans.js'

export interface RecordedRead {
  readonly sql: string
  readonly parameters: readonly unknown[]
}

interface Statement {
  readonly source: string
  all: (parameters: readonly unknown[]) => unknown[]
}

const prototype = Object.getPrototypeOf(new SQLite(':memory:').prepare('select 1')) as Statement

/** Reads of this thread, and those that it gives to others. Writes run in another one. */
export async function recordReads(work: () => Promise<void>): Promise<readonly RecordedRead[]> {
  const { all } = prototype
  const { run } = JobThread.prototype
  const made: RecordedRead[] = []
  prototype.all = function (this: Statement, parameters) {
    made.push({ sql: this.source, parameters })
    return all.call(this, parameters)
  }
  JobThread.prototype.run = function (this: JobThread<unknown, unknown>, job, transfer) {
    if (isRecord(job) && typeof job['sql'] === 'string' && Array.isArray(job['parameters']))
      made.push({ sql: job['sql'], parameters: job['parameters'] })
    return run.call(this, job, transfer)
  }
  try {
    await work()
  } finally {
    prototype.all = all
    JobThread.prototype.run = run
  }
  return made
}

/** An answer has at most a hundred rows, and one that tells whether there are more; a walk takes a step. */
const MAX_ROWS = INDEX_STEP

/** Null: it is bounded. */
export function boundFault(db: SQLite.Database, { sql, parameters }: RecordedRead): string | null {
  if (!/^\s*select\b/i.test(sql)) return null
  if (shortReads.some(({ statement }) => statement === sql)) return null
  const plan = db.prepare<unknown[], { readonly detail: string }>(`explain query plan ${sql}`).all(...parameters)
  const details = plan.map(({ detail }) => detail.replace(/ LEFT-JOIN$/, ''))
  const searches = details.filter((detail) => /^S(?:EARCH|CAN) /.test(detail))
  if (searches.every((detail) => isOneRow(db, detail) || boundedTables.has(tableOf(detail, sql)))) return null
  const left = conditionsOf(sql).filter((column) => !searches.some((detail) => isBounding(db, detail, column)))
  const { limit, offset } = limitsOf({ sql, parameters })
  if (
    offset > 0 &&
    !searches.every((detail) => boundedTables.has(tableOf(detail, sql))) &&
    seeksRows(db, sql, parameters)
  ) {
    return `passes over rows of the table: ${sql}`
  }
  if (left.length > 0) return `looks up ${left.join(', ')}: ${sql}`
  if (limit === null) return `has no limit: ${sql}`
  return limit + offset > MAX_ROWS ? `walks over ${limit + offset} rows: ${sql}` : null
}

/** Read from SQLite's program: its plan calls an index covering even where the statement reads every row. */
function seeksRows(db: SQLite.Database, sql: string, parameters: readonly unknown[]): boolean {
  const program = db.prepare<unknown[], { readonly opcode: string }>(`explain ${sql}`).all(...parameters)
  return program.some(({ opcode }) => opcode === 'NotFound' || opcode === 'SeekRowid')
}

function tableOf(detail: string, sql: string): string {
  const name = /^(?:SCAN|SEARCH) (\w+)/.exec(detail)?.[1] ?? ''
  return new RegExp(`"(\\w+)" as "${name}"`).exec(sql)?.[1] ?? name
}

/** By its id, its primary key, or all columns of a unique index, each with equality. */
function isOneRow(db: SQLite.Database, detail: string): boolean {
  const [, index = ''] = /USING (?:COVERING )?INDEX (\S+)/.exec(detail) ?? []
  const [, bound = ''] = /\(([^()]*)\)$/.exec(detail) ?? []
  const equal = bound.split(' AND ').filter((part) => part.endsWith('=?'))
  if (/USING (?:INTEGER )?PRIMARY KEY/.test(detail)) return equal.length > 0 && !/[<>]/.test(bound)
  if (equal.includes('id=?')) return true
  const columns = db.prepare('select "unique" from pragma_index_list(?) where name = ?')
  const table = db.prepare("select tbl_name as name from sqlite_schema where type = 'index' and name = ?").get(index)
  if (table === undefined) return false
  const row = columns.get((table as { name: string }).name, index) as { unique: number } | undefined
  const keys = db.prepare('select count(*) as n from pragma_index_xinfo(?) where key = 1').get(index) as { n: number }
  return row?.unique === 1 && equal.length === keys.n && !/[<>]/.test(bound)
}

/** Columns that the conditions of all its parts name. */
function conditionsOf(sql: string): readonly string[] {
  const parts = sql.split(/\bwhere\b/i).slice(1)
  const named = parts.flatMap((part) => {
    const [conditions = ''] = part.split(/\border by\b|\blimit\b/i)
    return [...conditions.matchAll(/"(\w+)"(?=\)?\s*(?:=|<>|<=|>=|<|>|is\b|in\b))/g)].map(([, column]) => column ?? '')
  })
  return [...new Set(named)]
}

/** Whether the index range of this search is bounded by the column, or the index holds only rows that fit it. */
function isBounding(db: SQLite.Database, detail: string, column: string): boolean {
  const [, index = ''] = /USING (?:COVERING )?INDEX (\S+)/.exec(detail) ?? []
  const [, bound = ''] = /\((.*)\)$/.exec(detail) ?? []
  if (new RegExp(`\\b${column}\\b`).test(bound)) return true
  if (/\browid\b/.test(bound) && isRowid(db, detail, column)) return true
  const row = db
    .prepare<unknown[], { readonly sql: string | null }>('select sql from sqlite_schema where name = ?')
    .get(index)
  const text = row?.sql ?? ''
  const [, expression = ''] = /\w+\((\w+)\)/.exec(text.replace(/^[^(]*/, '')) ?? []
  return (bound.includes('<expr>') && expression === column) || new RegExp(`where .*\\b${column}\\b`, 's').test(text)
}

/** An integer primary key: plans call it by SQLite's own name. */
function isRowid(db: SQLite.Database, detail: string, column: string): boolean {
  const [, table = ''] = /^(?:SCAN|SEARCH) (\w+)/.exec(detail) ?? []
  const key = db.prepare("select name from pragma_table_info(?) where pk = 1 and lower(type) = 'integer'").get(table)
  return (key as { readonly name: string } | undefined)?.name === column
}

interface Limits {
  readonly limit: number | null
  readonly offset: number
}

/** The parameters of `limit` and `offset`. */
function limitsOf({ sql, parameters }: RecordedRead): Limits {
  const valueAt = (word: string): number | null => {
    const at = sql.search(new RegExp(`\\b${word} \\?`, 'i'))
    if (at === -1) return null
    return Number(parameters[(sql.slice(0, at).match(/\?/g) ?? []).length])
  }
  return { limit: valueAt('limit'), offset: valueAt('offset') ?? 0 }
}
