/**
 * Unpacks what a report comes in: gzip (RFC 1952), or the one file of a ZIP archive, recognized by their first bytes;
 * anything else is plain.
 *
 * Inflating stops at the limit, which is lower for what is small, so a bomb costs no more than a report of its size. The file of an archive is found by
 * the central directory, which has the sizes that a local header may lack. Several files, encryption, other methods
 * than "stored" and "deflated", and ZIP64 are refused.
 */
import { gunzipSync, inflateRawSync } from 'node:zlib'
import { UnreadableReport } from './unreadable-report.js'

/** Bytes of a report, unpacked. */
export const MAX_UNPACKED = 33_554_432
/** The same for each packed one; reports have some thirty. A small one may have more, up to `MAX_SMALL`. */
const MAX_RATIO = 150
const MAX_SMALL = 2_097_152

const END_SIGNATURE = 0x06054b50
const ENTRY_SIGNATURE = 0x02014b50
const LOCAL_SIGNATURE = 0x04034b50
const END_LENGTH = 22
const ENTRY_LENGTH = 46
const LOCAL_LENGTH = 30
/** A comment may follow the end record. */
const MAX_COMMENT = 65_535
const STORED = 0
const DEFLATED = 8

export function isGzip(bytes: Buffer): boolean {
  return bytes.length > 2 && bytes[0] === 0x1f && bytes[1] === 0x8b
}

export function isZip(bytes: Buffer): boolean {
  return bytes.length > 4 && bytes.readUInt32LE(0) === LOCAL_SIGNATURE
}

/** Throws `UnreadableReport`. */
export function unpack(bytes: Buffer, max = MAX_UNPACKED): Buffer {
  const maxInflated = Math.min(max, Math.max(MAX_SMALL, bytes.length * MAX_RATIO))
  if (isGzip(bytes)) return inflate(() => gunzipSync(bytes, { maxOutputLength: maxInflated }), maxInflated)
  if (isZip(bytes)) return unpackArchive(bytes, maxInflated)
  if (bytes.length > max) throw buildTooLarge(max)
  return bytes
}

function inflate(run: () => Buffer, max: number): Buffer {
  try {
    return run()
  } catch (error) {
    if (error instanceof RangeError) throw buildTooLarge(max)
    throw new UnreadableReport(`it cannot be unpacked: ${error instanceof Error ? error.message : ''}`)
  }
}

function buildTooLarge(max: number): UnreadableReport {
  return new UnreadableReport(`it has more than ${max} octets when it is unpacked`)
}

function unpackArchive(bytes: Buffer, max: number): Buffer {
  const end = findEnd(bytes)
  if (bytes.readUInt16LE(end + 10) !== 1) throw new UnreadableReport('an archive that does not have one file')
  const entry = bytes.readUInt32LE(end + 16)
  requireRoom(bytes, entry, ENTRY_LENGTH)
  if (bytes.readUInt32LE(entry) !== ENTRY_SIGNATURE) throw new UnreadableReport('an archive without its directory')
  const [flags, method] = [bytes.readUInt16LE(entry + 8), bytes.readUInt16LE(entry + 10)]
  if ((flags & 1) !== 0) throw new UnreadableReport('an archive that is encrypted')
  const [packedLength, length] = [bytes.readUInt32LE(entry + 20), bytes.readUInt32LE(entry + 24)]
  if (length > max) throw buildTooLarge(max)
  const packed = sliceContent(bytes, bytes.readUInt32LE(entry + 42), packedLength)
  if (method === STORED) return packed
  if (method !== DEFLATED) throw new UnreadableReport(`an archive with the compression method ${method}`)
  return inflate(() => inflateRawSync(packed, { maxOutputLength: max }), max)
}

/** The last end record; the comment after it may not look like one. */
function findEnd(bytes: Buffer): number {
  const first = Math.max(0, bytes.length - END_LENGTH - MAX_COMMENT)
  for (let at = bytes.length - END_LENGTH; at >= first; at -= 1) {
    if (bytes.readUInt32LE(at) === END_SIGNATURE) return at
  }
  throw new UnreadableReport('an archive that is cut off')
}

/** Behind the local header, whose name and extra field have lengths of their own. */
function sliceContent(bytes: Buffer, local: number, length: number): Buffer {
  requireRoom(bytes, local, LOCAL_LENGTH)
  if (bytes.readUInt32LE(local) !== LOCAL_SIGNATURE) throw new UnreadableReport('an archive without its file')
  const start = local + LOCAL_LENGTH + bytes.readUInt16LE(local + 26) + bytes.readUInt16LE(local + 28)
  requireRoom(bytes, start, length)
  return bytes.subarray(start, start + length)
}

function requireRoom(bytes: Buffer, at: number, length: number): void {
  if (at + length > bytes.length) throw new UnreadableReport('an archive that is cut off')
}
