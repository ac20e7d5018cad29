/**
 * The files of exports, which the database stores in pieces.
 *
 * A piece is stored together with the progress of its record, which must be there. The record is removed first, so there
 * may be pieces without a record, which the next sweep removes.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { ReadableFile } from '../../base/platform/readable-file.js'
import type { Store } from '../../base/storage/db/database.js'
import { prepareRead, prepareWrite, type Read } from '../../base/storage/db/prepared.js'
import type { Write } from '../../base/storage/db/write.js'
import { anyExportById, type ExportRef, type ExportRow } from './export-records.js'

const insertChunk = prepareWrite<ExportRef & { start: number; bytes: Buffer }>(({ db, slot }) =>
  db.insertInto('export_chunks').values({
    workspace_id: slot('workspaceId'),
    export_id: slot('id'),
    start_at: slot('start'),
    bytes: slot('bytes'),
  }),
)

export interface ExportPiece {
  /** The number of bytes before it. */
  readonly start: number
  readonly bytes: Uint8Array
}

/** Stores a piece, if it has any bytes. Commit it with a write that requires the record. */
export function storePiece(ref: ExportRef, { start, bytes }: ExportPiece): Write[] {
  const { buffer, byteOffset, length } = bytes
  return length === 0 ? [] : [insertChunk({ ...ref, start, bytes: Buffer.from(buffer, byteOffset, length) })]
}

const chunkAt = prepareRead<ExportRef & { at: number }>()(({ db, slot }) =>
  db
    .selectFrom('export_chunks')
    .select(['start_at', 'bytes'])
    .where('workspace_id', '=', slot('workspaceId'))
    .where('export_id', '=', slot('id'))
    .where('start_at', '<=', slot('at'))
    .orderBy('start_at', 'desc')
    .limit(1),
)

/** Reads one piece at a time. Once the export is removed, nothing is left to be read. */
export function openExport(
  read: Read,
  { id, workspace_id: workspaceId, bytes: size }: Pick<ExportRow, 'id' | 'workspace_id' | 'bytes'>,
): ReadableFile {
  let held: { readonly start: number; readonly bytes: Buffer } = { start: 0, bytes: Buffer.alloc(0) }
  const hasByte = (at: number): boolean => at >= held.start && at < held.start + held.bytes.length
  return {
    size,
    read: async (at, length) => {
      if (!hasByte(at)) {
        const [chunk] = await chunkAt(read, { id, workspaceId, at })
        held = { start: chunk?.start_at ?? 0, bytes: chunk?.bytes ?? Buffer.alloc(0) }
      }
      return hasByte(at) ? held.bytes.subarray(at - held.start, at - held.start + length) : Buffer.alloc(0)
    },
    close: async () => undefined,
  }
}

/** Finds where the last piece of a file begins. */
export const lastPiece = prepareRead<ExportRef>()(({ db, slot }) =>
  db
    .selectFrom('export_chunks')
    .select('start_at as start')
    .where('workspace_id', '=', slot('workspaceId'))
    .where('export_id', '=', slot('id'))
    .orderBy('start_at', 'desc')
    .limit(1),
)

/** Pieces that one commit removes. */
const REMOVED_PIECES = 20

const chunksFrom = prepareRead<ExportRef & { from: number }>()(({ db, slot }) =>
  db
    .selectFrom('export_chunks')
    .select('seq')
    .where('workspace_id', '=', slot('workspaceId'))
    .where('export_id', '=', slot('id'))
    .where('start_at', '>=', slot('from'))
    .orderBy('start_at')
    .limit(REMOVED_PIECES),
)

const removeChunk = prepareWrite<{ seq: number }>(({ db, slot }) =>
  db.deleteFrom('export_chunks').where('seq', '=', slot('seq')),
)

/** Removes the bytes of a file from this one on, in steps. It ends early if `signal` is aborted. */
export async function removePieces(
  { read, commit }: Store,
  ref: ExportRef,
  { from = 0, signal }: { readonly from?: number; readonly signal?: AbortSignal } = {},
): Promise<void> {
  while (signal?.aborted !== true) {
    const chunks = await chunksFrom(read, { ...ref, from })
    if (chunks.length === 0) return
    await commit(chunks.map(removeChunk))
  }
}

const nextWithChunks = prepareRead<ExportRef>()(({ db, slot }) =>
  db
    .selectFrom('export_chunks')
    .select(['workspace_id as workspaceId', 'export_id as id'])
    .where((eb) => eb(eb.refTuple('workspace_id', 'export_id'), '>', eb.tuple(slot('workspaceId'), slot('id'))))
    .orderBy('workspace_id')
    .orderBy('export_id')
    .limit(1),
)

/** Exports that are looked at before other work gets a turn. */
const STEP = 50

/** Removes the files whose record is gone, or says that the export has failed. */
export async function sweepPieces(store: Store, signal?: AbortSignal): Promise<void> {
  let ref: ExportRef | undefined = { workspaceId: '', id: '' }
  for (let looks = 1; ; looks += 1) {
    if (looks % STEP === 0) await nextTurn()
    ref = (await nextWithChunks(store.read, ref))[0]
    if (ref === undefined || signal?.aborted === true) return
    const [record] = await anyExportById(store.read, ref)
    if (record === undefined || record.status === 'failed') {
      await removePieces(store, ref, signal === undefined ? {} : { signal })
    }
  }
}
