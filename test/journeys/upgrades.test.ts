/**
 * Databases of every third released schema, and of the newest ones, are upgraded, and their mail, queue, keys and domains
 * are there. So are they after the upgrade to a version that does not exist yet.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import SQLite from 'better-sqlite3'
import t, { type Test } from 'tap'
import { listAppliedMigrations, migrate } from '../../src/base/storage/db/migrate.js'
import { migrations } from '../../src/base/storage/db/migrations.js'
import { verifyData } from '../../src/base/storage/maintenance/verify.js'
import { databaseFile, openDatabase } from '../../src/base/storage/open.js'
import { detailsOfAnyWorkspace } from '../../src/records/messages/email-details.js'
import { testDaemon } from '../helpers/daemon/test-daemon.js'
import { temporaryFolder } from '../helpers/database/database.js'
import { addedNames, laterMigrations, makeDevelopmentDatabase } from '../helpers/database/later-migrations.js'
import { listFixtures, ofFixtures, readFile, unpackFixture } from '../helpers/database/schema-fixtures.js'
import { skipOnPostgres } from '../helpers/database/test-engine.js'

const skip = skipOnPostgres('a file is upgraded')

const names = Object.keys(migrations)
const { key, waiting, delivered } = ofFixtures

/** The time of all records in the fixtures; later, retention would remove them. */
const FILLED_AT = Date.UTC(2026, 0, 1)

/** Tables that have no row in a fixture: an erasure would remove the workspace, and a copy names no spool file. */
const EMPTY_TABLES = ['erasures', 'spool_holes']

t.test('there is a fixture of the first schema, of every third one, and of a recent one', { skip }, async (t) => {
  const numbers = names.map((name) => name.slice(0, 4))
  const gaps = listFixtures().map((number) => numbers.indexOf(number))
  t.equal(gaps[0], 0)
  for (const [at, place] of gaps.entries()) t.ok(place - (gaps[at - 1] ?? 0) <= 3, `before ${listFixtures()[at]}`)
})

t.test(
  'a released migration is as it was: each fixture has the schema that its migrations make',
  { skip },
  async (t) => {
    const schemaOf = (db: SQLite.Database): unknown =>
      db
        .prepare(`select type, name, tbl_name, sql from sqlite_schema where name not like 'sqlite_stat%' order by name`)
        .all()
    for (const number of listFixtures()) {
      const { file } = prepare(t, number)
      const [db, own] = [new SQLite(file), new SQLite(':memory:')]
      const applied = new Set(listAppliedMigrations(db))
      await migrate(own, Object.fromEntries(Object.entries(migrations).filter(([name]) => applied.has(name))))
      t.same(schemaOf(db), schemaOf(own), number)
      for (const each of [db, own]) each.close()
    }
  },
)

/** Those that a daemon upgrades: the first one, and the newest. The others are upgraded as it does it. */
const throughDaemon = listFixtures().filter((_, at, all) => at === 0 || at === all.length - 1)

/** Unpacks the fixture, and looks whether it has rows in every table. */
function prepare(t: Test, number: string): { readonly folder: string; readonly file: string } {
  const folder = temporaryFolder(t)
  const file = databaseFile(join(folder, 'data'))
  unpackFixture(number, file)
  const tables = readFile<{ name: string }>(file, `select name from sqlite_schema where type = 'table'`)
  const empty = tables
    .map(({ name }) => name)
    .filter((name) => readFile(file, `select 1 from "${name}" limit 1`).length === 0)
  t.same(
    empty.filter((name) => !/^(?:sqlite|kysely)_/.test(name) && !EMPTY_TABLES.includes(name)),
    [],
    'it has rows in every table',
  )
  return { folder, file }
}

for (const number of throughDaemon) {
  t.test(`a daemon upgrades a database of schema ${number}`, { skip }, async (t) => {
    const { folder, file } = prepare(t, number)
    const app = await testDaemon(t, { folder, level: 'info', ahead: FILLED_AT + 60_000 - Date.now() })
    const as = { key }
    const mail = await app.rest('GET', `/v1/emails/${delivered}`, as)
    t.match(mail, { status: 200 })
    t.match(mail.json(), { id: delivered, subject: 'of an earlier version', recipients: [{ status: 'delivered' }] })
    const queued = await app.cli('queue', 'list', '--json')
    t.match(queued.json(), { data: [{ email_id: waiting, recipient: 'bob@b.test' }] })
    t.match((await app.cli('key', 'list', '--json')).json(), { data: [{ name: 'app', key_prefix: key.slice(0, 11) }] })
    t.match((await app.cli('domain', 'list', '--json')).json(), { data: [{ domain: 'a.test', status: 'verified' }] })
    t.match(await app.submit({ key, to: ['new@b.test'] }), /^250 2\.0\.0 Ok: queued as/, 'it accepts mail')
    t.match(await app.rest('GET', '/v1/emails', as), { status: 200 })
    const said = app.lines.map((line) => (JSON.parse(line) as { msg: string }).msg)
    t.equal(said.includes('the database is upgraded'), number !== names.at(-1)?.slice(0, 4))
    t.same(app.errors, [])
    await app.stop()
    t.same(verifyData(file), [])
  })
}

t.test('a daemon upgrades a database of the newest schema to that of a later version', { skip }, async (t) => {
  const { folder, file } = prepare(t, listFixtures().at(-1) ?? '')
  const upgrade = { migrations: laterMigrations }
  const app = await testDaemon(t, { folder, upgrade, level: 'info', ahead: FILLED_AT + 60_000 - Date.now() })
  const mail = await app.rest('GET', `/v1/emails/${delivered}`, { key })
  t.match(mail.json(), { id: delivered, recipients: [{ status: 'delivered' }] })
  t.match(await app.submit({ key, to: ['new@b.test'] }), /^250 2\.0\.0 Ok: queued as/, 'it accepts mail')
  t.same(await app.rows('select email_id from notes order by email_id'), [
    { email_id: waiting },
    { email_id: delivered },
  ])
  const steps = app.lines.map((line) => (JSON.parse(line) as { step?: string }).step)
  for (const name of addedNames) t.ok(steps.includes(`migration ${name}`), name)
  t.same(app.errors, [])
  t.match(await app.cli('key', 'list'), { status: 1, err: /was made by a newer version: .* \("posthorn restore / })
  await app.stop()
  t.same(verifyData(file, laterMigrations), [])
})

t.test('a daemon does not start on a database of a development build', { skip }, async (t) => {
  const folder = temporaryFolder(t)
  mkdirSync(join(folder, 'data'))
  makeDevelopmentDatabase(databaseFile(join(folder, 'data')))
  await t.rejects(testDaemon(t, { folder }), { name: 'DevelopmentDatabase' })
})

for (const number of listFixtures().filter((one) => !throughDaemon.includes(one))) {
  t.test(`a database of schema ${number}`, { skip }, async (t) => {
    const { file } = prepare(t, number)
    const { read, close } = await openDatabase({ file })
    t.match((await detailsOfAnyWorkspace(read, delivered))?.recipients, [{ status: 'delivered' }])
    t.match(await read('select email_id, recipient from queue', []), [{ email_id: waiting, recipient: 'bob@b.test' }])
    t.match(await read('select name, key_prefix from api_keys', []), [{ name: 'app', key_prefix: key.slice(0, 11) }])
    t.match(await read('select domain, status from domains', []), [{ domain: 'a.test', status: 'verified' }])
    await close()
    t.same(verifyData(file), [])
  })
}
