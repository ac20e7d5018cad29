/** The table types against the schema, erasing a workspace, and the guard of the disk. */
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { type DiskSpace, diskSpace } from '../../src/platform/disk-space.js'
import { diskGuard, mayTake } from '../../src/storage/disk-guard.js'
import { eraseWorkspace, workspaceTables } from '../../src/storage/erase.js'
import { migrations } from '../../src/storage/migrations.js'
import { openDatabase } from '../../src/storage/open.js'
import type { Read } from '../../src/storage/prepared.js'
import { verifyData } from '../../src/storage/verify.js'
import type { Write } from '../../src/storage/write.js'
import { openedDatabase, temporaryDatabase, temporaryFolder } from '../helpers/database.js'
import { columnsOf, rowOf, tablesOf } from './rows.js'
import { promisedTables, type Shape } from './table-types.js'

function migratedTables(read: Read): Shape {
  const shape = (table: string): [string, string][] =>
    columnsOf(read, table).map(({ name, type, notnull, pk }) => [
      name,
      `${type.toLowerCase()}${notnull === 1 || pk > 0 ? '' : '?'}`,
    ])
  return Object.fromEntries(tablesOf(read).map((table) => [table, Object.fromEntries(shape(table))]))
}

t.test('the table types say what the migrations make', async (t) => {
  const { database } = await temporaryDatabase(t)
  const files = [
    'tables',
    'email-tables',
    'bayes-tables',
    'inbound-tables',
    'zone-tables',
    'content-tables',
    'audience-tables',
    'people-tables',
    'import-tables',
  ].map((name) => `src/storage/${name}.ts`)
  t.strictSame(promisedTables(...files), migratedTables(database.read))
})

t.test('no table with a workspace_id is forgotten when a workspace is erased', async (t) => {
  const { database } = await temporaryDatabase(t)
  const bearing = tablesOf(database.read).filter((table) =>
    columnsOf(database.read, table).some(({ name }) => name === 'workspace_id'),
  )
  t.strictSame([...workspaceTables].sort(), bearing.sort())
})

const large = ['emails', 'recipients', 'attempts', 'raw_messages', 'events']

t.test('erasing a workspace takes all of its rows and no others', async (t) => {
  const { database } = await temporaryDatabase(t)
  const row = rowOf(database.read)
  const rows = (workspace: string): Write[] => [
    row('workspaces', { id: workspace }),
    // The row of `bayes_counts` comes by a trigger.
    ...workspaceTables
      .filter((table) => table !== 'bayes_counts')
      .map((table) => row(table, { workspace_id: workspace })),
    ...large.flatMap((table) => Array.from({ length: 450 }, () => row(table, { workspace_id: workspace }))),
  ]
  const count = (workspace: string): number[] =>
    [...workspaceTables.map((table) => [table, 'workspace_id']), ['workspaces', 'id']].map(
      ([table, column]) =>
        database.read<{ count: number }>(`select count(*) as count from ${table} where ${column} = ?`, [workspace])[0]
          ?.count ?? -1,
    )
  await database.commit([...rows('ws_1'), ...rows('ws_2')])
  const before = count('ws_2')
  t.same(before, count('ws_1'))
  t.notOk(before.includes(0))

  await eraseWorkspace(database, 'ws_1')
  t.same(
    count('ws_1'),
    before.map(() => 0),
  )
  t.same(count('ws_2'), before)
})

t.test('emails are counted by status from where the counts came on, through every change and removal', async (t) => {
  const file = join(temporaryFolder(t), 'posthorn.db')
  const { '0001-sending': first } = migrations
  if (first === undefined) throw new Error('the first migration is gone')
  const old = await openDatabase({ file, migrations: { '0001-sending': first } })
  const row = rowOf(old.read)
  const statuses = ['queued', 'queued', 'delivered', 'scheduled']
  await old.commit([
    ...statuses.map((status, n) => row('emails', { id: `e${n}`, workspace_id: 'ws_1', status })),
    row('emails', { id: 'other', workspace_id: 'ws_2', status: 'queued' }),
    row('idempotency', { workspace_id: 'ws_1', key: 'k', fingerprint: 'f', email_id: 'e0', created_at: 7 }),
  ])
  await old.close()

  const database = await openedDatabase(t, { file })
  const counts = (): unknown =>
    database.read(`select workspace_id || ' ' || status as of, count from email_counts where count <> 0 order by 1`, [])
  const one = (of: string, count: number): object => ({ of, count })
  t.same(counts(), [one('ws_1 delivered', 1), one('ws_1 queued', 2), one('ws_1 scheduled', 1), one('ws_2 queued', 1)])
  t.same(database.read('select key, fingerprint, email_id, answer, created_at from idempotency', []), [
    { key: 'k', fingerprint: 'f', email_id: 'e0', answer: null, created_at: 7 },
  ])

  await database.commit([
    { sql: `update emails set status = 'delivered' where id in ('e0', 'e1')`, parameters: [] },
    { sql: `update emails set status = 'delivered' where id = 'e2'`, parameters: [] },
    { sql: `delete from emails where id = 'e3'`, parameters: [] },
    rowOf(database.read)('emails', { id: 'e4', workspace_id: 'ws_1', status: 'bounced' }),
  ])
  t.same(counts(), [one('ws_1 bounced', 1), one('ws_1 delivered', 3), one('ws_2 queued', 1)])
  t.same(
    verifyData(file).filter(({ check }) => check === 'email-counts'),
    [],
  )
  await database.commit([{ sql: 'update email_counts set count = 9 where workspace_id = ?', parameters: ['ws_2'] }])
  t.match(verifyData(file).find(({ check }) => check === 'email-counts')?.message, /1 kept counts.*: ws_2 queued/)
})

const GiB = 1024 ** 3

t.test('new mail is refused under 5 % of the disk or under 1 GiB', async (t) => {
  const cases: readonly [free: number, total: number, may: boolean][] = [
    [5 * GiB, 100 * GiB, true],
    [5 * GiB - 1, 100 * GiB, false],
    [GiB, 10 * GiB, true],
    [GiB - 1, 10 * GiB, false],
    [0.9 * GiB, GiB, false],
    [0, 0, false],
  ]
  for (const [free, total, may] of cases) t.equal(mayTake(free, total), may, `${free} of ${total}`)
  t.ok(mayTake(10, 100, { leastShare: 0.1, leastBytes: 10 }))
  t.notOk(mayTake(9, 100, { leastShare: 0.1, leastBytes: 1 }))
})

t.test('the guard asks the disk at most once a second and answers at once', async (t) => {
  let now = 0
  let asked = 0
  let space: DiskSpace | undefined = { free: 50 * GiB, total: 100 * GiB }
  const guard = await diskGuard({
    path: '/somewhere',
    clock: () => now,
    space: async (path) => {
      t.equal(path, '/somewhere')
      asked += 1
      if (space === undefined) throw new Error('no answer')
      return space
    },
  })
  const looked = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

  t.ok(guard.hasRoom())
  space = { free: GiB, total: 100 * GiB }
  now = 999
  t.ok(guard.hasRoom())
  t.equal(asked, 1)
  now = 1000
  t.ok(guard.hasRoom(), 'the old answer, while it looks')
  t.ok(guard.hasRoom())
  t.equal(asked, 2)
  await looked()
  t.notOk(guard.hasRoom())

  space = undefined
  now = 2000
  guard.hasRoom()
  await looked()
  t.notOk(guard.hasRoom(), 'the last answer stands when there is no new one')
  t.equal(asked, 3)
})

t.test('the room of a real file system is told in bytes', async (t) => {
  const { free, total } = await diskSpace(tmpdir())
  t.ok(free > 0 && total >= free && total > 1024 ** 2)
  await t.rejects(diskSpace('/nowhere/at/all'), { code: 'ENOENT' })
})
