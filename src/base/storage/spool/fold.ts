/**
 * To *fold* a spool file is to put its bytes back into their rows, in commits of bounded size: all files where none are
 * to be, or one that is mostly empty.
 *
 * A commit stores the bytes, removes the place, and notes a hole. A crash leaves the row as it was or folded. The sweep
 * overwrites the hole as that of a deleted row: when the main thread has read it, and no other process holds the files.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type SQLite from 'better-sqlite3'
import type { Store } from '../db/database.js'
import { type SpoolPlace, spooledTables } from '../db/spool-files.js'
import { LostBytes, type Write } from '../db/write.js'

/** Limits one commit. A message that is larger gets its own commit. */
const COMMIT_BYTES = 8_388_608
const COMMIT_ROWS = 200

/** Limits one commit while others wait for it. It is as much as a step of the sweep. */
const STEP_BYTES = 4_194_304

interface FoldOptions {
  /** Called and awaited after each commit, with the bytes that are folded and their total. */
  readonly onProgress?: (bytes: number, total: number) => void | Promise<void>
  /** The bytes of a row are lost, and the row stays as it is. If it is absent, the fold rejects with `LostBytes`. */
  readonly onLost?: (table: string, loss: LostBytes, place: SpoolPlace) => void
}

type SpooledRow = SpoolPlace & { readonly place: number }

/** Resolves to the number of bytes. */
export async function foldSpool(store: Store, { onProgress, onLost }: FoldOptions = {}): Promise<number> {
  const total = (await store.read<{ bytes: number | null }>(SUM_OF_BYTES, []))[0]?.bytes ?? 0
  let folded = 0
  for await (const bytes of foldRows(store, { from: 0, to: Number.MAX_SAFE_INTEGER, most: COMMIT_BYTES }, onLost)) {
    folded += bytes
    await onProgress?.(folded, total)
    await nextTurn()
  }
  return folded
}

/** Yields the bytes of each commit. A message whose bytes are lost stays as it is: its delivery and `verify-data` say so. */
export function foldFile(store: Store, file: number): AsyncGenerator<number> {
  return foldRows(store, { from: file, to: file, most: STEP_BYTES }, () => undefined)
}

/** Files, and bytes of one commit. */
interface FoldRange {
  readonly from: number
  readonly to: number
  readonly most: number
}

async function* foldRows(
  { read, commit }: Store,
  range: FoldRange,
  onLost: FoldOptions['onLost'],
): AsyncGenerator<number> {
  for (const table of spooledTables) {
    let after: Pick<SpoolPlace, 'file' | 'at'> = { file: range.from, at: -1 }
    for (
      let rows = await nextRows(read, table, after, range);
      rows.length > 0;
      rows = await nextRows(read, table, after, range)
    ) {
      await commit(rows.map((row) => toFold(table, row))).catch(async (error: unknown) => {
        if (onLost === undefined || !(error instanceof LostBytes)) throw error
        for (const row of rows) await foldAlone(commit, table, row, onLost)
      })
      after = rows.at(-1) ?? after
      yield rows.reduce((sum, { bytes }) => sum + bytes, 0)
    }
  }
}

async function foldAlone(
  commit: Store['commit'],
  table: string,
  row: SpooledRow,
  onLost: NonNullable<FoldOptions['onLost']>,
): Promise<void> {
  await commit([toFold(table, row)]).catch((error: unknown) => {
    if (!(error instanceof LostBytes)) throw error
    onLost(table, error, row)
  })
}

const SUM_OF_BYTES = `select sum(bytes) as bytes from (${spooledTables
  .map((table) => `select sum(spool_bytes) as bytes from ${table} where spool_file is not null`)
  .join(' union all ')})`

/** Bytes that rows name. 0 if the database is of a version without spool files. */
export function countSpooledBytes(db: SQLite.Database): number {
  return mayNameSpool(db) ? (db.prepare<[], number | null>(SUM_OF_BYTES).pluck().get() ?? 0) : 0
}

function mayNameSpool(db: SQLite.Database): boolean {
  return db.prepare(`select 1 from sqlite_schema where type = 'table' and name = 'spool_holes'`).get() !== undefined
}

async function nextRows(
  read: Store['read'],
  table: string,
  { file, at }: Pick<SpoolPlace, 'file' | 'at'>,
  { to, most }: FoldRange,
): Promise<readonly SpooledRow[]> {
  const sql = `select rowid as place, spool_file as file, spool_at as at, spool_bytes as bytes from ${table}
    where spool_file <= ? and (spool_file, spool_at) > (?, ?) order by spool_file, spool_at limit ${COMMIT_ROWS}`
  let sum = 0
  return (await read<SpooledRow>(sql, [to, file, at])).filter(({ bytes }, place) => {
    sum += bytes
    return place === 0 || sum <= most
  })
}

/**
 * Changes nothing if the row is gone by then. The bytes are not checked here: their checksum stays in the row, so that
 * a damaged message does not hinder the copy of all others, and is still recognized there.
 */
function toFold(table: string, { place, file, at }: SpooledRow): Write {
  const sql = `update ${table} set raw = spooled_bytes(spool_file, spool_at, spool_bytes, null),
    spool_file = null, spool_at = null, spool_bytes = null where rowid = ? and spool_file = ? and spool_at = ?`
  return { sql, parameters: [place, file, at] }
}

/**
 * Puts the bytes into the rows of a copy of a database that nothing else uses, through a connection that reads the
 * spool files of the original. If it fails, the copy is of no use: no journal is kept. Does nothing if the copy is of a
 * version without spool files.
 */
export async function foldCopy(db: SQLite.Database, onProgress?: FoldOptions['onProgress']): Promise<void> {
  if (!mayNameSpool(db)) return
  db.pragma('journal_mode = OFF')
  db.pragma('synchronous = OFF')
  await foldSpool(storeOf(db), onProgress === undefined ? {} : { onProgress })
  db.exec('delete from spool_holes')
}

function storeOf(db: SQLite.Database): Store {
  return {
    read: <Row>(sql: string, parameters: readonly unknown[]) => db.prepare<unknown[], Row>(sql).all(...parameters),
    commit: async (writes) => {
      const run = (): void => {
        for (const { sql, parameters } of writes) db.prepare<unknown[]>(sql).run(...parameters)
      }
      db.transaction(run)()
    },
  }
}
