/**
 * Schemas of several versions: nodes are upgraded one after the other, and from each release.
 *
 * Runs alone: it sets the engine of its process.
 */
import t, { type Test } from 'tap'
import { migrations } from '../../../../src/base/storage/db/migrations.js'
import { PostgresServers } from '../../../../src/base/storage/postgres/connect.js'
import type { PipelinedConnection } from '../../../../src/base/storage/postgres/pipelined-connection.js'
import { prepareSchema } from '../../../../src/base/storage/postgres/prepare-schema.js'
import { detailsOfAnyWorkspace } from '../../../../src/records/messages/email-details.js'
import { laterMigrations } from '../../../helpers/database/later-migrations.js'
import {
  openTestPostgres,
  openTestStore,
  settingsOf,
  stopServer,
  temporaryPostgres,
} from '../../../helpers/database/postgres-database.js'
import { copyFixture, readCatalog, runSql } from '../../../helpers/database/postgres-fixtures.js'
import { schemaOfPostgres } from '../../../helpers/database/released-migrations.js'
import { listPostgresFixtures, ofFixtures, readPostgresFixture } from '../../../helpers/database/schema-fixtures.js'
import { withoutPostgres } from '../../../helpers/programs/postgres.js'

t.teardown(stopServer)

const skip = withoutPostgres

const expansion = { '0002-expand-notes': ['create table notes (id text primary key) strict'] }
const contraction = { '0003-contract-notes': ['drop table notes'] }
const other = { '0004-notes': ['create table notes (id integer primary key) strict'] }

async function connect(t: Test, url: string): Promise<PipelinedConnection> {
  const connection = await new PostgresServers(settingsOf(url)).connect()
  t.teardown(() => connection.close())
  return connection
}

async function listApplied(connection: PipelinedConnection): Promise<readonly unknown[]> {
  const [found] = await connection.run([{ sql: 'select name from kysely_migration order by name', parameters: [] }])
  return found?.rows.map(({ name }) => name) ?? []
}

t.test('a program of the version before goes on with an expanded schema, and with no other', { skip }, async (t) => {
  const url = await temporaryPostgres(t)
  const connection = await connect(t, url)
  await prepareSchema(connection, 'posthorn', { ...migrations, ...expansion })
  await prepareSchema(connection, 'posthorn')
  const node = await openTestPostgres(t, url)
  await node.commit([])
  await prepareSchema(connection, 'posthorn', { ...migrations, ...expansion, ...contraction })
  await t.rejects(prepareSchema(connection, 'posthorn'), { name: 'NewerDatabase', message: /0003-contract-notes/ })
})

t.test(
  'while a node of another version lives, a contraction waits and other migrations are refused',
  { skip },
  async (t) => {
    const url = await temporaryPostgres(t)
    const connection = await connect(t, url)
    const node = await openTestPostgres(t, url, { node: 'old' })
    await connection.run([{ sql: `update nodes set version = '0.0.1'`, parameters: [] }])
    await t.rejects(prepareSchema(connection, 'posthorn', { ...migrations, ...other }), {
      name: 'OtherVersions',
      message: /0004-notes needs all other nodes to be stopped: old \(0\.0\.1\)/,
    })
    const next = { ...migrations, ...expansion, ...contraction }
    await prepareSchema(connection, 'posthorn', next)
    t.same(await listApplied(connection), ['0001-baseline', '0002-expand-notes'])
    await node.close()
    await prepareSchema(connection, 'posthorn', next)
    t.same(await listApplied(connection), ['0001-baseline', '0002-expand-notes', '0003-contract-notes'])
  },
)

/** It replaces what only PostgreSQL has, and changes something of SQLite alone. */
const ofEngines = {
  '0002-engines': [
    '-- sqlite\ndrop trigger inviters_step_down',
    `-- postgres\ncreate or replace function time_in_log(at bigint) returns bigint language sql as 'select at + 1'`,
  ],
}

t.test('a migration has statements for one engine, in a new installation and in one of before', { skip }, async (t) => {
  const url = await temporaryPostgres(t)
  const connection = await connect(t, url)
  const made: (readonly string[])[] = []
  for (const steps of [[{ ...migrations, ...ofEngines }], [migrations, { ...migrations, ...ofEngines }]]) {
    await runSql(url, ['drop schema posthorn cascade'])
    for (const step of steps) await prepareSchema(connection, 'posthorn', step)
    made.push(await readCatalog(url))
  }
  t.same(made[0], made[1])
  t.ok(made[0]?.some((line) => line.includes('select at + 1')))
})

const newest = Object.keys(migrations).at(-1) ?? ''
/** Of each release, and of this version as if it were released now. */
const releases = [
  ...listPostgresFixtures().map((number) => ({ number, statements: readPostgresFixture(number) })),
  { number: newest.slice(0, 4), statements: schemaOfPostgres(newest) },
]

for (const [at, { number, statements }] of releases.entries()) {
  const name = at === releases.length - 1 ? `${number} of this version` : number
  t.test(`schema ${name} becomes that of a new installation, and its rows stay`, { skip }, async (t) => {
    const url = await temporaryPostgres(t)
    await runSql(url, ['drop schema posthorn cascade', 'create schema posthorn'])
    const connection = await connect(t, url)
    await runSql(url, statements)
    await prepareSchema(connection, 'posthorn')
    const upgraded = await readCatalog(url)
    await runSql(url, ['drop schema posthorn cascade'])
    await prepareSchema(connection, 'posthorn')
    t.same(upgraded, await readCatalog(url), 'as in a new installation')
    await runSql(url, ['drop schema posthorn cascade', 'create schema posthorn'])
    await runSql(url, statements)
    await copyFixture(t, number, url)
    await prepareSchema(connection, 'posthorn')
    const { read } = await openTestStore(t, url)
    t.match((await detailsOfAnyWorkspace(read, ofFixtures.delivered))?.recipients, [{ status: 'delivered' }])
    t.match(await read('select email_id, recipient from queue', []), [{ email_id: ofFixtures.waiting }])
    t.match(await read('select domain, status from domains', []), [{ domain: 'a.test', status: 'verified' }])
    await prepareSchema(connection, 'posthorn', laterMigrations)
    const [notes] = await connection.run([{ sql: 'select email_id from notes order by email_id', parameters: [] }])
    t.same(notes?.rows, [{ email_id: ofFixtures.waiting }, { email_id: ofFixtures.delivered }])
  })
}
