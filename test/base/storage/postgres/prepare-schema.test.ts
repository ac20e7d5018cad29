/**
 * Schemas of several versions: nodes are upgraded one after the other.
 *
 * Runs alone: it sets the engine of its process.
 */
import t, { type Test } from 'tap'
import { migrations } from '../../../../src/base/storage/db/migrations.js'
import { PostgresServers } from '../../../../src/base/storage/postgres/connect.js'
import type { PipelinedConnection } from '../../../../src/base/storage/postgres/pipelined-connection.js'
import { prepareSchema } from '../../../../src/base/storage/postgres/prepare-schema.js'
import {
  openTestPostgres,
  settingsOf,
  stopServer,
  temporaryPostgres,
} from '../../../helpers/database/postgres-database.js'
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
