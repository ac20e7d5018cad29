/** Exports after their requests: turns of workspaces, interruption, faults, limits, and what becomes of the files. */
import t, { type Test } from 'tap'
import type { Database } from '../../../src/base/storage/db/database.js'
import { StorageFault, type Write } from '../../../src/base/storage/db/write.js'
import { closeWorkspace } from '../../../src/base/storage/maintenance/erase.js'
import { openExport, storePiece } from '../../../src/records/exports/export-chunks.js'
import {
  type ExportRef,
  type ExportRow,
  exportById,
  MAX_KEPT_EXPORTS,
  MAX_UNFINISHED_EXPORTS,
} from '../../../src/records/exports/export-records.js'
import { ExportRunner } from '../../../src/records/exports/export-runner.js'
import { removeExpiredExports, removeExports } from '../../../src/records/exports/remove-exports.js'
import { requestExport } from '../../../src/records/exports/request-export.js'
import { bulkEmail } from '../../helpers/database/bulk.js'
import { temporaryDatabase } from '../../helpers/database/database.js'
import { waitUntil } from '../../helpers/wait-until.js'

const NOW = 5_000_000

interface Place {
  readonly database: Database
}

async function createPlace(t: Test): Promise<Place> {
  const { database } = await temporaryDatabase(t)
  const workspace = 'insert into workspaces (id, name, slug, plan, created_at) values (?, ?, ?, ?, 0)'
  await database.commit(['ws_1', 'ws_2'].map((id) => ({ sql: workspace, parameters: [id, id, id, 'free'] })))
  return { database }
}

type Commit = Database['commit']
type Runner = ExportRunner & { readonly errors: readonly unknown[] }

function runnerOf(
  t: Test,
  { database }: Place,
  commit: Commit = database.commit,
  more: { readonly reportInterval?: number; readonly hasRoom?: () => boolean } = {},
): Runner {
  const errors: unknown[] = []
  const log = { error: (about: unknown) => errors.push(about), info: () => undefined }
  const { read, place } = database
  const times = { turn: 0, retryDelay: 5 }
  const runner = new ExportRunner({
    ...{ read, place, commit, log, ...times },
    clock: () => NOW,
    hasRoom: () => true,
    ...more,
  })
  t.teardown(() => runner.stop())
  return Object.assign(runner, { errors })
}

async function request({ database }: Place, workspaceId = 'ws_1'): Promise<ExportRef> {
  const range = { type: 'email_logs', from_at: 0, to_at: NOW, domain: null, broadcast_id: null, outcome: null } as const
  const { id } = await requestExport(database, { workspace_id: workspaceId, ...range }, NOW)
  return { id, workspaceId }
}

const rowOf = async ({ database }: Place, ref: ExportRef): Promise<ExportRow | undefined> =>
  (await exportById(database.read, ref))[0]

const finished = (place: Place, ref: ExportRef): Promise<ExportRow> =>
  waitUntil('the export is finished', async () => {
    const row = await rowOf(place, ref)
    return row?.status === 'processing' ? false : row
  })

/** All that is stored of the file, or null if nothing is. */
async function textOf({ database }: Place, { id, workspaceId }: ExportRef): Promise<string | null> {
  const bytes = await countBytes({ database }, id)
  const file = openExport(database.read, { id, workspace_id: workspaceId, bytes })
  const parts: Buffer[] = []
  for (let at = 0; at < bytes; at += parts.at(-1)?.length ?? 0) parts.push(await file.read(at, 1_000))
  return bytes === 0 ? null : Buffer.concat(parts).toString()
}

/** Bytes that are stored of the file of an export, or of all. */
async function countBytes({ database }: Place, id?: string): Promise<number> {
  const where = id === undefined ? '' : ' where export_id = ?'
  const sql = `select coalesce(sum(octet_length(bytes)), 0) as bytes from export_chunks${where}`
  return Number((await database.read<{ bytes: number }>(sql, id === undefined ? [] : [id]))[0]?.bytes)
}

const emails = (count: number): Write[] =>
  Array.from({ length: count }, (_, n) => bulkEmail({ workspaceId: 'ws_1', to: 'bob@b.test', at: n })).flatMap(
    ({ writes }) => writes,
  )

t.test('an export is requested, written and removed', async (t) => {
  const place = await createPlace(t)
  const runner = runnerOf(t, place)
  await runner.start()
  await place.database.commit(emails(10))
  const ref = await request(place)
  runner.begin(ref)
  t.match(await finished(place, ref), {
    status: 'completed',
    rows: 10,
    progress: 1_000,
    cursor: null,
    finished_at: NOW,
  })
  const text = await textOf(place, ref)
  t.equal(text?.split('\r\n').length, 12)
  t.equal(Buffer.byteLength(text ?? ''), (await rowOf(place, ref))?.bytes)
  const deps = place.database
  t.same(
    await removeExports(deps, [
      { ...ref, workspaceId: 'ws_2' },
      { ...ref, id: 'x' },
    ]),
    [],
  )
  t.equal(await removeExpiredExports(deps, NOW), false)
  t.ok(await textOf(place, ref), 'it ended at this very moment')
  t.equal(await removeExpiredExports(deps, NOW + 1), false)
  t.equal(await countBytes(place), 0)
  t.equal(await rowOf(place, ref), undefined)
  t.same(runner.errors, [])
})

t.test('an export that is deleted loses its file at the next sweep', async (t) => {
  const place = await createPlace(t)
  const runner = runnerOf(t, place)
  await runner.start()
  const [ref, other] = [await request(place), await request(place, 'ws_2')]
  for (const each of [ref, other]) {
    runner.begin(each)
    await finished(place, each)
  }
  const text = await textOf(place, other)
  // More pieces than one step removes.
  for (let n = 0; n < 50; n += 1) {
    await place.database.commit(storePiece(ref, { start: 1_000 + n, bytes: Buffer.from('x') }))
  }
  t.same(await removeExports(place.database, [ref]), [ref])
  runner.refresh()
  await waitUntil('its file is gone', async () => (await countBytes(place, ref.id)) === 0)
  t.ok(text)
  t.equal(await textOf(place, other), text, 'that of the other workspace stays')
})

t.test('an export does not take the space that mail needs', async (t) => {
  const place = await createPlace(t)
  await place.database.commit(emails(1_000))
  const ref = await request(place)
  let asked = 0
  const hasRoom = (): boolean => {
    asked += 1
    return asked === 1
  }
  const runner = runnerOf(t, place, place.database.commit, { reportInterval: 0, hasRoom })
  await runner.start()
  t.match(await finished(place, ref), { status: 'failed', error: 'disk-full', rows: 250 }, 'at first there was room')
  await waitUntil('its file is gone', async () => (await countBytes(place)) === 0)
  t.same(runner.errors, [])
})

t.test('a workspace has so many exports and no more', async (t) => {
  const place = await createPlace(t)
  for (let n = 0; n < MAX_UNFINISHED_EXPORTS; n += 1) await request(place)
  await t.rejects(request(place), { kind: 'conflict', message: /processing/ })
  await request(place, 'ws_2')
  await place.database.commit([{ sql: `update exports set status = 'failed', finished_at = 1`, parameters: [] }])
  for (let n = MAX_UNFINISHED_EXPORTS; n < MAX_KEPT_EXPORTS; n += 1) {
    await request(place)
    await place.database.commit([{ sql: `update exports set status = 'failed', finished_at = 1`, parameters: [] }])
  }
  await t.rejects(request(place), { kind: 'conflict', message: /delete one first/ })
  await request(place, 'ws_2')
  await place.database.commit(closeWorkspace('ws_2', NOW))
  await t.rejects(request(place, 'ws_2'), { kind: 'bad-credentials', message: /deleted/ })
})

t.test('workspaces take turns, and an export that is put back becomes complete', async (t) => {
  const place = await createPlace(t)
  await place.database.commit(emails(1_000))
  const refs = [await request(place), await request(place), await request(place, 'ws_2')]
  const finishes: string[] = []
  let reports = 0
  const commit: Commit = async (writes) => {
    await place.database.commit(writes)
    for (const { sql, parameters } of writes) {
      const ref = refs.find(({ id }) => parameters.includes(id))
      if (ref !== undefined && sql.includes('finished_at')) finishes.push(ref.workspaceId)
      else if (sql.includes('progress')) reports += 1
    }
  }
  // Each report ends a turn while another workspace waits.
  const runner = runnerOf(t, place, commit, { reportInterval: 0 })
  await runner.start()
  for (const ref of refs) t.match(await finished(place, ref), { status: 'completed' })
  await waitUntil('all three are noted', () => finishes.length === refs.length)
  t.same(finishes, ['ws_2', 'ws_1', 'ws_1'], 'the short one does not wait for the long ones before it')
  t.ok(reports >= 6, `${reports} reports`)
  for (const [at, ref] of refs.entries()) {
    const lines = (await textOf(place, ref))?.split('\r\n')
    t.equal(new Set(lines).size, at === 2 ? 2 : 1_002)
    t.equal((await rowOf(place, ref))?.rows, at === 2 ? 0 : 1_000)
  }
  t.same(runner.errors, [])
})

t.test('what a stop has cut off goes on at the next start, and files without a record go', async (t) => {
  const place = await createPlace(t)
  await place.database.commit(emails(3_000))
  const ref = await request(place)
  const first = runnerOf(t, place, place.database.commit, { reportInterval: 0 })
  await first.start()
  await waitUntil('it is being written', async () => (await countBytes(place)) > 0)
  await first.stop()
  t.equal((await rowOf(place, ref))?.status, 'processing')
  const { bytes = 0 } = (await rowOf(place, ref)) ?? {}
  const gone = { id: '0197b9e5-5c1c-7cf4-8d1f-0b6a2f6f4a10', workspaceId: 'ws_1' }
  await place.database.commit([
    ...storePiece(gone, { start: 0, bytes: Buffer.from('left by a crash') }),
    ...storePiece(ref, { start: bytes + 7, bytes: Buffer.from('of a step that has not ended') }),
  ])
  const second = runnerOf(t, place)
  await second.start()
  t.match(await finished(place, ref), { status: 'completed', rows: 3_000 })
  await waitUntil('the other file is gone', async () => (await countBytes(place, gone.id)) === 0)
  const lines = (await textOf(place, ref))?.split('\r\n')
  t.equal(lines?.length, 3_002)
  t.equal(new Set(lines).size, 3_002)
})

t.test('two nodes that write an export make one file without a gap or a row twice', async (t) => {
  const place = await createPlace(t)
  await place.database.commit(emails(3_000))
  const ref = await request(place)
  const isOfFile = (writes: readonly Write[]): boolean => writes.some(({ sql }) => sql.includes('export_chunks'))
  const goOn = Promise.withResolvers<void>()
  let taken = 0
  // The node that takes the export over is slow after some pieces, so the first one gets it back.
  const slow: Commit = async (writes) => {
    taken += isOfFile(writes) ? 1 : 0
    if (taken > 5) await goOn.promise
    return place.database.commit(writes)
  }
  const taker = runnerOf(t, place, slow, { reportInterval: 0 })
  let stored = 0
  const late: Commit = async (writes) => {
    stored += isOfFile(writes) ? 1 : 0
    if (stored === 3 && taken === 0) {
      await taker.start()
      await waitUntil('the other node is ahead', () => taken > 5)
    }
    return place.database.commit(writes)
  }
  const first = runnerOf(t, place, late, { reportInterval: 0 })
  await first.start()
  const row = await finished(place, ref)
  goOn.resolve()
  await waitUntil('both have ended', () => first.countUnderWay() + taker.countUnderWay() === 0)
  t.match(row, { status: 'completed', rows: 3_000, bytes: await countBytes(place) })
  const lines = (await textOf(place, ref))?.split('\r\n')
  t.same([lines?.length, new Set(lines).size], [3_002, 3_002])
  t.same([first.errors, taker.errors], [[], []], 'neither of them calls it a fault')
})

t.test('the export of a workspace that is closed ends, and its file goes', async (t) => {
  const place = await createPlace(t)
  await place.database.commit(emails(3_000))
  const ref = await request(place)
  const runner = runnerOf(t, place, place.database.commit, { reportInterval: 0 })
  await runner.start()
  await waitUntil('it is being written', async () => (await countBytes(place)) > 0)
  await place.database.commit(closeWorkspace('ws_1', NOW))
  runner.refresh()
  await waitUntil('its file is gone', async () => (await countBytes(place)) === 0)
  t.equal(await rowOf(place, ref), undefined)
  const other = await request(place, 'ws_2')
  runner.begin(other)
  t.match(await finished(place, other), { status: 'completed' }, 'and the next one is written')
  t.same(runner.errors, [])
})

t.test('while the database takes no writes it waits; after faults of ours it fails with a reason', async (t) => {
  const place = await createPlace(t)
  await place.database.commit(emails(10))
  let faults = 5
  const full: Commit = (writes) => {
    faults -= 1
    return faults >= 0 ? Promise.reject(new StorageFault('SQLITE_FULL', 'full')) : place.database.commit(writes)
  }
  const waiting = await request(place)
  const patient = runnerOf(t, place, full)
  await patient.start()
  t.match(await finished(place, waiting), { status: 'completed', rows: 10 })
  t.equal(patient.errors.length, 5)
  await patient.stop()

  const failing = await request(place)
  const wrong: Commit = (writes) =>
    writes.some(({ sql }) => sql.includes('cursor') && !sql.includes('error'))
      ? Promise.reject(new RangeError('of ours'))
      : place.database.commit(writes)
  const runner = runnerOf(t, place, wrong)
  await runner.start()
  t.match(await finished(place, failing), { status: 'failed', error: 'internal' })
  t.equal(runner.errors.length, 3, 'it is tried three times')
  t.match(runner.errors[0], { err: { name: 'RangeError' }, export: failing.id })
})
