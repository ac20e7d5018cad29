/**
 * A *spool file* holds the bytes of large messages outside of the database, in the folder `posthorn.db-spool`.
 *
 * A row of `raw_messages` or `inbound_raw` names its place: number of the file, offset, length. Bytes are only ever
 * appended to a file, and what was deleted is overwritten with zeros (`sweep.ts`). Numbers grow and are not used twice
 * while a row names one. The folder is named after its database, as SQLite names its log: the two belong together, even
 * if a database was renamed.
 */
import { closeSync, fstatSync, openSync, readdirSync, readSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import type SQLite from 'better-sqlite3'
import { errorCodeOf, errorMessageOf } from '../../platform/errors.js'
import { freeMemory } from '../../platform/memory/free-memory.js'
import { LostBytes, StorageFault } from './write.js'

/** Where the bytes of one message are. */
export interface SpoolPlace {
  readonly file: number
  readonly at: number
  readonly bytes: number
}

/** Where bytes were written just now, and their checksum. */
export interface WrittenPlace extends SpoolPlace {
  /** CRC-32. */
  readonly crc: number
}

/** The tables whose rows may name a place. */
export const spooledTables = ['raw_messages', 'inbound_raw'] as const

export function spoolFolder(databaseFile: string): string {
  return `${databaseFile}-spool`
}

/** The path, for example `0000000001.spool` in the folder. */
export function spoolFile(folder: string, number: number): string {
  return join(folder, `${String(number).padStart(10, '0')}.spool`)
}

/** The numbers of the files, ascending. */
export function listSpoolFiles(folder: string): readonly number[] {
  try {
    const found = readdirSync(folder).flatMap((name) => /^(\d{10,15})\.spool$/.exec(name)?.[1] ?? [])
    return found.map(Number).toSorted((one, other) => one - other)
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT') return []
    throw error
  }
}

/** Bytes of all files. */
export async function measureSpool(folder: string): Promise<number> {
  const sizes = await Promise.all(
    listSpoolFiles(folder).map((number) =>
      stat(spoolFile(folder, number)).then(
        ({ size }) => size,
        // A sweep has removed it.
        () => 0,
      ),
    ),
  )
  return sizes.reduce((sum, size) => sum + size, 0)
}

/** Does not check the bytes. Throws `LostBytes` unless all of them are there, or a `StorageFault` if that is not known now. */
function readPlace(folder: string, { file: number, at, bytes }: SpoolPlace): Buffer {
  const path = spoolFile(folder, number)
  const place = `${bytes} bytes at ${at} of ${path}`
  try {
    const file = openSync(path, 'r')
    try {
      // This comes before memory is reserved: a database that was restored may state any number.
      if (fstatSync(file).size < at + bytes) throw new LostBytes(`${place} are lost: it is too short`)
      return readWhole(file, at, Buffer.allocUnsafeSlow(bytes))
    } finally {
      closeSync(file)
    }
  } catch (error) {
    if (error instanceof LostBytes) throw error
    if (errorCodeOf(error) === 'ENOENT') throw new LostBytes(`${place} are lost: there is no such file`)
    throw new StorageFault('SQLITE_IOERR_READ', `${place}: ${errorMessageOf(error)}`)
  }
}

/** A place that cannot be read now is lost to the fold alone: a fault would fail all requests of its batch. */
function readToFold(folder: string, place: SpoolPlace): Buffer {
  try {
    return readPlace(folder, place)
  } catch (error) {
    if (error instanceof StorageFault) throw new LostBytes(error.message)
    throw error
  }
}

function readWhole(file: number, from: number, found: Buffer): Buffer {
  for (let read = 0; read < found.length; ) {
    const more = readSync(file, found, read, found.length - read, from + read)
    if (more === 0) throw new Error('the file became shorter')
    read += more
  }
  return found
}

const CHANGED = 'they are not the bytes that were written, their checksum differs'

/**
 * Gives the connection two functions, which run on its thread; a trigger or a view of the database cannot call them.
 * `spooled_bytes(file, at, bytes, crc)` reads a place, `checked_bytes(bytes, crc)` returns bytes of a row. Both throw
 * `LostBytes` where the bytes do not have the checksum. If `crc` is null, they are not checked, and bytes that cannot
 * be read now count as lost too.
 */
export function registerSpooledBytes(db: SQLite.Database, folder: string): void {
  // SQLite has its own copy when the statement returns.
  const freeLater = (found: Buffer): void => void setImmediate(() => freeMemory(found))
  const spooledBytes = (file: number, at: number, bytes: number, crc: number | null): Buffer => {
    const found = crc === null ? readToFold(folder, { file, at, bytes }) : readPlace(folder, { file, at, bytes })
    freeLater(found)
    if (crc === null || crc32(found) === crc) return found
    throw new LostBytes(`${bytes} bytes at ${at} of ${spoolFile(folder, file)} are lost: ${CHANGED}`)
  }
  const checkedBytes = (found: Buffer, crc: number): Buffer => {
    freeLater(found)
    if (crc32(found) === crc) return found
    throw new LostBytes(`${found.length} bytes of a message in the database are lost: ${CHANGED}`)
  }
  db.function('spooled_bytes', { directOnly: true }, spooledBytes)
  db.function('checked_bytes', { directOnly: true }, checkedBytes)
}
