/** Two runs never write into one file: the one that does not know what the other has stored or removed misses. */
import t, { type Test } from 'tap'
import type { Database } from '../../../src/base/storage/db/database.js'
import { WriteConflict } from '../../../src/base/storage/db/write.js'
import { ExportFile } from '../../../src/records/exports/export-file.js'
import type { ExportProgress, PieceReport } from '../../../src/records/exports/export-protocol.js'
import { type ExportRef, type ExportRow, exportById } from '../../../src/records/exports/export-records.js'
import { requestExport } from '../../../src/records/exports/request-export.js'
import { temporaryDatabase } from '../../helpers/database/database.js'

interface Place {
  /** Begins a run from the stored row, or from an earlier one. */
  readonly resume: (from?: ExportRow) => Promise<ExportFile>
  readonly pieces: () => Promise<readonly string[]>
  readonly row: () => Promise<ExportRow | undefined>
}

async function createPlace(t: Test): Promise<Place> {
  const { database } = await temporaryDatabase(t)
  const workspace = 'insert into workspaces (id, name, slug, plan, created_at) values (?, ?, ?, ?, 0)'
  await database.commit([{ sql: workspace, parameters: ['ws_1', 'ws_1', 'ws_1', 'free'] }])
  const range = { type: 'email_logs', from_at: 0, to_at: 9, domain: null, broadcast_id: null, outcome: null } as const
  const { id } = await requestExport(database, { workspace_id: 'ws_1', ...range }, 9)
  const ref: ExportRef = { id, workspaceId: 'ws_1' }
  const row = async () => (await exportById(database.read, ref))[0]
  const resume = async (from?: ExportRow): Promise<ExportFile> => {
    const found = from ?? (await row())
    if (found === undefined) throw new Error('the export is gone')
    return ExportFile.resume(database, found)
  }
  return { resume, row, pieces: () => readPieces(database) }
}

async function readPieces({ read }: Database): Promise<readonly string[]> {
  const rows = await read<{ start: number; bytes: Buffer }>(
    'select start_at as start, bytes from export_chunks order by start_at',
    [],
  )
  return rows.map(({ start, bytes }) => `${start} ${bytes.toString()}`)
}

const progress = (bytes: number): ExportProgress => ({ cursor: `c${bytes}`, rows: bytes, bytes, progress: 1 })

/** `upTo` is the end of the last step in the file. */
const piece = (start: number, text: string, upTo: number): PieceReport => ({
  kind: 'piece',
  start,
  bytes: Buffer.from(text),
  progress: progress(upTo),
})

t.test('a run stores its pieces one behind the other', async (t) => {
  const { resume, pieces, row } = await createPlace(t)
  const file = await resume()
  await file.add(piece(0, 'ab', 0))
  await file.add(piece(2, 'cd', 4))
  await file.add(piece(4, '', 4))
  await file.complete({ ...piece(4, 'e', 5), kind: 'end' }, 7)
  t.same(await pieces(), ['0 ab', '2 cd', '4 e'])
  t.match(await row(), { status: 'completed', bytes: 5, finished_at: 7 })
})

t.test('a run misses when another one has come further', async (t) => {
  const { resume, pieces, row } = await createPlace(t)
  const [old, taker] = [await resume(), await resume()]
  await taker.add(piece(0, 'abc', 3))
  await t.rejects(old.add(piece(0, 'ab', 2)), WriteConflict)
  await taker.add(piece(3, 'd', 4))
  await t.rejects(old.complete({ ...piece(0, 'abcde', 5), kind: 'end' }, 7), WriteConflict)
  t.same(await pieces(), ['0 abc', '3 d'])
  t.match(await row(), { status: 'processing', bytes: 4, cursor: 'c4' })
})

t.test('a run misses when another one has removed its last piece', async (t) => {
  const { resume, pieces } = await createPlace(t)
  const old = await resume()
  await old.add(piece(0, 'ab', 0))
  const taker = await resume()
  t.same(await pieces(), [], 'it ended within a step, so it is made again')
  await t.rejects(old.add(piece(2, 'cd', 4)), WriteConflict, 'which would leave a gap')
  await taker.add(piece(0, 'abcd', 4))
  t.same(await pieces(), ['0 abcd'])
})

t.test('a run that begins removes nothing of one that has come further', async (t) => {
  const { resume, pieces, row } = await createPlace(t)
  const old = await resume()
  const before = await row()
  await old.add(piece(0, 'ab', 2))
  t.same(await pieces(), ['0 ab'])
  await t.rejects(resume(before), WriteConflict)
  t.same(await pieces(), ['0 ab'])
  await old.add(piece(2, 'cd', 4))
  await (await resume()).complete({ ...piece(4, '', 4), kind: 'end' }, 7)
  t.same(await pieces(), ['0 ab', '2 cd'])
})
