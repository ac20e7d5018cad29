/**
 * Reads SQLite's write-ahead log: a header of 32 bytes, then frames of a header of 24 bytes and one page.
 *
 * A frame counts if its salts are those of the header and its checksum continues the one before it: what a restart of
 * the log or an unfinished write left behind does not. A commit ends with a frame that names the size of the database.
 */
export const WAL_HEADER_BYTES = 32
export const FRAME_HEADER_BYTES = 24

const MAGIC = 0x377f0682
const CHECKSUM_OFFSET = 16

export interface WalHeader {
  readonly pageSize: number
  /** The two salts, which change at each restart of the log. */
  readonly salts: string
  /** The words of checksums are big-endian. */
  readonly bigEndian: boolean
  readonly checksum: Checksum
}

/** Two unsigned words of 32 bits. */
export type Checksum = readonly [number, number]

/** Null if no header, or one that is not complete. */
export function parseWalHeader(bytes: Buffer): WalHeader | null {
  if (bytes.length < WAL_HEADER_BYTES) return null
  const magic = bytes.readUInt32BE(0)
  if (magic !== MAGIC && magic !== MAGIC + 1) return null
  const bigEndian = magic === MAGIC + 1
  const checksum = sumWords(bytes, 0, 24, [0, 0], bigEndian)
  if (checksum[0] !== bytes.readUInt32BE(24) || checksum[1] !== bytes.readUInt32BE(28)) return null
  return { pageSize: bytes.readUInt32BE(8), salts: bytes.toString('hex', 16, 24), bigEndian, checksum }
}

/** The checksum of SQLite over `length` bytes, a multiple of 8. */
function sumWords(bytes: Buffer, from: number, length: number, [a, b]: Checksum, bigEndian: boolean): Checksum {
  const view = new DataView(bytes.buffer, bytes.byteOffset + from, length)
  let first = a | 0
  let second = b | 0
  for (let at = 0; at < length; at += 8) {
    first = (first + view.getInt32(at, !bigEndian) + second) | 0
    second = (second + view.getInt32(at + 4, !bigEndian) + first) | 0
  }
  return [first >>> 0, second >>> 0]
}

interface Frame {
  /** Pages are counted from 1. */
  readonly page: number
  /** Pages of the database after the commit that ends with this frame, or 0 if the commit goes on. */
  readonly databasePages: number
  /** Where the page begins in the bytes. */
  readonly pageAt: number
}

/**
 * The frame at `at`, and the checksum up to its end. Null if there is no frame, or one that does not continue the log.
 */
export function readFrame(
  bytes: Buffer,
  at: number,
  header: WalHeader,
  before: Checksum,
): { readonly frame: Frame; readonly checksum: Checksum } | null {
  const pageAt = at + FRAME_HEADER_BYTES
  if (pageAt + header.pageSize > bytes.length) return null
  const page = bytes.readUInt32BE(at)
  if (page === 0 || bytes.toString('hex', at + 8, at + 16) !== header.salts) return null
  const { bigEndian, pageSize } = header
  const checksum = sumWords(bytes, pageAt, pageSize, sumWords(bytes, at, 8, before, bigEndian), bigEndian)
  if (checksum[0] !== bytes.readUInt32BE(at + CHECKSUM_OFFSET)) return null
  if (checksum[1] !== bytes.readUInt32BE(at + CHECKSUM_OFFSET + 4)) return null
  return { frame: { page, databasePages: bytes.readUInt32BE(at + 4), pageAt }, checksum }
}

/** The checksum that a frame states. It is that of the log up to the frame's end. */
export function statedChecksum(frame: Buffer): Checksum {
  return [frame.readUInt32BE(CHECKSUM_OFFSET), frame.readUInt32BE(CHECKSUM_OFFSET + 4)]
}

export function frameBytes({ pageSize }: Pick<WalHeader, 'pageSize'>): number {
  return FRAME_HEADER_BYTES + pageSize
}
