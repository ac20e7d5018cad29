/** Reads on threads: the same rows, at once for others, and an end for what takes too long. */
// Of SQLite alone: its reads run on threads.
import SQLite from 'better-sqlite3'
import t from 'tap'
import { prepareLongRead, prepareRead, readTogether } from '../../../src/base/storage/db/prepared.js'
import { StorageFault } from '../../../src/base/storage/db/write.js'
import { openReadConnection } from '../../../src/base/storage/read-connection.js'
import { ReadThreads } from '../../../src/base/storage/read-threads.js'
import { temporaryDatabase } from '../../helpers/database/database.js'
import { seedDatabase } from '../../helpers/database/seed-data.js'

/** Counts without an end that a test would wait for. */
const ENDLESS = 'with recursive n(i) as (select 1 union all select i + 1 from n where i < 1e12) select count(*) from n'

const nameOf = prepareLongRead<{ id: string }>()(({ db, slot }) =>
  db.selectFrom('workspaces').select('name').where('id', '=', slot('id')),
)
const idOf = prepareRead<{ id: string }>()(({ db, slot }) =>
  db.selectFrom('workspaces').select('id').where('id', '=', slot('id')),
)

t.test('a long read sees what was committed, and leaves this thread', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { workspaceId } = await seedDatabase(database)
  const here: string[] = []
  const { elsewhere } = database.read
  if (elsewhere === undefined) throw new Error('there are no threads')
  const read: typeof database.read = Object.assign(
    <Row>(sql: string, parameters: readonly unknown[]) => {
      here.push(sql)
      return database.read<Row>(sql, parameters)
    },
    { elsewhere },
  )
  const [row] = await nameOf(read, { id: workspaceId })
  t.type(row?.name, 'string')
  t.same(here, [])
  t.same(await nameOf(database.read, { id: 'none' }), [])
})

t.test('a read that takes too long is ended, and the next one finds a thread', async (t) => {
  const { file } = await temporaryDatabase(t)
  const threads = new ReadThreads(file, 2_000)
  t.teardown(() => threads.stop())
  await t.rejects(threads.read(ENDLESS.replace('1e12', '2e7'), []), StorageFault)
  t.same(await threads.read('select 1 as one', []), [{ one: 1 }])
})

t.test('two reads run at the same time, so that one that takes long delays no other', async (t) => {
  const { file } = await temporaryDatabase(t)
  const threads = new ReadThreads(file)
  t.teardown(() => threads.stop())
  const ended: string[] = []
  const slow = threads.read(ENDLESS.replace('1e12', '2e6'), []).then(() => ended.push('slow'))
  await threads.read('select 1', []).then(() => ended.push('quick'))
  await slow
  t.same(ended, ['quick', 'slow'])
})

t.test('a read that fails says why', async (t) => {
  const { file } = await temporaryDatabase(t)
  const threads = new ReadThreads(file)
  t.teardown(() => threads.stop())
  await t.rejects(threads.read('select 1 from nowhere', []), /nowhere/)
})

t.test('reads that belong together give the rows of each, in their order', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { workspaceId, otherWorkspaceId } = await seedDatabase(database)
  const [one, other, none] = await readTogether(database.read, [
    idOf.with({ id: workspaceId }),
    idOf.with({ id: otherWorkspaceId }),
    idOf.with({ id: 'none' }),
  ])
  t.same([one, other, none], [[{ id: workspaceId }], [{ id: otherWorkspaceId }], []])
})

t.test('reads that belong together see one state of the database', async (t) => {
  const { file } = await temporaryDatabase(t)
  const { read, close } = openReadConnection(file)
  const other = new SQLite(file)
  t.teardown(() => [close(), other.close()])
  const count = { sql: `select count(*) as count from service_state where key = 'told'`, parameters: [] }
  // The write of another process falls between the two reads.
  const later = {
    get sql() {
      other.exec(`insert into service_state (key, value) values ('told', '1')`)
      return count.sql
    },
    parameters: [],
  }
  t.same(await read.together([count, later]), [[{ count: 0 }], [{ count: 0 }]])
  t.same(read(count.sql, []), [{ count: 1 }])
})
