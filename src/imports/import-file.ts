/**
 * The file of an import, in pieces in the database: there before the request is answered, gone
 * when the import is over. What a request that was cut off has left, the next start removes.
 */
import { prepareRead, prepareWrite, type Read } from '../storage/prepared.js'
import type { Commit } from '../storage/writer/write.js'

export interface ImportPlace {
  readonly id: string
  readonly workspaceId: string
}

interface Records {
  readonly read: Read
  readonly commit: Commit
}

/** Bytes of a piece, and pieces of one commit. */
const PIECE = 262_144
const AT_ONCE = 4

const insertPiece = prepareWrite<ImportPlace & { place: number; bytes: Buffer }>(({ db, slot }) =>
  db.insertInto('import_chunks').values({
    workspace_id: slot('workspaceId'),
    import_id: slot('id'),
    place: slot('place'),
    bytes: slot('bytes'),
  }),
)

const pieceAt = prepareRead<ImportPlace & { place: number }>()(({ db, slot }) =>
  db
    .selectFrom('import_chunks')
    .select('bytes')
    .where('workspace_id', '=', slot('workspaceId'))
    .where('import_id', '=', slot('id'))
    .where('place', '=', slot('place')),
)

const firstPieces = prepareRead<ImportPlace>()(({ db, slot }) =>
  db
    .selectFrom('import_chunks')
    .select('seq')
    .where('workspace_id', '=', slot('workspaceId'))
    .where('import_id', '=', slot('id'))
    .orderBy('place')
    .limit(AT_ONCE),
)

const removePiece = prepareWrite<{ seq: number }>(({ db, slot }) =>
  db.deleteFrom('import_chunks').where('seq', '=', slot('seq')),
)

/** The next import of which there are pieces. */
const nextWithPieces = prepareRead<ImportPlace>()(({ db, slot }) =>
  db
    .selectFrom('import_chunks')
    .select(['workspace_id as workspaceId', 'import_id as id'])
    .where((eb) => eb(eb.refTuple('workspace_id', 'import_id'), '>', eb.tuple(slot('workspaceId'), slot('id'))))
    .orderBy('workspace_id')
    .orderBy('import_id')
    .limit(1),
)

/** Resolves when all of it is on disk. */
export async function keepFile(commit: Commit, place: ImportPlace, file: Buffer): Promise<void> {
  for (let at = 0; at < file.length; at += PIECE * AT_ONCE) {
    const part = file.subarray(at, at + PIECE * AT_ONCE)
    const writes = Array.from({ length: Math.ceil(part.length / PIECE) }, (_, n) =>
      insertPiece({ ...place, place: at / PIECE + n, bytes: part.subarray(n * PIECE, (n + 1) * PIECE) }),
    )
    await commit(writes)
  }
}

/** Ends early where the pieces are gone. */
export async function* fileOf(read: Read, place: ImportPlace): AsyncGenerator<Buffer> {
  for (let n = 0; ; n += 1) {
    const [piece] = pieceAt(read, { ...place, place: n })
    if (piece === undefined) return
    yield piece.bytes
  }
}

export async function removeFile({ read, commit }: Records, place: ImportPlace): Promise<void> {
  for (;;) {
    const pieces = firstPieces(read, place)
    if (pieces.length === 0) return
    await commit(pieces.map(removePiece))
  }
}

/** Files of imports that are not under way. At a start, when no request is bringing one. */
export async function removeLeftFiles(
  records: Records,
  isUnderWay: (place: ImportPlace) => boolean,
  signal: AbortSignal,
): Promise<void> {
  let place: ImportPlace | undefined = { workspaceId: '', id: '' }
  for (;;) {
    place = nextWithPieces(records.read, place)[0]
    if (place === undefined || signal.aborted) return
    if (!isUnderWay(place)) await removeFile(records, place)
  }
}
