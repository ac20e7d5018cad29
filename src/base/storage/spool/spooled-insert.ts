/**
 * Decides which values of a batch go to a spool file, and makes the statements that then store their places.
 *
 * A statement says nothing about it: it inserts one row into `raw_messages` or `inbound_raw` with the bytes as its last
 * value, and the writer runs it with a place instead of the bytes.
 */
import { createLruCache } from '../../platform/lru-cache.js'
import { MessageBytes } from '../db/message-bytes.js'
import type { WrittenPlace } from '../db/spool-files.js'
import type { Write } from '../db/write.js'
import { countBytes, type SpooledValue } from './spool-writer.js'

/** A value of so many bytes may be spooled. Below that, a row of a few pages costs less than a second file. */
const SPOOL_FROM_BYTES = 16_384
/** A batch with so many bytes of such values is spooled. Below that, the second fdatasync costs more than it saves. */
const SPOOL_BATCH_BYTES = 131_072

/** Matches an insertion into the `spooledTables`. */
const spooledInsert = /^(insert into "(?:raw_messages|inbound_raw)" \([^()]*"raw")(\) values \([?, ]*\?)\)$/

/** The statement that stores a place, or null if the values of this one are not spooled. */
export function toSpooledInsert(sql: string): string | null {
  const spooled = sql.replace(spooledInsert, '$1, "spool_file", "spool_at", "spool_bytes", "spool_crc"$2, ?, ?, ?, ?)')
  return spooled === sql ? null : spooled
}

/** It has few texts: only those of statements with large values. */
const texts = createLruCache<{ readonly spooled: string | null }>({ max: 100 })

function spooledTextOf(sql: string): string | null {
  const known = texts.get(sql)
  if (known !== undefined) return known.spooled
  const spooled = toSpooledInsert(sql)
  texts.set(sql, { spooled })
  return spooled
}

const NO_BYTES = Buffer.alloc(0)

/** The write that stores the place of its bytes instead of them. */
export function withPlace(write: Write, { file, at, bytes, crc }: WrittenPlace): Write {
  const sql = spooledTextOf(write.sql) ?? write.sql
  return { ...write, sql, parameters: [...write.parameters.slice(0, -1), NO_BYTES, file, at, bytes, crc] }
}

/** The writes with spooled bytes, and these bytes. Empty if the batch has too few. */
export function listSpooled(requests: readonly (readonly Write[])[]): ReadonlyMap<Write, SpooledValue> {
  const found = new Map<Write, SpooledValue>()
  let sum = 0
  for (const write of requests.flat()) {
    const pieces = toPieces(write.parameters.at(-1))
    if (pieces === null || spooledTextOf(write.sql) === null) continue
    found.set(write, pieces)
    sum += countBytes(pieces)
  }
  return sum < SPOOL_BATCH_BYTES ? new Map() : found
}

/** Null if there are no bytes, or too few to be spooled. */
function toPieces(value: unknown): SpooledValue | null {
  if (value instanceof Uint8Array) return value.byteLength < SPOOL_FROM_BYTES ? null : [value]
  return value instanceof MessageBytes && value.length >= SPOOL_FROM_BYTES ? value.pieces : null
}
