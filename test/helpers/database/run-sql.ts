/** One statement on a database file, for rows that no function of src/ writes. */
import SQLite from 'better-sqlite3'

export function runSql(file: string, sql: string): void {
  const db = new SQLite(file)
  try {
    db.exec(sql)
  } finally {
    db.close()
  }
}
