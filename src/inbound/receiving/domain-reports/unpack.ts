/**
 * Unpacks what a report comes in: gzip (RFC 1952), or the files of a ZIP archive, recognized by their first bytes;
 * anything else is plain.
 *
 * Inflating stops at the limit, which is lower for small files, so a bomb costs no more than a report of its size. gzip
 * has one or more members; octets after them, such as the line end that some senders add, are passed over. The files of
 * an archive are found by the central directory, which has the sizes that a local header may lack. Folders are passed
 * over. Entries that are encrypted or have another method than "stored" and "deflated" are passed over too, unless
 * there are no others. ZIP64 is refused. Limits: 1,000 members, 100 entries of an archive.
 */
import { crc32, inflateRawSync } from 'node:zlib'
import { ownValueOf } from '../../../base/platform/records.js'
import { UnreadableReport } from './unreadable-report.js'

/** Bytes of a report, unpacked. */
export const MAX_UNPACKED = 33_554_432
/** The same for each packed one; reports have some thirty. A small one may have more, up to `MAX_SMALL`. */
const MAX_RATIO = 150
const MAX_SMALL = 2_097_152

/** A member costs some microseconds, however little it holds. */
const MAX_MEMBERS = 1_000
const MEMBER_HEADER = 10
/** Checksum and length behind the content of a member. */
const MEMBER_TRAILER = 8

const END_SIGNATURE = 0x06054b50
const ENTRY_SIGNATURE = 0x02014b50
const LOCAL_SIGNATURE = 0x04034b50
const END_LENGTH = 22
const ENTRY_LENGTH = 46
const LOCAL_LENGTH = 30
const MAX_ENTRIES = 100
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

/** The files in `bytes`, together no longer than `max`. Throws `UnreadableReport`. */
export function unpack(bytes: Buffer, max = MAX_UNPACKED): readonly Buffer[] {
  const maxInflated = Math.min(max, Math.max(MAX_SMALL, bytes.length * MAX_RATIO))
  if (isGzip(bytes)) return [unpackMembers(bytes, maxInflated)]
  if (isZip(bytes)) return unpackArchive(bytes, maxInflated)
  if (bytes.length > max) throw buildTooLarge(max)
  return [bytes]
}

function unpackMembers(bytes: Buffer, max: number): Buffer {
  const contents: Buffer[] = []
  let [at, left] = [0, max]
  while (isGzip(bytes.subarray(at))) {
    if (contents.length === MAX_MEMBERS) throw new UnreadableReport(`gzip with more than ${MAX_MEMBERS} members`)
    const start = findMemberContent(bytes, at)
    const { content, read } = inflate(bytes.subarray(start), left, max)
    at = start + read + MEMBER_TRAILER
    if (at > bytes.length) throw new UnreadableReport('it cannot be unpacked: it is cut off')
    if (bytes.readUInt32LE(at - MEMBER_TRAILER) !== crc32(content)) {
      throw new UnreadableReport('it cannot be unpacked: its checksum does not fit')
    }
    contents.push(content)
    left -= content.length
  }
  return Buffer.concat(contents)
}

/** The offset behind the header of the member and its optional fields (RFC 1952 section 2.3.1). */
function findMemberContent(bytes: Buffer, start: number): number {
  const flags = bytes[start + 3] ?? 0
  let at = start + MEMBER_HEADER
  if ((flags & 4) !== 0) at += 2 + (at + 2 > bytes.length ? 0 : bytes.readUInt16LE(at))
  for (const flag of [8, 16]) {
    if ((flags & flag) === 0) continue
    const end = bytes.indexOf(0, at)
    at = end === -1 ? bytes.length : end + 1
  }
  if ((flags & 2) !== 0) at += 2
  if (at >= bytes.length) throw new UnreadableReport('it cannot be unpacked: it is cut off')
  return at
}

interface Inflated {
  readonly content: Buffer
  /** Octets of the input. */
  readonly read: number
}

/** `left` octets remain of the `max` that all parts share. */
function inflate(packed: Buffer, left: number, max: number): Inflated {
  const inflated = tryInflate(packed, left, max)
  const [content, read] = [ownValueOf(inflated, 'buffer'), ownValueOf(ownValueOf(inflated, 'engine'), 'bytesWritten')]
  if (!Buffer.isBuffer(content) || typeof read !== 'number') throw new TypeError('zlib does not say what it has read')
  if (content.length > left) throw buildTooLarge(max)
  return { content, read }
}

/** The option `info`, which its types do not know, makes it say how much of the input it has read. */
function tryInflate(packed: Buffer, left: number, max: number): unknown {
  try {
    return inflateRawSync(packed, { maxOutputLength: Math.max(left, 1), info: true })
  } catch (error) {
    if (error instanceof RangeError) throw buildTooLarge(max)
    throw new UnreadableReport(`it cannot be unpacked: ${error instanceof Error ? error.message : ''}`)
  }
}

/** Other entries of its archive may be read. */
class UnsupportedEntry extends UnreadableReport {}

function buildTooLarge(max: number): UnreadableReport {
  return new UnreadableReport(`it has more than ${max} octets when it is unpacked`)
}

function unpackArchive(bytes: Buffer, max: number): readonly Buffer[] {
  const files: Buffer[] = []
  let left = max
  let failure = new UnreadableReport('an archive without a file')
  for (const entry of listEntries(bytes)) {
    try {
      const file = unpackEntry(bytes, entry, left, max)
      left -= file.length
      if (file.length > 0) files.push(file)
    } catch (error) {
      if (!(error instanceof UnsupportedEntry)) throw error
      failure = error
    }
  }
  if (files.length === 0) throw failure
  return files
}

/** Places of the entries in the directory. */
function listEntries(bytes: Buffer): readonly number[] {
  const end = findEnd(bytes)
  const count = bytes.readUInt16LE(end + 10)
  if (count > MAX_ENTRIES) throw new UnreadableReport(`an archive with more than ${MAX_ENTRIES} entries`)
  const entries: number[] = []
  let at = bytes.readUInt32LE(end + 16)
  while (entries.length < count) {
    requireRoom(bytes, at, ENTRY_LENGTH)
    if (bytes.readUInt32LE(at) !== ENTRY_SIGNATURE) throw new UnreadableReport('an archive without its directory')
    entries.push(at)
    at += ENTRY_LENGTH + bytes.readUInt16LE(at + 28) + bytes.readUInt16LE(at + 30) + bytes.readUInt16LE(at + 32)
  }
  return entries
}

function unpackEntry(bytes: Buffer, entry: number, left: number, max: number): Buffer {
  const [flags, method] = [bytes.readUInt16LE(entry + 8), bytes.readUInt16LE(entry + 10)]
  if ((flags & 1) !== 0) throw new UnsupportedEntry('an archive that is encrypted')
  const [packedLength, length] = [bytes.readUInt32LE(entry + 20), bytes.readUInt32LE(entry + 24)]
  if (length > left) throw buildTooLarge(max)
  if (packedLength === 0) return Buffer.alloc(0)
  const packed = sliceContent(bytes, bytes.readUInt32LE(entry + 42), packedLength)
  if (method !== STORED && method !== DEFLATED) {
    throw new UnsupportedEntry(`an archive with the compression method ${method}`)
  }
  const { content } = method === STORED ? { content: packed } : inflate(packed, left, max)
  if (content.length > left) throw buildTooLarge(max)
  return content
}

/** The last end record; the comment after it may not look like one. */
function findEnd(bytes: Buffer): number {
  const first = Math.max(0, bytes.length - END_LENGTH - MAX_COMMENT)
  for (let at = bytes.length - END_LENGTH; at >= first; at -= 1) {
    if (bytes.readUInt32LE(at) === END_SIGNATURE) return at
  }
  throw new UnreadableReport('an archive that is cut off')
}

/**
 * The content follows the local header, its name and its extra field. The lengths of the two are in the local header.
 */
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
