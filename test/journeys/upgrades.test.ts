/**
 * Databases of every third released schema, and of the newest ones, through the real daemon: it upgrades them at its
 * start, and their mail, queue, keys and domains are there.
 */
import { join } from 'node:path'
import t from 'tap'
import { verifyData } from '../../src/storage/maintenance/verify.js'
import { migrations } from '../../src/storage/migrations.js'
import { databaseFile } from '../../src/storage/open.js'
import { testDaemon } from '../helpers/daemon/test-daemon.js'
import { temporaryFolder } from '../helpers/database/database.js'
import { listFixtures, ofFixtures, readFile, unpackFixture } from '../helpers/database/schema-fixtures.js'

const names = Object.keys(migrations)
const { key, waiting, delivered } = ofFixtures

/** The time of all records in the fixtures; later, retention would remove them. */
const FILLED_AT = Date.UTC(2026, 0, 1)

/** Tables that have no row in a fixture: an erasure would remove the workspace, and a copy names no spool file. */
const EMPTY_TABLES = ['erasures', 'spool_holes']

t.test('there is a fixture of the first schema, of every third one, and of a recent one', async (t) => {
  const numbers = names.map((name) => name.slice(0, 4))
  const gaps = listFixtures().map((number) => numbers.indexOf(number))
  t.equal(gaps[0], 0)
  for (const [at, place] of gaps.entries()) t.ok(place - (gaps[at - 1] ?? 0) <= 3, `before ${listFixtures()[at]}`)
})

for (const number of listFixtures()) {
  t.test(`a database of schema ${number}`, async (t) => {
    const folder = temporaryFolder(t)
    const file = databaseFile(join(folder, 'data'))
    unpackFixture(number, file)
    const tables = readFile<{ name: string }>(file, `select name from sqlite_schema where type = 'table'`)
    const filled = tables.filter(({ name }) => readFile(file, `select 1 from "${name}" limit 1`).length > 0)
    const empty = tables.filter((table) => !filled.includes(table)).map(({ name }) => name)
    t.same(
      empty.filter((name) => !/^(?:sqlite|kysely)_/.test(name) && !EMPTY_TABLES.includes(name)),
      [],
      'it has rows in every table',
    )
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
