/**
 * The file of an import. The database stores it in pieces before the request is answered, and removes it when the
 * import ends. The next start removes what a request that was cut off has left.
 */
import type { Store } from '../../base/storage/db/database.js'
import { prepareRead, prepareWrite, type Read } from '../../base/storage/db/prepared.js'
import type { Commit } from '../../base/storage/db/write.js'

export interface ImportRef {
  readonly id: string
  readonly workspaceId: string
}

/** Bytes of a piece. */
const PIECE_BYTES = 262_144
const PIECES_PER_COMMIT = 4

const insertPiece = prepareWrite<ImportRef & { place: number; bytes: Buffer }>(({ db, slot }) =>
  db.insertInto('import_chunks').values({
    workspace_id: slot('workspaceId'),
    import_id: slot('id'),
    place: slot('place'),
    bytes: slot('bytes'),
  }),
)

const selectPiece = prepareRead<ImportRef & { place: number }>()(({ db, slot }) =>
  db
    .selectFrom('import_chunks')
    .select('bytes')
    .where('workspace_id', '=', slot('workspaceId'))
    .where('import_id', '=', slot('id'))
    .where('place', '=', slot('place')),
)

const selectFirstPieces = prepareRead<ImportRef>()(({ db, slot }) =>
  db
    .selectFrom('import_chunks')
    .select('seq')
    .where('workspace_id', '=', slot('workspaceId'))
    .where('import_id', '=', slot('id'))
    .orderBy('place')
    .limit(PIECES_PER_COMMIT),
)

const removePiece = prepareWrite<{ seq: number }>(({ db, slot }) =>
  db.deleteFrom('import_chunks').where('seq', '=', slot('seq')),
)

/** The next import with stored pieces. */
const findNextWithPieces = prepareRead<ImportRef>()(({ db, slot }) =>
  db
    .selectFrom('import_chunks')
    .select(['workspace_id as workspaceId', 'import_id as id'])
    .where((eb) => eb(eb.refTuple('workspace_id', 'import_id'), '>', eb.tuple(slot('workspaceId'), slot('id'))))
    .orderBy('workspace_id')
    .orderBy('import_id')
    .limit(1),
)

/** Resolves when the complete file is on disk. */
export async function storeImportFile(commit: Commit, importRef: ImportRef, file: Buffer): Promise<void> {
  for (let at = 0; at < file.length; at += PIECE_BYTES * PIECES_PER_COMMIT) {
    const part = file.subarray(at, at + PIECE_BYTES * PIECES_PER_COMMIT)
    const writes = Array.from({ length: Math.ceil(part.length / PIECE_BYTES) }, (_, n) =>
      insertPiece({
        ...importRef,
        place: at / PIECE_BYTES + n,
        bytes: part.subarray(n * PIECE_BYTES, (n + 1) * PIECE_BYTES),
      }),
    )
    await commit(writes)
  }
}

/** Ends early if another process has removed the pieces. */
export async function* readImportFile(read: Read, importRef: ImportRef): AsyncGenerator<Buffer> {
  for (let n = 0; ; n += 1) {
    const [piece] = await selectPiece(read, { ...importRef, place: n })
    if (piece === undefined) return
    yield piece.bytes
  }
}

export async function removeImportFile({ read, commit }: Store, importRef: ImportRef): Promise<void> {
  for (;;) {
    const pieces = await selectFirstPieces(read, importRef)
    if (pieces.length === 0) return
    await commit(pieces.map(removePiece))
  }
}

/** Removes the files of imports that are not pending. Call it only at a start, while no request stores a file. */
export async function removeOrphanImports(
  records: Store,
  isUnderWay: (importRef: ImportRef) => Promise<boolean>,
  signal: AbortSignal,
): Promise<void> {
  let importRef: ImportRef | undefined = { workspaceId: '', id: '' }
  for (;;) {
    importRef = (await findNextWithPieces(records.read, importRef))[0]
    if (importRef === undefined || signal.aborted) return
    if (!(await isUnderWay(importRef))) await removeImportFile(records, importRef)
  }
}
