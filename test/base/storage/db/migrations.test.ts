/** Migrations that are released stay as they are, and each release has databases to upgrade from. */
import { readFileSync } from 'node:fs'
import SQLite from 'better-sqlite3'
import t from 'tap'
import { migrate } from '../../../../src/base/storage/db/migrate.js'
import { migrations } from '../../../../src/base/storage/db/migrations.js'
import { digestsOf, findChanged, readReleased } from '../../../helpers/database/released-migrations.js'
import { listFixtures, listPostgresFixtures } from '../../../helpers/database/schema-fixtures.js'

const names = Object.keys(migrations)
const [first = ''] = names

t.test('a released migration is as it was', async (t) => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly version: string }
  t.equal(Object.keys(readReleased()).length > 0, !version.startsWith('0.'), 'releases since 1.0 are noted')
  t.same(findChanged(readReleased()), [])
})

t.test('one that was changed, or removed, is named with what to do instead', async (t) => {
  const now = { release: '1.0.0', ...digestsOf(first) }
  t.same(findChanged({ [first]: now }), [])
  t.match(findChanged({ [first]: { ...now, sqlite: 'other' } }), [
    /^0001-baseline was released with 1\.0\.0, and makes something else in sqlite now: .*write it as a new migration/,
  ])
  t.match(findChanged({ [first]: { ...now, postgres: 'other' } }), [/in postgres now/])
  t.match(findChanged({ '0000-gone': now }), [/^0000-gone was released with 1\.0\.0 and is gone: /])
})

t.test('no migration comes before a released one', async (t) => {
  const released = Object.keys(readReleased())
  t.same(names.slice(0, released.length), released)
})

t.test('each release with new migrations has a database of both engines to upgrade from', async (t) => {
  const newest = new Map(Object.entries(readReleased()).map(([name, { release }]) => [release, name.slice(0, 4)]))
  for (const [release, number] of newest) {
    t.ok(listFixtures().includes(number), `SQLite, ${release}`)
    t.ok(listPostgresFixtures().includes(number), `PostgreSQL, ${release}`)
  }
})

t.test('SQLite runs no statement that is for PostgreSQL', async (t) => {
  const db = new SQLite(':memory:')
  const added = ['-- postgres\nselect nothing_of_sqlite()', '-- sqlite\ndrop trigger inviters_step_down']
  await migrate(db, { ...migrations, '9001-engines': added })
  const left = db.prepare(`select name from sqlite_schema where type = 'trigger'`).pluck().all()
  t.ok(left.includes('users_go'))
  t.notOk(left.includes('inviters_step_down'))
  db.close()
})
