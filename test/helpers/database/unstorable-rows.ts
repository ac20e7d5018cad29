/** Searches a whole database for text that PostgreSQL would refuse. */
import { explainUnstorable, toStorableJson } from '../../../src/base/mail/storable-text.js'
import type { Read } from '../../../src/base/storage/db/prepared.js'
import { tablesOf } from './rows.js'

/** The tables and columns that have such a text, also as an escape in JSON. */
export async function rowsWithUnstorableText(read: Read): Promise<readonly string[]> {
  const found = new Set<string>()
  for (const table of await tablesOf(read)) {
    for (const row of await read<object>(`select * from ${table}`, [])) {
      for (const [column, value] of Object.entries(row)) {
        const isText = typeof value === 'string'
        if (isText && (explainUnstorable(value) !== null || isWrongJson(value)))
          found.add(`${table}.${column}: ${value}`)
      }
    }
  }
  return [...found]
}

function isWrongJson(text: string): boolean {
  return /^[[{"]/.test(text) && toStorableJson(text) !== text
}
