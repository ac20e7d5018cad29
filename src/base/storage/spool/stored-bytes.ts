/**
 * The bytes of a message as reads select them, wherever they are stored: in SQLite in the row or in a spool file, in
 * PostgreSQL always in the row.
 */
import { isDeepStrictEqual } from 'node:util'
import { type RawBuilder, sql } from 'kysely'
import { integerOf } from '../db/dialect.js'
import { pickByEngine } from '../db/engine.js'
import { type PreparedRead, type Read, readTogether } from '../db/prepared.js'
import { LostBytes } from '../db/write.js'

/** Fails with `LostBytes` where a spool file lacks them, or they are not those that were written to one. */
export function storedBytes(): RawBuilder<Buffer> {
  return pickByEngine({ sqlite: sql.raw<Buffer>(BYTES_IN_SPOOL_OR_ROW), postgres: sql<Buffer>`raw` })
}

/** The same as a word of SQLite. */
export const BYTES_IN_SPOOL_OR_ROW = `case
  when spool_file is not null then spooled_bytes(spool_file, spool_at, spool_bytes, spool_crc)
  when spool_crc is not null then checked_bytes(raw, spool_crc) else raw end`

/** The first bytes. They are checked only if they are all bytes, because the checksum is that of all. */
export function storedHead(most: number): RawBuilder<Buffer> {
  const limit = sql.lit(most)
  const headInSpoolOrRow = sql<Buffer>`case
    when spool_file is not null then spooled_bytes(spool_file, spool_at, min(spool_bytes, ${limit}),
      case when spool_bytes <= ${limit} then spool_crc end)
    when spool_crc is not null and length(raw) <= ${limit} then checked_bytes(raw, spool_crc)
    else substr(raw, 1, ${limit}) end`
  return pickByEngine({ sqlite: headInSpoolOrRow, postgres: sql<Buffer>`substr(raw, 1, ${limit})` })
}

/** The number of bytes, which is known without reading them. */
export function storedSize(): RawBuilder<number> {
  return pickByEngine({
    sqlite: sql<number>`coalesce(spool_bytes, length(raw))`,
    postgres: sql<number>`length(raw)`,
  })
}

/** `readStoredBytes` selects it before and after it reads the bytes. */
export const storedPlace = ['spool_file', 'spool_at'] as const

interface StoredPlace {
  readonly spool_file: number | null
  readonly spool_at: number | null
  readonly size: number
}

/** A piece of the bytes of a row, in PostgreSQL. The first byte is at 0. */
export interface PieceAt {
  readonly at: number
}

export function storedPiece(at: number): RawBuilder<Buffer> {
  return sql<Buffer>`substr(raw, cast(${integerOf(at)} as integer) + 1, ${sql.lit(PIECE_BYTES)})`
}

/** Bytes of a message that is read on the main thread. */
const MAX_READ_HERE = 131_072
/** Bytes of a piece, which comes from the server as text, and is decoded on the main thread. */
const PIECE_BYTES = 262_144
/** Pieces that are asked for at a time. */
const PIECES_AT_ONCE = 2

interface ReadsOfBytes<Key> {
  readonly place: PreparedRead<Key, StoredPlace[]>
  readonly bytes: PreparedRead<Key, { readonly raw: Buffer }[]>
  readonly piece: PreparedRead<Key & PieceAt, { readonly raw: Buffer }[]>
}

/**
 * The bytes of a row. Undefined if there is none. Large ones do not block the main thread: they are read on a thread of
 * SQLite, or piece by piece from PostgreSQL.
 */
export async function readStoredBytes<Key>(read: Read, key: Key, row: ReadsOfBytes<Key>): Promise<Buffer | undefined> {
  const [before] = await row.place(read, key)
  if (before === undefined) return undefined
  if (before.size <= MAX_READ_HERE) return (await row.bytes(read, key))[0]?.raw
  return pickByEngine({ sqlite: readOnThread<Key>, postgres: readPieces<Key> })(read, key, row, before)
}

/**
 * Until the bytes are read, the row may be deleted or folded, which happens at most once, and its place in a spool file
 * overwritten (`sweep.ts`). In this case they are read again.
 */
async function readOnThread<Key>(
  read: Read,
  key: Key,
  row: ReadsOfBytes<Key>,
  before: StoredPlace,
): Promise<Buffer | undefined> {
  const [found] = await row.bytes.large(read, key)
  const isSame = isDeepStrictEqual((await row.place(read, key))[0], before)
  return isSame ? found?.raw : readStoredBytes(read, key, row)
}

/** The bytes of a row never change, but the row may be deleted meanwhile. */
async function readPieces<Key>(
  read: Read,
  key: Key,
  row: ReadsOfBytes<Key>,
  { size }: StoredPlace,
): Promise<Buffer | undefined> {
  const bytes = Buffer.allocUnsafe(size)
  const places = Array.from({ length: Math.ceil(size / PIECE_BYTES) }, (_, number) => number * PIECE_BYTES)
  for (let next = 0; next < places.length; next += PIECES_AT_ONCE) {
    const asked = places.slice(next, next + PIECES_AT_ONCE)
    const found = await readTogether(
      read,
      asked.map((at) => row.piece.with({ ...key, at })),
    )
    for (const [index, [piece]] of found.entries()) {
      if (piece === undefined) return undefined
      const at = asked[index] ?? 0
      // Memory that no piece has filled may hold what belongs to others.
      if (piece.raw.length !== Math.min(PIECE_BYTES, size - at)) throw new LostBytes('the bytes are not all there')
      piece.raw.copy(bytes, at)
    }
  }
  return bytes
}
