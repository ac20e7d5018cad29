/** What a copy reads of an SQLite database. */
import SQLite from 'better-sqlite3'
import t, { type Test } from 'tap'
import { type CopiedTable, CopySource } from '../../../../src/base/storage/copy/copy-source.js'
import type { Database } from '../../../../src/base/storage/db/database.js'
import { EarlierDatabase, NewerDatabase } from '../../../../src/base/storage/db/schema-errors.js'
import { LostBytes } from '../../../../src/base/storage/db/write.js'
import { schema } from '../../../../src/base/storage/schema/schema.js'
import { openTestDatabase, temporaryFolder } from '../../../helpers/database/database.js'
import { changeByte, largeMessage, placesOf, storeLarge } from '../../../helpers/database/spooled.js'
import { stateWrite } from '../../../helpers/database/state.js'

async function fill(t: Test, work: (database: Database) => Promise<void>): Promise<string> {
  const file = `${temporaryFolder(t)}/posthorn.db`
  const database = await openTestDatabase(t, { file, spool: true })
  await work(database)
  await database.close()
  return file
}

function open(t: Test, file: string): CopySource {
  const source = CopySource.open(file)
  t.teardown(() => source.close())
  return source
}

function tableOf(source: CopySource, name: string): CopiedTable {
  const table = source.tables.find((one) => one.name === name)
  if (table === undefined) throw new Error(`no table ${name}`)
  return table
}

const readAll = (source: CopySource, name: string) => [...source.readRows(tableOf(source, name))]

t.test('every table of the schema is copied, but for the one about spool files, with its key', async (t) => {
  const source = open(t, await fill(t, async () => undefined))
  const made = schema.flatMap((statement) => /^\s*create table (\w+)/.exec(statement)?.[1] ?? [])
  t.same(
    source.tables.map(({ name }) => name),
    made.filter((name) => name !== 'spool_holes').toSorted(),
  )
  t.match(tableOf(source, 'usage'), { key: ['workspace_id', 'kind', 'bucket'], rows: 0 })
  t.ok(source.tables.every(({ key }) => key.length > 0))
  const types = new Set(source.tables.flatMap(({ columns }) => columns.map(({ type }) => type)))
  t.same([...types].toSorted(), ['BLOB', 'INTEGER', 'TEXT'])
})

t.test('bytes in a spool file come as those of the row, which names no place', async (t) => {
  const file = await fill(t, async (database) => {
    await storeLarge(database, 'em_1', 'em_2')
    t.match(await placesOf(database.read), [{ file: 1 }, { file: 1 }])
  })
  const found = readAll(open(t, file), 'raw_messages')
  for (const [at, id] of ['em_1', 'em_2'].entries()) {
    const [email, workspace, createdAt, raw, ...places] = found[at] ?? []
    t.same([email, workspace, createdAt, ...places], [id, 'ws', 1, null, null, null, null])
    t.ok(Buffer.isBuffer(raw) && raw.equals(largeMessage(id)))
  }
})

t.test('damaged bytes are not copied', async (t) => {
  const file = await fill(t, (database) => storeLarge(database, 'em_1'))
  changeByte(file, 100)
  const source = CopySource.open(file)
  t.throws(() => readAll(source, 'raw_messages'), LostBytes)
  source.close()
})

t.test('no other process writes while it is open', async (t) => {
  const file = await fill(t, ({ commit }) => commit([stateWrite('before', '1')]))
  const source = CopySource.open(file)
  const other = new SQLite(file, { timeout: 0 })
  t.teardown(() => other.close())
  const write = () => other.exec(`insert into service_state (key, value) values ('during', '2')`)
  t.throws(write, { code: 'SQLITE_BUSY' })
  t.same(readAll(source, 'service_state'), [['before', '1']])
  source.close()
  write()
})

t.test('the last number of a table counts rows that are gone', async (t) => {
  const file = await fill(t, async ({ commit }) => {
    const insert = `insert into audit_log (id, workspace_id, at, actor, action, target, details)
      values ('a', 'ws', 1, 'operator', 'x', 'y', '{}')`
    for (let count = 0; count < 3; count++) await commit([{ sql: insert, parameters: [] }])
    await commit([{ sql: 'delete from audit_log where seq > 1', parameters: [] }])
  })
  const source = open(t, file)
  t.equal(source.lastNumber('audit_log'), 3)
  t.equal(source.lastNumber('events'), 0)
  t.equal(source.lastNumber('usage'), 0)
})

t.test('a database of another version is refused', async (t) => {
  const file = await fill(t, async () => undefined)
  const db = new SQLite(file)
  db.exec(`insert into kysely_migration (name, timestamp) values ('9999-later', '')`)
  t.throws(() => CopySource.open(file), NewerDatabase)
  db.exec('delete from kysely_migration')
  t.throws(() => CopySource.open(file), EarlierDatabase)
  db.close()
})
