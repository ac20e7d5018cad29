/**
 * The fence: one daemon works on a database, and the outcome of a batch whose answer was lost is known.
 *
 * Runs alone: it sets the engine of its process.
 */
import t, { type Test } from 'tap'
import { PostgresServers } from '../../../../src/base/storage/postgres/connect.js'
import { Fence } from '../../../../src/base/storage/postgres/fence.js'
import { openPostgresStore } from '../../../../src/base/storage/postgres/open-postgres.js'
import type { PipelinedConnection } from '../../../../src/base/storage/postgres/pipelined-connection.js'
import { ConnectionLost } from '../../../../src/base/storage/postgres/server-errors.js'
import { settingsOf, stopServer, temporaryPostgres } from '../../../helpers/database/postgres-database.js'
import { withoutPostgres } from '../../../helpers/programs/postgres.js'

t.teardown(stopServer)

const place = { node: 'one', place: 0 }
const skip = withoutPostgres
const say = (sql: string) => ({ sql, parameters: [] })

async function connect(t: Test): Promise<PipelinedConnection> {
  const connection = await new PostgresServers(settingsOf(await temporaryPostgres(t))).connect()
  t.teardown(() => connection.close())
  return connection
}

/** The connection, whose answers are lost after the server has done what it was told. */
function withoutAnswers(connection: PipelinedConnection): PipelinedConnection {
  return Object.assign(Object.create(connection), {
    run: async (...given: Parameters<PipelinedConnection['run']>) => {
      await connection.run(...given)
      throw new ConnectionLost('cut', true)
    },
  })
}

async function settingsIn(connection: PipelinedConnection): Promise<unknown> {
  const [found] = await connection.run([
    say(`select current_setting('posthorn.node') as node, current_setting('posthorn.slot') as slot`),
  ])
  return found?.rows[0]
}

t.test('the outcome of the last batch is known, also if the answer to the question is lost', { skip }, async (t) => {
  const connection = await connect(t)
  const fence = await Fence.take(connection, place, 'ours')
  await connection.run([fence.advance()])
  t.same(await settingsIn(connection), { node: 'one', slot: String(fence.slot) }, 'the server knows who writes')
  await t.rejects(fence.findOutcome(withoutAnswers(connection)), ConnectionLost)
  await t.rejects(fence.findOutcome(withoutAnswers(connection)), ConnectionLost)
  t.same(await fence.findOutcome(connection), { isCommitted: true, hasLost: false })
  fence.noteCommitted()
  fence.advance()
  t.same(await fence.findOutcome(connection), { isCommitted: false, hasLost: false }, 'it was never sent')
  await connection.run([fence.advance()])
  fence.noteCommitted()
  await connection.run([say('update fence set batch = batch - 1, epoch = 1')])
  t.same(await fence.findOutcome(connection), { isCommitted: false, hasLost: true }, 'a copy that is behind')
  const [losses] = await connection.run([say('select losses from fence')])
  t.equal(Number(losses?.rows[0]?.['losses']), 1, 'other nodes see it')
  await connection.run([say('delete from fence')])
  t.same(await fence.findOutcome(connection), { isCommitted: false, hasLost: true }, 'a copy without it')
})

t.test('another daemon takes over when the first one is silent, and never at the same time', { skip }, async (t) => {
  const connection = await connect(t)
  const first = await Fence.take(connection, place, 'first')
  await t.rejects(Fence.take(connection, place, 'second'), { name: 'DatabaseTaken' })
  await connection.run([say(`update fence set beat = now() - interval '11 seconds'`)])
  const second = await Fence.take(connection, place, 'second')
  await t.rejects(connection.run([first.advance()]), { code: '22012' })
  await t.rejects(first.findOutcome(connection), { name: 'DatabaseTaken' })
  await connection.run([second.advance()])
  await Fence.take(connection, place, 'second')
  await second.release(connection)
  await t.rejects(
    Fence.take(connection, place, 'first'),
    { name: 'DatabaseTaken' },
    'a release of an old epoch is none',
  )
})

t.test('a user who may make objects in the schema needs no right to make schemas', { skip }, async (t) => {
  const url = await temporaryPostgres(t)
  const admin = await new PostgresServers(settingsOf(url)).connect()
  t.teardown(() => admin.close())
  await admin.run(
    [
      'drop schema posthorn cascade',
      'create schema posthorn',
      'create role tenant login',
      'grant usage, create on schema posthorn to tenant',
    ].map(say),
  )
  const store = await openPostgresStore({ settings: settingsOf(url.replace('postgres@', 'tenant@')), connections: 1 })
  t.same(await store.read('select * from workspaces', []), [])
  await store.close()
  await admin.run(['drop owned by tenant', 'drop role tenant'].map(say))
})
