/** One statement on a database file, for rows that no function of src/ writes. */
import { SQLite } from '../../../src/storage/sqlite.js'

export function runSql(file: string, sql: string): void {
  const db = new SQLite(file)
  try {
    db.exec(sql)
  } finally {
    db.close()
  }
}
