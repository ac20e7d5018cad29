/**
 * A copy to PostgreSQL: it has all rows, can be repeated until something else uses it, and keeps programs out until it is
 * finished.
 *
 * Runs alone: it sets the engine of its process.
 */
import { Client } from 'pg'
import t, { type Test } from 'tap'
import { systemClock } from '../../../../src/base/platform/clock.js'
import { copyStorage } from '../../../../src/base/storage/copy/copy-storage.js'
import { UnusableTarget } from '../../../../src/base/storage/copy/copy-target.js'
import type { Database } from '../../../../src/base/storage/db/database.js'
import { useEngine } from '../../../../src/base/storage/db/engine.js'
import { UnfinishedCopy } from '../../../../src/base/storage/db/schema-errors.js'
import { PostgresServers } from '../../../../src/base/storage/postgres/connect.js'
import {
  type ConnectionSettings,
  readConnectionSettings,
} from '../../../../src/base/storage/postgres/connection-settings.js'
import { openPostgres, openPostgresStore } from '../../../../src/base/storage/postgres/open-postgres.js'
import type { Row } from '../../../../src/base/storage/postgres/wire-values.js'
import { openTestDatabase, temporaryFolder } from '../../../helpers/database/database.js'
import { stopServer, temporaryPostgres } from '../../../helpers/database/postgres-database.js'
import { rowOf, tablesOf } from '../../../helpers/database/rows.js'
import { copySeed } from '../../../helpers/database/seed-data.js'
import { largeMessage, storeMessage } from '../../../helpers/database/spooled.js'
import { withoutPostgres } from '../../../helpers/programs/postgres.js'
import { waitUntil } from '../../../helpers/wait-until.js'

const skip = withoutPostgres

t.teardown(stopServer)
t.beforeEach(() => useEngine('sqlite'))

/** A schema that does not exist yet, in a database that has another one. */
async function newTarget(t: Test): Promise<ConnectionSettings> {
  const url = await temporaryPostgres(t)
  return readConnectionSettings({ url, passwordFile: '', caFile: '', schema: 'copied' }, {})
}

async function runOn(settings: ConnectionSettings, sql: string): Promise<readonly Row[]> {
  const connection = await new PostgresServers(settings).connect()
  try {
    return (await connection.run([{ sql, parameters: [] }]))[0]?.rows ?? []
  } finally {
    await connection.close()
  }
}

async function makeFile(t: Test, work: (database: Database) => Promise<void>): Promise<string> {
  const file = `${temporaryFolder(t)}/posthorn.db`
  const database = await openTestDatabase(t, { file, spool: true })
  await work(database)
  await database.close()
  return file
}

/** Some hundred rows in a table, and a large message. */
function makeSmallFile(t: Test): Promise<string> {
  return makeFile(t, async ({ read, commit }) => {
    const row = rowOf(read)
    const writes = await storeMessage(read, 'em_1')
    for (let n = 0; n < 600; n++) writes.push(await row('events', { type: 'email.sent', data: '{}' }))
    await commit(writes)
  })
}

const daemonOptions = (settings: ConnectionSettings) => ({
  ...{ settings, connections: 1, holder: 'test', node: 'test', onTaken: () => undefined },
  clock: systemClock,
  log: { info: () => undefined, warn: () => undefined, error: () => undefined },
})

/** Fails when so many rows of a table are copied, as if the process were killed there. */
async function copyUntil(t: Test, file: string, settings: ConnectionSettings, text: RegExp): Promise<void> {
  const onProgress = (said: string): void => {
    if (text.test(said)) throw new Error('killed')
  }
  await t.rejects(copyStorage({ file, settings, onProgress }), { message: 'killed' })
}

/** All rows, as text without the columns of places in spool files. */
function textsOf(rows: readonly object[]): readonly string[] {
  return rows
    .map((row) => JSON.stringify(Object.entries(row).filter(([name]) => !name.startsWith('spool_'))))
    .toSorted()
}

t.test('a row of every table is there, and so is what triggers have counted', { skip }, async (t) => {
  const settings = await newTarget(t)
  const before = new Map<string, readonly string[]>()
  const file = await makeFile(t, async ({ read, commit }) => {
    const row = rowOf(read)
    const tables = (await tablesOf(read)).filter((table) => table !== 'spool_holes')
    for (const table of tables) {
      const [{ rows } = { rows: 0 }] = await read<{ rows: number }>(`select count(*) as rows from ${table}`, [])
      if (rows === 0) await commit([await row(table, {})])
    }
    for (const table of tables) before.set(table, textsOf(await read<object>(`select * from ${table}`, [])))
  })
  const reports = await copyStorage({ file, settings })
  t.same(
    reports.map(({ table }) => table),
    [...before.keys()].toSorted(),
  )
  t.ok(before.size > 80)
  for (const { table, rows, stored, sum, storedSum, isSame } of reports) {
    t.same([stored, storedSum, isSame], [rows, sum, true], table)
    t.ok(rows > 0, table)
    t.same(textsOf(await runOn(settings, `select * from "${table}"`)), before.get(table), table)
  }
})

t.test('an installation goes on in the copy: messages, totals and numbers', { skip }, async (t) => {
  const settings = await newTarget(t)
  const file = await makeFile(t, async ({ read, commit }) => {
    const row = rowOf(read)
    for (const type of ['email.sent', 'email.sent', 'email.queued'])
      await commit([await row('events', { type, data: '{}' })])
    await commit([{ sql: 'delete from events where seq = 3', parameters: [] }])
    await commit([...(await storeMessage(read, 'em_1')), ...(await storeMessage(read, 'em_2', Buffer.from('short')))])
    await commit([await row('export_chunks', { seq: 41, bytes: Buffer.alloc(5_000_000, 7) })])
  })
  await copyStorage({ file, settings })
  const database = await openPostgres(daemonOptions(settings))
  t.teardown(() => database.close())
  const raw = await database.read<{ raw: Buffer }>('select raw from raw_messages order by email_id', [])
  t.same(
    raw.map((row) => row.raw.toString()),
    [largeMessage('em_1').toString(), 'short'],
  )
  const countOf = 'select sum(count) as count from email_counts'
  t.same(await database.read(countOf, []), [{ count: 2 }], 'triggers have not counted again')
  const insertEvent = `insert into events (id, workspace_id, type, created_at, data) values ('e', 'ws', 'x', 1, '{}')`
  const insertChunk = `insert into export_chunks (workspace_id, export_id, start_at, bytes) values ('ws', 'e', 0, '')`
  const copyEmail = `insert into emails select (jsonb_populate_record(emails, '{"id": "em_3"}')).* from emails where id = 'em_1'`
  await database.commit([insertEvent, insertChunk, copyEmail].map((sql) => ({ sql, parameters: [] })))
  t.same(await database.read(`select seq from events where id = 'e'`, []), [{ seq: 4 }], 'no number comes again')
  t.same(await database.read('select seq from export_chunks order by seq', []), [{ seq: 41 }, { seq: 42 }])
  t.same(await database.read(countOf, []), [{ count: 3 }], 'triggers count again')
})

t.test('an interrupted copy keeps programs out, and the next one begins anew', { skip }, async (t) => {
  const settings = await newTarget(t)
  const file = await makeSmallFile(t)
  await copyUntil(t, file, settings, /^copying raw_messages/)
  t.match(await runOn(settings, 'select count(*) as rows from events'), [{ rows: 600 }])
  const refusal = {
    message: /^storage\.url: the schema copied has a copy .* not finished: run "posthorn storage copy"/,
  }
  await t.rejects(openPostgres(daemonOptions(settings)), refusal)
  await t.rejects(openPostgresStore({ settings, connections: 1 }), UnfinishedCopy)
  await copyUntil(t, file, settings, /^comparing emails/)
  await t.rejects(openPostgresStore({ settings, connections: 1 }), UnfinishedCopy)
  t.ok((await copyStorage({ file, settings })).every(({ isSame }) => isSame))
  t.same(await runOn(settings, 'select count(*) as rows from events'), [{ rows: 600 }])
  const readOnly = await openPostgresStore({ settings, connections: 1 })
  await readOnly.close()
  useEngine('sqlite')
  t.ok(
    (await copyStorage({ file, settings })).every(({ isSame }) => isSame),
    'also after a finished one',
  )
})

t.test('what a command or a daemon has used is not overwritten', { skip }, async (t) => {
  const file = await makeSmallFile(t)
  const refusal = {
    name: 'UnusableTarget',
    message: /the schema copied has .*: name another one with --schema, or remove/,
  }
  const ofCommand = await newTarget(t)
  await copyStorage({ file, settings: ofCommand })
  const store = await openPostgresStore({ settings: ofCommand, connections: 1 })
  await store.commit([{ sql: `delete from events where seq = 1`, parameters: [] }])
  await store.close()
  await t.rejects(copyStorage({ file, settings: ofCommand }), refusal)
  t.same(await runOn(ofCommand, 'select count(*) as rows from events'), [{ rows: 599 }])

  const ofDaemon = await newTarget(t)
  await copyStorage({ file, settings: ofDaemon })
  await (await openPostgres(daemonOptions(ofDaemon))).close()
  await t.rejects(copyStorage({ file, settings: ofDaemon }), refusal)
  t.same(await runOn(ofDaemon, 'select count(*) as rows from events'), [{ rows: 600 }])
})

t.test('a command that was opened before a copy began writes nothing into it', { skip }, async (t) => {
  const settings = await newTarget(t)
  const file = await makeSmallFile(t)
  await copyStorage({ file, settings })
  const store = await openPostgresStore({ settings, connections: 1 })
  t.teardown(() => store.close())
  useEngine('sqlite')
  await copyUntil(t, file, settings, /^comparing emails/)
  const removal = [{ sql: 'delete from events where seq = 1', parameters: [] }]
  await t.rejects(store.commit(removal), UnfinishedCopy)
  t.same(await runOn(settings, 'select count(*) as rows from events'), [{ rows: 600 }])
  useEngine('sqlite')
  await copyStorage({ file, settings })
  await store.commit(removal)
  t.same(await runOn(settings, 'select count(*) as rows from events'), [{ rows: 599 }])
})

t.test('a copy that begins while a command commits sees that it has written', { skip }, async (t) => {
  const settings = await newTarget(t)
  const file = await makeSmallFile(t)
  await copyStorage({ file, settings })
  const command = new Client({ connectionString: settings.source.storage.url })
  await command.connect()
  t.teardown(() => command.end())
  await command.query('begin')
  await command.query('select id from copied.kysely_migration_lock for update')
  const copied = copyStorage({ file, settings }).then(
    () => 'copied',
    (error: unknown) => error,
  )
  const waiting = `select count(*) as waiting from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`
  await waitUntil('the copy waits', async () => Number((await runOn(settings, waiting))[0]?.['waiting']) > 0)
  await command.query('delete from copied.copying')
  await command.query('commit')
  t.match(await copied, { name: 'UnusableTarget', message: /^the schema copied has the data of a daemon/ })
  t.same(await runOn(settings, 'select count(*) as rows from events'), [{ rows: 600 }])
})

t.test('a schema with anything else is refused', { skip }, async (t) => {
  const file = await makeSmallFile(t)
  const refuse = (settings: ConnectionSettings, message: RegExp) =>
    t.rejects(copyStorage({ file, settings }), { name: 'UnusableTarget', message })
  const settings = await newTarget(t)
  await refuse({ ...settings, schema: 'posthorn' }, /the schema posthorn has the data of a daemon/)
  await runOn(settings, 'create schema copied create table mine (id integer)')
  await refuse(settings, /has tables that no copy has written: name another one/)
  t.same(await runOn(settings, 'select count(*) as rows from mine'), [{ rows: 0 }])
  await runOn(settings, 'drop table mine')
  t.ok(
    (await copyStorage({ file, settings })).every(({ isSame }) => isSame),
    'an empty one is taken',
  )
  const other = await makeSmallFile(t)
  await t.rejects(copyStorage({ file: other, settings }), { message: /has a copy of \S+, not of \S+: name another/ })
  await runOn(settings, `update kysely_migration set name = '0000-earlier'`)
  await refuse(settings, /has a copy of another version/)
})

t.test('a table that one engine has alone is named', { skip }, async (t) => {
  const settings = await newTarget(t)
  const file = await makeSmallFile(t)
  await copyUntil(t, file, settings, /^copying/)
  await runOn(settings, 'alter table events add column more bigint')
  await t.rejects(copyStorage({ file, settings }), { message: /other tables or columns than SQLite \(events: .*more/ })
})

t.test('two copies at once: the second one is refused', { skip }, async (t) => {
  const settings = await newTarget(t)
  const file = await makeSmallFile(t)
  const holder = await new PostgresServers(settings).connect()
  t.teardown(() => holder.close())
  await holder.run([{ sql: `select pg_advisory_lock(hashtextextended('posthorn copy copied', 0))`, parameters: [] }])
  await t.rejects(copyStorage({ file, settings }), {
    message: 'another copy writes to the schema copied: wait for its end',
  })
})

/** Copies to a schema in which a row of `zone_serial` has a further effect. */
async function copyWith(t: Test, file: string, settings: ConnectionSettings, effect: string) {
  await copyUntil(t, file, settings, /^copying/)
  await runOn(settings, `create or replace rule more as on insert to zone_serial do also ${effect}`)
  return copyStorage({ file, settings })
}

t.test('a copy that differs is not finished', { skip }, async (t) => {
  const settings = await newTarget(t)
  const file = await makeSmallFile(t)
  const changed = await copyWith(t, file, settings, 'update zone_serial set serial = serial + 1')
  t.same(
    changed.filter(({ isSame }) => !isSame).map(({ table, rows, stored }) => [table, rows, stored]),
    [['zone_serial', 1, 1]],
  )
  const removed = await copyWith(t, file, settings, 'delete from zone_serial')
  t.match(removed.at(-1), { table: 'zone_serial', rows: 1, stored: 0, isSame: false })
  await t.rejects(openPostgresStore({ settings, connections: 1 }), UnfinishedCopy)
})

t.test('a daemon that begins in the meantime makes the copy fail', { skip }, async (t) => {
  const settings = await newTarget(t)
  const file = await makeSmallFile(t)
  const begin = `insert into fence (node, place, epoch, batch, holder, beat) values ('one', 0, 1, 0, 'x', now())`
  await t.rejects(copyWith(t, file, settings, begin), UnusableTarget)
  await t.rejects(openPostgresStore({ settings, connections: 1 }), UnfinishedCopy)
})

t.test('a daemon that begins when a copy has just begun finds it', { skip }, async (t) => {
  const settings = await newTarget(t)
  await copyStorage({ file: await makeSmallFile(t), settings })
  await runOn(
    settings,
    `create function begin_copy() returns trigger language plpgsql as $$ begin
      update copying set finished_at = null; return null; end $$`,
  )
  await runOn(settings, 'create trigger begin_copy after insert on fence execute function begin_copy()')
  await t.rejects(openPostgres(daemonOptions(settings)), UnfinishedCopy)
})

t.test('an installation of two workspaces', { skip }, async (t) => {
  const settings = await newTarget(t)
  const file = `${temporaryFolder(t)}/data/posthorn.db`
  const { workspaceId } = await copySeed(file)
  await copyStorage({ file, settings })
  const store = await openPostgresStore({ settings, connections: 1 })
  t.teardown(() => store.close())
  const workspaces = await store.read<{ id: string }>('select id from workspaces order by created_at', [])
  t.equal(workspaces.length, 2)
  t.equal(workspaces[0]?.id, workspaceId)
})
