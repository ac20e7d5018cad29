/**
 * Stores the file of an export for one run of it, as long as no other run changes it.
 *
 * An export that changes nodes may run on both for a moment. Each commit asserts what the run knows: the bytes of the
 * record, and which piece is the last. So the pieces of two runs never get into one file, and none of a file that goes
 * on is removed. A run that misses ends; the next one continues after what is stored.
 */
import type { Store } from '../../base/storage/db/database.js'
import { takeTurn, WriteConflict } from '../../base/storage/db/write.js'
import { type ExportPiece, lastPiece, removePieces, storePiece } from './export-chunks.js'
import type { EndReport, PieceReport } from './export-protocol.js'
import { advanceExport, completeExport, type ExportRef, type ExportRow, requireBytes } from './export-records.js'

const turnOf = ({ id }: ExportRef): string => `file of export ${id}`

export class ExportFile {
  private constructor(
    private readonly store: Store,
    private readonly ref: ExportRef,
    /** The bytes of the record. */
    private from: number,
    /** Where the last piece begins, or -1 if there is none. */
    private last: number,
  ) {}

  /** Removes what is behind the stored progress, since it is made again. Rejects with WriteConflict, as all methods do. */
  static async resume(store: Store, row: ExportRow, signal?: AbortSignal): Promise<ExportFile> {
    const { id, workspace_id: workspaceId, bytes: from } = row
    const ref = { id, workspaceId }
    const commit: Store['commit'] = (writes) =>
      store.commit(takeTurn(turnOf(ref), [requireBytes({ ...ref, from }), ...writes]))
    await removePieces({ read: store.read, commit }, ref, { from, ...(signal === undefined ? {} : { signal }) })
    const last = (await lastPiece(store.read, ref))[0]?.start ?? -1
    if (last >= from) throw new WriteConflict(`another run of export ${id} has stored a piece`)
    return new ExportFile(store, ref, from, last)
  }

  async add(piece: PieceReport): Promise<void> {
    const { ref, from, last } = this
    const advanced = advanceExport({ ...ref, from, last, ...piece.progress })
    await this.store.commit(takeTurn(turnOf(ref), [advanced, ...storePiece(ref, piece)]))
    this.noteStored(piece, piece.progress.bytes)
  }

  async complete(end: EndReport, at: number): Promise<void> {
    const { ref, from, last } = this
    const { rows, bytes } = end.progress
    const completed = completeExport({ ...ref, from, last, rows, bytes, at })
    await this.store.commit(takeTurn(turnOf(ref), [completed, ...storePiece(ref, end)]))
    this.noteStored(end, bytes)
  }

  private noteStored({ start, bytes }: ExportPiece, upTo: number): void {
    this.from = upTo
    if (bytes.length > 0) this.last = start
  }
}
