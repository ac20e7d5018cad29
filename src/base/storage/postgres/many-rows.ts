/**
 * Inserts of single rows as one insert of many: `insert … select … from unnest($1::text[], …)`, with an array for each
 * parameter. From some rows on, the server needs less time for it than for a statement for each row.
 */
import type { Statement } from './pipeline-run.js'
import { toSendable } from './wire-values.js'

/** The types of the columns, by `table.column`. */
export type ColumnTypes = ReadonlyMap<string, string>

const INSERT = /^insert into "(\w+)" \(([^)]*)\) values \((.*)\)$/s
const PARAMETER = /\$(\d+)/g
/** The parameter of an expression, with the type that the dialect has given it. */
const TYPED = /cast\(\$(\d+) as (\w+)\)/g

export class ManyRows {
  private readonly known = new Map<string, string | null>()

  constructor(private readonly types: ColumnTypes) {}

  /** Returns null if these rows can only be inserted one by one. */
  join(sql: string, rows: readonly (readonly unknown[])[]): Statement | null {
    const joined = this.find(sql)
    const [first] = rows
    if (joined === null || first === undefined) return null
    const parameters = first.map((_, at) => toArray(rows.map((row) => row[at])))
    return parameters.includes(null) ? null : { sql: joined, parameters }
  }

  private find(sql: string): string | null {
    const known = this.known.get(sql)
    if (known !== undefined) return known
    const joined = this.build(sql)
    this.known.set(sql, joined)
    return joined
  }

  private build(sql: string): string | null {
    const [, table = '', columns = '', values = ''] = INSERT.exec(sql) ?? []
    const parts = splitList(values)
    const names = columns.split(', ')
    if (table === '' || parts.length !== names.length) return null
    const types = new Map<string, string>(
      [...values.matchAll(TYPED)].map(([, number = '', type = '']) => [number, type]),
    )
    for (const [at, part] of parts.entries()) {
      const [, number] = /^\$(\d+)$/.exec(part) ?? []
      if (number !== undefined) types.set(number, this.types.get(`${table}.${names[at]?.replaceAll('"', '')}`) ?? '')
    }
    const numbers = [...new Set([...values.matchAll(PARAMETER)].map(([, number = '']) => number))]
    // Bytes would be sent as text in an array, which doubles them.
    if (numbers.some((number) => ['', 'bytea'].includes(types.get(number) ?? ''))) return null
    const inOrder = numbers.toSorted((one, other) => Number(one) - Number(other))
    const arrays = inOrder.map((number) => `$${number}::${types.get(number)}[]`).join(', ')
    const fields = inOrder.map((number) => `p${number}`).join(', ')
    return `insert into "${table}" (${columns}) select ${values.replace(PARAMETER, 'given.p$1')} from unnest(${arrays}) as given(${fields})`
  }
}

/** The parts of a list between its own commas. There are none if the list ends before the text. */
function splitList(list: string): readonly string[] {
  const parts: string[] = []
  let depth = 0
  let isQuoted = false
  let start = 0
  for (let at = 0; at < list.length; at++) {
    const letter = list[at]
    if (letter === "'") isQuoted = !isQuoted
    else if (isQuoted) continue
    else if (letter === '(') depth++
    else if (letter === ')' && --depth < 0) return []
    else if (letter === ',' && depth === 0) {
      parts.push(list.slice(start, at).trim())
      start = at + 1
    }
  }
  return [...parts, list.slice(start).trim()]
}

/** An array as PostgreSQL writes it (section 8.15.2 of its manual). Null if a value cannot be sent in one. */
export function toArray(values: readonly unknown[]): string | null {
  const words: string[] = []
  for (const value of values) {
    const sendable = toSendable(value)
    if (sendable === null) words.push('NULL')
    else if (typeof sendable !== 'string') return null
    else words.push(typeof value === 'string' ? `"${sendable.replace(/["\\]/g, '\\$&')}"` : sendable)
  }
  return `{${words.join(',')}}`
}
