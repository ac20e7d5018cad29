/** Databases of earlier schemas, as `scripts/schemas` made them, and what is in each of them. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { gunzipSync } from 'node:zlib'
import SQLite from 'better-sqlite3'

const folder = 'test/fixtures/schemas'

/** In every fixture: the key of its workspace, and the ids of an email that waits and of one that was delivered. */
export const ofFixtures = {
  key: 'ph_fixture-of-an-earlier-schema-0000000000000',
  waiting: '019b7000-0000-7000-8000-000000000001',
  delivered: '019b7000-0000-7000-8000-000000000002',
} as const

/** Numbers of migrations, oldest first. */
export function listFixtures(): readonly string[] {
  return listNumbers('.db.gz')
}

/** The same, of those for PostgreSQL. */
export function listPostgresFixtures(): readonly string[] {
  return listNumbers('.postgres.json.gz')
}

function listNumbers(suffix: string): readonly string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith(suffix))
    .map((name) => name.slice(0, 4))
    .sort()
}

/** The statements with which a release made its schema in an empty one. */
export function readPostgresFixture(number: string): readonly string[] {
  return JSON.parse(gunzipSync(readFileSync(`${folder}/${number}.postgres.json.gz`)).toString()) as readonly string[]
}

/** Unpacks a fixture as the database `file`. */
export function unpackFixture(number: string, file: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  writeFileSync(file, gunzipSync(readFileSync(`${folder}/${number}.db.gz`)), { mode: 0o600 })
}

/** Reads the file as it is, whichever version it is of. */
export function readFile<Row>(file: string, sql: string): Row[] {
  const db = new SQLite(file, { fileMustExist: true })
  try {
    return db.prepare<[], Row>(sql).all()
  } finally {
    db.close()
  }
}
