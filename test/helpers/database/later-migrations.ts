/**
 * The migrations of this version and some that a later release might add, so that the machinery of upgrades has
 * something to do; and a database of before the first release.
 */
import SQLite from 'better-sqlite3'
import type { Migrations } from '../../../src/base/storage/db/migrate.js'
import { migrations } from '../../../src/base/storage/db/migrations.js'

/** They change a table that has rows, add one, and read and write all emails. */
const added: Migrations = {
  '9001-note': ['alter table emails add column note text', `update emails set note = 'of ' || id`],
  '9002-table': [
    'create table notes (email_id text primary key, note text not null) strict, without rowid',
    'insert into notes (email_id, note) select id, note from emails',
  ],
  '9003-index': ['create index notes_by_note on notes (note)'],
  '9004-trigger': [
    'create trigger notes_go after delete on emails begin delete from notes where email_id = old.id; end',
  ],
}

export const addedNames: readonly string[] = Object.keys(added)

export const laterMigrations: Migrations = { ...migrations, ...added }

/** The names are those of migrations that no release has. */
export function makeDevelopmentDatabase(file: string): void {
  const db = new SQLite(file)
  db.exec('create table kysely_migration (name varchar(255) not null primary key, timestamp varchar(255) not null)')
  db.exec(`insert into kysely_migration values ('0001-sending', '2026-01-01'), ('0050-disk-held', '2026-01-02')`)
  db.exec('create table emails (id text primary key)')
  db.close()
}
