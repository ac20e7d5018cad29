/** Imports that continue after their request: interruption, resumption without duplicate rows, and what ends them. */
import t, { type Test } from 'tap'
import type { Database } from '../../../src/base/storage/db/database.js'
import { loneNode } from '../../../src/base/storage/db/node-state.js'
import { StorageFault } from '../../../src/base/storage/db/write.js'
import { closeWorkspace, eraseWorkspace } from '../../../src/base/storage/maintenance/erase.js'
import { verifyData } from '../../../src/base/storage/maintenance/verify.js'
import type { ImportOptions, SuppressionImportReport } from '../../../src/base/storage/tables/content-tables.js'
import { importSuppressions } from '../../../src/records/suppressions/import-suppressions.js'
import { insertAudience } from '../../../src/workspaces/audiences/audiences.js'
import { beginImport } from '../../../src/workspaces/imports/begin-import.js'
import { createDirectJournal } from '../../../src/workspaces/imports/direct-import.js'
import type { ImportRef } from '../../../src/workspaces/imports/import-file.js'
import {
  IMPORT_LIFETIME,
  type ImportRow,
  importById,
  MAX_PENDING_IMPORTS,
  removeExpiredImports,
} from '../../../src/workspaces/imports/import-records.js'
import { ImportRunner } from '../../../src/workspaces/imports/import-runner.js'
import { temporaryDatabase } from '../../helpers/database/database.js'
import { isOnPostgres } from '../../helpers/database/test-engine.js'
import { waitUntil } from '../../helpers/wait-until.js'

type Commit = Database['commit']

const workspace = (id: string) => ({
  sql: 'insert into workspaces (id, name, slug, plan, created_at) values (?, ?, ?, ?, 0)',
  parameters: [id, id, id, 'free'],
})
const audience = { id: 'a', workspace_id: 'ws_1', name: 'A', description: null, created_at: 0, updated_at: 0 }
const layout = { columns: null, hasHeader: true, delimiter: null, encoding: 'utf-8' } as const
const contacts: ImportOptions = { kind: 'contacts', audienceId: 'a', resubscribe: false, layout, leaveOut: [] }
const suppressions: ImportOptions = {
  kind: 'suppressions',
  reason: 'manual',
  encoding: 'utf-8',
  actor: { id: 'u', keyId: null },
}
const lines = (count: number): Buffer =>
  Buffer.from(
    ['email', ...Array.from({ length: count }, (_, n) => (n % 50 === 3 ? 'nobody' : `n${n}@b.test`))].join('\n'),
  )

async function createDatabase(t: Test) {
  const { database, file, openAgain } = await temporaryDatabase(t)
  await database.commit([workspace('ws_1'), insertAudience(audience)])
  return { database, file, openAgain }
}

function runnerOf(
  t: Test,
  { read }: Pick<Database, 'read'>,
  commit: Commit,
): ImportRunner & { readonly errors: readonly unknown[] } {
  const errors: unknown[] = []
  const log = { error: (about: unknown) => errors.push(about), info: () => undefined }
  const runner = new ImportRunner({ node: loneNode, read, commit, clock: () => 5_000, log, retryDelay: 5 })
  t.teardown(() => runner.stop())
  return Object.assign(runner, { errors })
}

const startImport = (
  database: Database,
  options: ImportOptions,
  count: number,
  workspaceId = 'ws_1',
): Promise<ImportRef> => beginImport(database, { workspaceId, options, file: lines(count), total: count }, 1_000)

const over = (database: Pick<Database, 'read'>, place: ImportRef): Promise<ImportRow> =>
  waitUntil('the import is over', async () =>
    (await importById(database.read, place)).find(({ status }) => status !== 'processing'),
  )

const doneOf = async ({ read }: Pick<Database, 'read'>, place: ImportRef): Promise<number | undefined> =>
  (await importById(read, place))[0]?.done

const count = async ({ read }: Database, table: string): Promise<number> =>
  (await read<{ n: number }>(`select count(*) as n from ${table}`, []))[0]?.n ?? -1

t.test('an import that is interrupted after any commit resumes behind it and imports no row twice', async (t) => {
  for (const options of [contacts, suppressions]) {
    const { database, file } = await createDatabase(t)
    const place = await startImport(database, options, 2_050)
    let commits = 0
    let runs = 0
    for (; (await importById(database.read, place))[0]?.status === 'processing'; runs += 1) {
      const stays = runs * 2
      commits = 0
      let stop = (): unknown => undefined
      // As after a kill: later writes never reach the disk.
      const cutting: Commit = async (writes) => {
        commits += 1
        if (commits > stays) {
          stop()
          throw new Error('cut off')
        }
        return database.commit(writes)
      }
      const runner = runnerOf(t, database, cutting)
      stop = () => void runner.stop()
      await runner.start()
      await waitUntil(
        'it is cut off or over',
        async () => commits > stays || (await count(database, 'import_chunks')) === 0,
      )
      await runner.stop()
    }
    t.ok(runs > 3, `${runs} runs`)
    const [row] = await importById(database.read, place)
    t.match(row, { status: 'completed', total: 2_050, done: 2_050 })
    const report = { added: 2_009, refused: 41 }
    t.match(JSON.parse(row?.report ?? ''), report)
    t.equal(await count(database, options.kind), 2_009)
    if (options.kind === 'suppressions') t.equal(await count(database, 'audit_log'), 1, 'one act')
    const last = runnerOf(t, database, database.commit)
    await last.start()
    t.equal(await count(database, 'import_chunks'), 0, 'nothing of its file is left')
    if (!isOnPostgres()) t.same(verifyData(file), [])
  }
})

t.test('a file that was stored only in part is no import, and the next start removes it', async (t) => {
  const { database } = await createDatabase(t)
  let commits = 0
  const once: Commit = (writes) => {
    commits += 1
    return commits === 1 ? database.commit(writes) : Promise.reject(new StorageFault('SQLITE_FULL', 'full'))
  }
  await t.rejects(
    beginImport(
      { ...database, commit: once },
      { workspaceId: 'ws_1', options: contacts, file: lines(1_001), total: 1_001 },
      1,
    ),
    StorageFault,
  )
  t.same([await count(database, 'imports'), await count(database, 'import_chunks')], [0, 1])
  await runnerOf(t, database, database.commit).start()
  t.equal(await count(database, 'import_chunks'), 0)
})

t.test('an import waits while the disk takes no writes; any other fault ends it with a report', async (t) => {
  const { database } = await createDatabase(t)
  let faults = 5
  const full: Commit = (writes) => {
    faults -= 1
    return faults >= 0 ? Promise.reject(new StorageFault('SQLITE_FULL', 'full')) : database.commit(writes)
  }
  const place = await startImport(database, contacts, 1_001)
  const runner = runnerOf(t, database, full)
  await runner.start()
  t.match(await over(database, place), { status: 'completed', done: 1_001 })
  t.equal(runner.errors.length, 5)

  const other = await startImport(database, suppressions, 1_001)
  const broken = runnerOf(t, database, (writes) =>
    writes.some(({ sql }) => sql.startsWith('insert into "suppressions"'))
      ? Promise.reject(new Error('odd'))
      : database.commit(writes),
  )
  await broken.start()
  const row = await over(database, other)
  t.match(row, { status: 'failed', done: 0, report: null, finished_at: 5_000 })
  t.same(JSON.parse(row.error ?? ''), { kind: 'internal', message: 'internal error' })
  t.equal(broken.errors.length, 3)
  await waitUntil('its file is gone', async () => (await count(database, 'import_chunks')) === 0)
})

t.test('the running imports of a workspace are limited, and run one after the other', async (t) => {
  const { database } = await createDatabase(t)
  const places = []
  for (let n = 0; n < MAX_PENDING_IMPORTS; n += 1) places.push(await startImport(database, contacts, 1_001))
  await t.rejects(startImport(database, contacts, 1_001), {
    message: /^5 imports of the workspaces of this owner are pending/,
  })
  const together = await Promise.allSettled([
    startImport(database, contacts, 1_001),
    startImport(database, contacts, 1_001),
  ])
  t.ok(together.every(({ status }) => status === 'rejected'))
  const runner = runnerOf(t, database, database.commit)
  await runner.start()
  for (const place of places) await over(database, place)
  await runner.stop()
  t.same([await count(database, 'contacts'), await count(database, 'imports')], [981, MAX_PENDING_IMPORTS])
  t.equal(await removeExpiredImports(database, 5_000 + IMPORT_LIFETIME), false)
  t.equal(await count(database, 'imports'), MAX_PENDING_IMPORTS, 'not yet')
  await removeExpiredImports(database, 5_001 + IMPORT_LIFETIME)
  t.equal(await count(database, 'imports'), 0)
})

t.test('owners take turns: three with many imports delay another one by an import each', async (t) => {
  const { database } = await createDatabase(t)
  await database.commit(['ws_2', 'ws_3', 'ws_4'].map(workspace))
  const places: ImportRef[] = []
  const begun = new Set<ImportRef>()
  const read: Database['read'] = (query, parameters) => {
    // The runner reads the record of an import first.
    for (const place of places) if (parameters.includes(place.id)) begun.add(place)
    return database.read(query, parameters)
  }
  const runner = runnerOf(t, { read }, database.commit)
  await runner.start()
  for (const id of [1, 1, 1, 2, 2, 2, 3, 3, 3, 4]) places.push(await startImport(database, suppressions, 3, `ws_${id}`))
  for (const place of places) runner.begin(place)
  for (const place of places) await over(database, place)
  const place = [...begun].findIndex(({ workspaceId }) => workspaceId === 'ws_4')
  t.equal(place, 6, 'behind the three that ran and one more of each')
})

t.test('closing a workspace ends its imports at once, without a row after it or anything left', async (t) => {
  for (const options of [contacts, suppressions]) {
    const { database } = await createDatabase(t)
    await startImport(database, options, 5_000)
    let rowsAtTheEnd = -1
    let commits = 0
    const closing: Commit = async (writes) => {
      commits += 1
      if (commits === 4) {
        await database.commit(closeWorkspace('ws_1', 1))
        rowsAtTheEnd = await count(database, options.kind)
      }
      return database.commit(writes)
    }
    const runner = runnerOf(t, database, closing)
    await runner.start()
    await waitUntil(
      'the import has ended',
      async () => rowsAtTheEnd > -1 && (await count(database, 'import_chunks')) === 0,
    )
    t.ok(rowsAtTheEnd > 0)
    t.same([await count(database, options.kind), await count(database, 'imports')], [rowsAtTheEnd, 0])
    t.same(runner.errors, [])
    await eraseWorkspace(database, 'ws_1')
    t.equal(await count(database, options.kind), 0)
    await t.rejects(startImport(database, options, 1_001), { message: /is deleted/ })
    t.equal(await count(database, 'import_chunks'), 0)
  }
})

t.test('an import within its request ends with its workspace too', async (t) => {
  const { database } = await createDatabase(t)
  const { read } = database
  let commits = 0
  const closing: Commit = async (writes) => {
    commits += 1
    if (commits === 3) await database.commit(closeWorkspace('ws_1', 1))
    return database.commit(writes)
  }
  const deps = { read, commit: closing, clock: () => 1 }
  const journal = createDirectJournal<SuppressionImportReport>(read, 'ws_1')
  const target = { workspaceId: 'ws_1', reason: 'manual', encoding: 'utf-8' } as const
  await t.rejects(importSuppressions(deps, target, lines(1_000), journal), { message: /is deleted/ })
  t.equal(await count(database, 'suppressions'), 392, 'two portions of 200 lines, of which 8 are no address')
})

t.test('two nodes that run an import import each row once, and one report tells of all', async (t) => {
  for (const options of [contacts, suppressions]) {
    const { database, openAgain } = await createDatabase(t)
    const other = await openAgain()
    const place = await startImport(database, options, 2_050)
    const goOn = Promise.withResolvers<void>()
    let taken = 0
    // The node that takes the import over is slow after six batches, so the first one gets it back.
    const slow: Commit = async (writes) => {
      taken += 1
      if (taken > 6) await goOn.promise
      return other.commit(writes)
    }
    const taker = runnerOf(t, other, slow)
    let commits = 0
    const late: Commit = async (writes) => {
      commits += 1
      if (commits === 3) {
        await taker.start()
        await waitUntil('the other node is ahead', async () => (await doneOf(other, place)) === 1_600)
      }
      return database.commit(writes)
    }
    const first = runnerOf(t, database, late)
    await first.start()
    const row = await over(database, place)
    goOn.resolve()
    t.match(row, { status: 'completed', total: 2_050, done: 2_050 })
    const again = options.kind === 'contacts' ? { updated: 0, unchanged: 0 } : { known: 0 }
    t.match(JSON.parse(row.report ?? ''), { added: 2_009, refused: 41, ...again })
    t.equal(await count(database, options.kind), 2_009)
    await waitUntil('both have ended', async () => (await count(database, 'import_chunks')) === 0)
    await Promise.all([first.stop(), taker.stop()])
    t.same([first.errors, taker.errors], [[], []], 'neither of them calls it a fault')
  }
})

t.test('a database that is opened again continues its imports', async (t) => {
  const { database, openAgain } = await createDatabase(t)
  const place = await startImport(database, suppressions, 1_200)
  await database.close()
  const again = await openAgain()
  const runner = runnerOf(t, again, again.commit)
  await runner.start()
  t.match(await over(again, place), { status: 'completed', done: 1_200 })
})
