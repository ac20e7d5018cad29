/** Checks whether the spool files hold what the rows of a database name, and what was written. */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { crc32 } from 'node:zlib'
import type SQLite from 'better-sqlite3'
import { errorCodeOf, errorMessageOf } from '../../platform/errors.js'
import { type SpoolPlace, spooledTables, spoolFile } from '../db/spool-files.js'
import { StorageFault } from '../db/write.js'

type Checksum = { readonly id: string; readonly crc: number | null }
type Named = SpoolPlace & Checksum

interface SpoolProblem {
  readonly check: 'spool-file' | 'spool-overlap' | 'spool-bytes'
  readonly message: string
}

const MAX_EXAMPLES = 3
/** The number of changed messages that are listed one by one. */
const MAX_CHANGED = 100

/**
 * Reads all bytes whose checksum is known. The files must be held (`holdSpool`) from before the snapshot that `db` reads.
 * Throws a `StorageFault` if a file cannot be opened.
 */
export function findSpoolProblems(db: SQLite.Database, folder: string): SpoolProblem[] {
  const lacking: string[] = []
  const overlapping: string[] = []
  const changed: string[] = []
  const reader = new SpoolReader(folder)
  try {
    let before: SpoolPlace = { file: -1, at: 0, bytes: 0 }
    for (const named of db.prepare<[], Named>(NAMED_PLACES).iterate()) {
      const { file, at, bytes, id, crc } = named
      reader.open(file)
      if (file === before.file && at < before.at + before.bytes) overlapping.push(id)
      // Bytes of deleted messages may be gone already.
      if (at + bytes > reader.size) lacking.push(...(id === HOLE ? [] : [id]))
      else if (crc !== null) changed.push(...reader.compare(named, crc))
      before = named
    }
  } finally {
    reader.close()
  }
  return [
    ...describe('spool-file', 'rows whose bytes are not in their spool file', lacking),
    ...describe('spool-overlap', 'rows or deleted ranges that name the same bytes of a spool file', overlapping),
    ...describe(
      'spool-bytes',
      'messages that are not sent or shown, because their bytes are not those that were written',
      [...changed, ...findChangedRows(db)],
      MAX_CHANGED,
    ),
  ]
}

/** Stands for an id. */
const HOLE = 'deleted'

const idOf = (table: (typeof spooledTables)[number]): string => (table === 'raw_messages' ? 'email_id' : 'inbound_id')

const NAMED_PLACES = `${spooledTables
  .map(
    (table) => `select spool_file as file, spool_at as at, spool_bytes as bytes, ${idOf(table)} as id, spool_crc as crc
      from ${table} where spool_file is not null`,
  )
  .join(' union all ')} union all select file, at, bytes, '${HOLE}', null from spool_holes order by 1, 2`

/** Bytes that were folded, one message at a time. */
const FOLDED = spooledTables
  .map(
    (table) => `select ${idOf(table)} as id, raw, spool_crc as crc from ${table}
    where spool_file is null and spool_crc is not null`,
  )
  .join(' union all ')

function findChangedRows(db: SQLite.Database): string[] {
  const changed: string[] = []
  for (const { id, raw, crc } of db.prepare<[], Checksum & { readonly raw: Buffer }>(FOLDED).iterate()) {
    if (crc32(raw) !== crc) changed.push(`${id} (${raw.length} bytes in the database)`)
  }
  return changed
}

function describe(
  check: SpoolProblem['check'],
  what: string,
  found: readonly string[],
  most = MAX_EXAMPLES,
): SpoolProblem[] {
  if (found.length === 0) return []
  const examples = found.slice(0, most).join(', ')
  return [{ check, message: `${found.length} ${what}: ${examples}${found.length > most ? ', …' : ''}` }]
}

/** Reads one spool file after the other, in steps. */
class SpoolReader {
  private readonly step = Buffer.allocUnsafeSlow(1_048_576)
  private current: { readonly number: number; readonly descriptor: number | null } | null = null
  private bytes = 0

  constructor(private readonly folder: string) {}

  /** Bytes that the open file has, or 0 if the file is not there. */
  get size(): number {
    return this.bytes
  }

  open(number: number): void {
    if (this.current?.number === number) return
    this.close()
    const path = spoolFile(this.folder, number)
    try {
      const descriptor = openSync(path, 'r')
      this.current = { number, descriptor }
      this.bytes = fstatSync(descriptor).size
    } catch (error) {
      if (errorCodeOf(error) !== 'ENOENT')
        throw new StorageFault('SQLITE_CANTOPEN', `${path}: ${errorMessageOf(error)}`)
      this.current = { number, descriptor: null }
      this.bytes = 0
    }
  }

  /** Reads a range of the open file, and returns what is wrong with it. Empty if nothing is. */
  compare({ file, at, bytes, id }: Named, crc: number): readonly string[] {
    const place = `${bytes} bytes at ${at} of ${spoolFile(this.folder, file)}`
    try {
      return this.checksumOf(at, bytes) === crc ? [] : [`${id} (${place})`]
    } catch (error) {
      // The disk cannot read a sector, for example.
      return [`${id} (${place}: ${errorMessageOf(error)})`]
    }
  }

  private checksumOf(from: number, bytes: number): number {
    let crc = 0
    for (let done = 0; done < bytes; ) {
      const length = Math.min(this.step.length, bytes - done)
      const read = readSync(this.current?.descriptor ?? -1, this.step, 0, length, from + done)
      if (read === 0) throw new Error('the file became shorter')
      crc = crc32(this.step.subarray(0, read), crc)
      done += read
    }
    return crc
  }

  close(): void {
    if (this.current?.descriptor != null) closeSync(this.current.descriptor)
    this.current = null
    this.bytes = 0
  }
}
