/** The table types against the schema, the erasure of a workspace, and the disk guard. */
// Of SQLite alone: tables are listed in its words.

import { readdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import type { Address } from '../../../../src/base/mail/address.js'
import { filterAsync } from '../../../../src/base/platform/async-filter.js'
import { type DiskSpace, readDiskSpace } from '../../../../src/base/platform/disk-space.js'
import type { Read } from '../../../../src/base/storage/db/prepared.js'
import { type Write, WriteConflict } from '../../../../src/base/storage/db/write.js'
import { hasEnoughSpace, startDiskGuard } from '../../../../src/base/storage/health/disk-guard.js'
import { eraseWorkspace, workspaceTables } from '../../../../src/base/storage/maintenance/erase.js'
import { verifyData } from '../../../../src/base/storage/maintenance/verify.js'
import { toJson } from '../../../../src/base/storage/tables/columns.js'
import {
  heldBytesOf,
  readHeldInboundBytes,
  requireRoom,
} from '../../../../src/workspaces/accounts/limits/inbound-bytes.js'
import { temporaryDatabase } from '../../../helpers/database/database.js'
import { columnsOf, rowOf, tablesOf } from '../../../helpers/database/rows.js'
import { declaredTables, type Shape } from '../../../helpers/database/table-types.js'
import { waitUntil } from '../../../helpers/wait-until.js'

async function migratedTables(read: Read): Promise<Shape> {
  const shape = async (table: string): Promise<[string, string][]> =>
    (await columnsOf(read, table)).map(({ name, type, notnull, pk }) => [
      name,
      `${type.toLowerCase()}${notnull === 1 || pk > 0 ? '' : '?'}`,
    ])
  return Object.fromEntries(
    await Promise.all(
      (await tablesOf(read)).map(async (table) => [table, Object.fromEntries(await shape(table))] as const),
    ),
  )
}

t.test('the table types match the migrated schema', async (t) => {
  const { database } = await temporaryDatabase(t)
  const files = [
    'tables',
    'columns',
    'account-tables',
    'broadcast-tables',
    'certificate-tables',
    'content-tables',
    'delivery-tables',
    'domain-tables',
    'domain-report-tables',
    'email-tables',
    'export-tables',
    'forward-tables',
    'inbound-tables',
    'metrics-tables',
    'sms-tables',
    'breaker-tables',
    'tls-report-tables',
    'session-tables',
    'tracking-tables',
    'webhook-tables',
  ]
  const paths = files.map((name) => `src/base/storage/tables/${name}.ts`)
  t.strictSame(declaredTables(...paths), await migratedTables(database.read))
})

t.test('every table, index, trigger and view of the schema says its purpose in the line before it', async (t) => {
  const folder = 'src/base/storage/schema'
  const lines = readdirSync(folder).flatMap((name) => ['', ...readFileSync(join(folder, name), 'utf8').split('\n')])
  const made = lines.flatMap((line, at) =>
    /^\s*[`']create /.test(line) ? [{ line, before: lines[at - 1] ?? '' }] : [],
  )
  t.ok(made.length > 200, `${made.length} statements`)
  const silent = made.filter(({ before }) => !/^\s*\/\/ [A-Z].*\.$/.test(before))
  t.same(
    silent.map(({ line }) => line),
    [],
  )
})

t.test('erasing a workspace covers every table with a workspace_id', async (t) => {
  const { database } = await temporaryDatabase(t)
  const bearing = await filterAsync(await tablesOf(database.read), async (table) =>
    (await columnsOf(database.read, table)).some(({ name }) => name === 'workspace_id'),
  )
  t.strictSame([...workspaceTables].sort(), bearing.toSorted())
})

const large = ['emails', 'recipients', 'attempts', 'raw_messages', 'events']

t.test('erasing a workspace removes all of its rows and no others', async (t) => {
  const { database } = await temporaryDatabase(t)
  const row = rowOf(database.read)
  const rows = async (workspace: string): Promise<Write[]> => [
    await row('workspaces', { id: workspace }),
    // The row of `bayes_counts` is made by a trigger.
    ...(await Promise.all(
      workspaceTables
        .filter((table) => table !== 'bayes_counts')
        .map((table) => row(table, { workspace_id: workspace })),
    )),
    ...(await Promise.all(
      large.flatMap((table) => Array.from({ length: 450 }, () => row(table, { workspace_id: workspace }))),
    )),
  ]
  const count = async (workspace: string): Promise<number[]> =>
    await Promise.all(
      [...workspaceTables.map((table) => [table, 'workspace_id']), ['workspaces', 'id']].map(
        async ([table, column]) =>
          (
            await database.read<{ count: number }>(`select count(*) as count from ${table} where ${column} = ?`, [
              workspace,
            ])
          )[0]?.count ?? -1,
      ),
    )
  await database.commit([...(await rows('ws_1')), ...(await rows('ws_2'))])
  const before = await count('ws_2')
  t.same(before, await count('ws_1'))
  t.notOk(before.includes(0))

  await eraseWorkspace(database, 'ws_1')
  t.same(
    await count('ws_1'),
    before.map(() => 0),
  )
  t.same(await count('ws_2'), before)
})

t.test('emails are counted by status, through every change and removal', async (t) => {
  const { file, database } = await temporaryDatabase(t)
  const row = rowOf(database.read)
  const statuses = ['queued', 'queued', 'delivered', 'scheduled']
  await database.commit([
    ...(await Promise.all(statuses.map((status, n) => row('emails', { id: `e${n}`, workspace_id: 'ws_1', status })))),
    await row('emails', { id: 'other', workspace_id: 'ws_2', status: 'queued' }),
  ])
  const counts = async (): Promise<unknown> =>
    database.read(`select workspace_id || ' ' || status as of, count from email_counts where count <> 0 order by 1`, [])
  const one = (of: string, count: number): object => ({ of, count })
  t.same(await counts(), [
    one('ws_1 delivered', 1),
    one('ws_1 queued', 2),
    one('ws_1 scheduled', 1),
    one('ws_2 queued', 1),
  ])

  await database.commit([
    { sql: `update emails set status = 'delivered' where id in ('e0', 'e1')`, parameters: [] },
    { sql: `update emails set status = 'delivered' where id = 'e2'`, parameters: [] },
    { sql: `delete from emails where id = 'e3'`, parameters: [] },
    await row('emails', { id: 'e4', workspace_id: 'ws_1', status: 'bounced' }),
  ])
  t.same(await counts(), [one('ws_1 bounced', 1), one('ws_1 delivered', 3), one('ws_2 queued', 1)])
  t.same(
    verifyData(file).filter(({ check }) => check === 'email-counts'),
    [],
  )
  await database.commit([{ sql: 'update email_counts set count = 9 where workspace_id = ?', parameters: ['ws_2'] }])
  t.match(verifyData(file).find(({ check }) => check === 'email-counts')?.message, /1 stored counts.*: ws_2 queued/)
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
  for (const [free, total, may] of cases) t.equal(hasEnoughSpace({ free, total }), may, `${free} of ${total}`)
  t.ok(hasEnoughSpace({ free: 10, total: 100 }, { minShare: 0.1, minBytes: 10 }))
  t.notOk(hasEnoughSpace({ free: 9, total: 100 }, { minShare: 0.1, minBytes: 1 }))
})

t.test('the guard checks periodically, and reports when the disk becomes full and when it has room', async (t) => {
  let space: DiskSpace | undefined = { free: 50 * GiB, total: 100 * GiB }
  let looks = 0
  const changes: [hasRoom: boolean, free: number][] = []
  const guard = await startDiskGuard({
    path: '/somewhere',
    readSpace: async (path) => {
      t.equal(path, '/somewhere')
      looks += 1
      if (space === undefined) throw new Error('no answer')
      return space
    },
    onChange: (hasRoom, { free }) => changes.push([hasRoom, free]),
    interval: 1,
  })
  t.teardown(() => guard.stop())
  const looked = (): Promise<unknown> => {
    const before = looks
    return waitUntil('it looked twice more', () => looks >= before + 2)
  }

  t.ok(guard.hasRoom())
  t.equal(guard.room(), 45 * GiB)
  space = { free: GiB, total: 100 * GiB }
  await looked()
  t.notOk(guard.hasRoom())
  t.equal(guard.room(), 0)
  space = undefined
  await looked()
  t.notOk(guard.hasRoom(), 'the last answer stands when there is no new one')
  space = { free: 6 * GiB, total: 100 * GiB }
  await looked()
  t.ok(guard.hasRoom())
  t.same(changes, [
    [false, GiB],
    [true, 6 * GiB],
  ])

  const full: boolean[] = []
  const onChange = (hasRoom: boolean): void => void full.push(hasRoom)
  const atOnce = await startDiskGuard({ path: '/', readSpace: async () => ({ free: 0, total: GiB }), onChange })
  t.teardown(() => atOnce.stop())
  t.notOk(atOnce.hasRoom())
  t.same(full, [false], 'a disk that is full at the start is reported')
})

t.test('the free space of a real file system is given in bytes', async (t) => {
  const { free, total } = await readDiskSpace(tmpdir())
  t.ok(free > 0 && total >= free && total > 1024 ** 2)
  await t.rejects(readDiskSpace('/nowhere/at/all'), { code: 'ENOENT' })
})

const drop = (table: string, key: string, id: string): Write => {
  return { sql: `delete from ${table} where ${key} = ?`, parameters: [id], rows: 1 }
}

const mail = { kind: 'mail', status: 'processed', envelope_to: '' }

t.test('inbound mail is counted, in any order of removal', async (t) => {
  const { file, database } = await temporaryDatabase(t)
  const row = rowOf(database.read)
  const stored = async (id: string, workspace_id: string, size: number): Promise<Write[]> => [
    await row('inbound_emails', { id, workspace_id, size, ...mail }),
    await row('inbound_raw', { inbound_id: id, workspace_id }),
  ]
  /** Records of 8 KB each, and bytes. */
  const held = async (): Promise<number[][]> =>
    await Promise.all(
      ['ws_1', 'ws_2', 'ws_3'].map(async (id) => {
        const bytes = await readHeldInboundBytes(database.read, id)
        return [Math.floor(bytes / 8_192), bytes % 8_192]
      }),
    )
  const none = [0, 0]
  await database.commit([
    ...[...(await stored('a', 'ws_1', 10)), ...(await stored('b', 'ws_1', 20)), ...(await stored('c', 'ws_2', 40))],
    await row('inbound_emails', { id: 'd', workspace_id: 'ws_2', size: 80, ...mail }),
  ])
  t.same(await held(), [[2, 30], [2, 40], none], 'bytes that are not there count nothing')
  await database.commit([...(await stored('e', 'ws_3', 160)), ...(await stored('f', 'ws_1', 320))])
  t.same(await held(), [
    [3, 350],
    [2, 40],
    [1, 160],
  ])
  const record = (id: string): Write => drop('inbound_emails', 'id', id)
  const raw = (id: string): Write => drop('inbound_raw', 'inbound_id', id)
  await database.commit([record('a'), raw('a'), raw('f')])
  t.same(await held(), [
    [2, 20],
    [2, 40],
    [1, 160],
  ])
  await database.commit([record('f'), raw('e'), record('e'), record('d')])
  t.same(await held(), [[1, 20], [1, 40], none])
  t.same(
    verifyData(file).filter(({ check }) => check === 'inbound-totals'),
    [],
  )
})

t.test('a record of inbound mail counts 8 KB, and its recipients twice', async (t) => {
  const { database } = await temporaryDatabase(t)
  const email = { size: 100, envelope_to: toJson(['\u00fc@b.test', 'a@b.test'] as Address[]) }
  const values = { id: 'a', workspace_id: 'ws_1', ...mail, ...email }
  await database.commit([
    await rowOf(database.read)('inbound_emails', values),
    await rowOf(database.read)('inbound_raw', { inbound_id: 'a', workspace_id: 'ws_1' }),
  ])
  const bytes = 100 + 8_192 + 2 * '["..@b.test","a@b.test"]'.length
  t.same([await readHeldInboundBytes(database.read, 'ws_1'), heldBytesOf(email)], [bytes, bytes])
})

t.test('the limit is checked by the commit that needs the room', async (t) => {
  const { database } = await temporaryDatabase(t)
  const row = rowOf(database.read)
  const filing = async (id: string, bytes: number): Promise<void> =>
    database.commit([
      requireRoom({ workspaceId: 'ws_1', owner: 'ws_1', bytes: bytes + 8_192, limit: 100 + 4 * 8_192 }),
      await row('inbound_emails', { id, workspace_id: 'ws_1', size: bytes, ...mail }),
      await row('inbound_raw', { inbound_id: id, workspace_id: 'ws_1' }),
    ])
  await t.rejects(filing('large', 101 + 3 * 8_192), WriteConflict)
  const outcomes = await Promise.allSettled(Array.from({ length: 10 }, (_, n) => filing(`m${n}`, 30)))
  t.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 3)
  t.equal(await readHeldInboundBytes(database.read, 'ws_1'), 90 + 3 * 8_192)
  await filing('last', 10)
  await t.rejects(filing('more', 1), WriteConflict)
})
