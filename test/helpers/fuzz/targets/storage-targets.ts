/** What storage and processes read back: the write-ahead log, frames between processes, notes of a standby, the status. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createFrameReader } from '../../../../src/base/platform/processes/byte-frames.js'
import { readDaemonStatus } from '../../../../src/base/platform/processes/daemon-status.js'
import { listSnapshots } from '../../../../src/base/storage/standby/standby-folder.js'
import {
  type Checksum,
  FRAME_HEADER_BYTES,
  parseWalHeader,
  readFrame,
  WAL_HEADER_BYTES,
} from '../../../../src/base/storage/wal/wal-frames.js'
import { check, checkEqual, type FuzzTarget } from '../target.js'

const PAGE = 512
const MAGIC = 0x377f0682
const WORD = 2 ** 32

/** SQLite's checksum, as its file format describes it. */
function sum(bytes: Buffer, [first, second]: Checksum, bigEndian: boolean): Checksum {
  let [a, b] = [first, second]
  for (let at = 0; at + 8 <= bytes.length; at += 8) {
    a = (a + (bigEndian ? bytes.readUInt32BE(at) : bytes.readUInt32LE(at)) + b) % WORD
    b = (b + (bigEndian ? bytes.readUInt32BE(at + 4) : bytes.readUInt32LE(at + 4)) + a) % WORD
  }
  return [a, b]
}

function writeSum(bytes: Buffer, at: number, [a, b]: Checksum): void {
  bytes.writeUInt32BE(a, at)
  bytes.writeUInt32BE(b, at + 4)
}

/** A log from any bytes: its checksums are made right, but for frames whose last octet is odd. */
function toLog(input: Buffer): { readonly log: Buffer; readonly frames: number } {
  const size = FRAME_HEADER_BYTES + PAGE
  const log = Buffer.alloc(Math.max(WAL_HEADER_BYTES, input.length))
  input.copy(log)
  const bigEndian = ((input[3] ?? 0) & 1) === 1
  log.writeUInt32BE(MAGIC + (bigEndian ? 1 : 0), 0)
  log.writeUInt32BE(PAGE, 8)
  let checksum = sum(log.subarray(0, 24), [0, 0], bigEndian)
  writeSum(log, 24, checksum)
  let frames = 0
  let isWhole = true
  for (let at = WAL_HEADER_BYTES; at + size <= log.length; at += size) {
    const page = log.subarray(at + FRAME_HEADER_BYTES, at + size)
    checksum = sum(page, sum(log.subarray(at, at + 8), checksum, bigEndian), bigEndian)
    if (((page.at(-1) ?? 0) & 1) === 0) writeSum(log, at + 16, checksum)
    const [a, b] = [log.readUInt32BE(at + 16), log.readUInt32BE(at + 20)]
    isWhole &&= a === checksum[0] && b === checksum[1] && log.readUInt32BE(at) > 0
    isWhole &&= log.subarray(at + 8, at + 16).equals(log.subarray(16, 24))
    if (isWhole) frames += 1
  }
  return { log, frames }
}

function readLog(input: Buffer): void {
  parseWalHeader(input)
  const { log, frames } = toLog(input)
  const header = parseWalHeader(log)
  check(header !== null, 'a right header is read')
  let found = 0
  let at = WAL_HEADER_BYTES
  for (let next = readFrame(log, at, header, header.checksum); next !== null; ) {
    found += 1
    at += FRAME_HEADER_BYTES + PAGE
    next = readFrame(log, at, header, next.checksum)
  }
  checkEqual(found, frames, 'frames are read up to the first that does not continue the log')
}

/** Chunks of any size give the same frames. */
function readFrames(input: Buffer): void {
  const read = (step: number): readonly unknown[] => {
    const found: unknown[] = []
    const feed = createFrameReader<unknown>({ value: 4_096, bytes: 65_536 }, (value, bytes) => {
      found.push([value, bytes.length])
    })
    try {
      for (let at = 0; at < input.length; at += step) feed(input.subarray(at, at + step))
    } catch (error) {
      // The other end is ours: it is ended when it sends what is no frame.
      if (!(error instanceof SyntaxError) && (error as Error).name !== 'FrameTooLarge') throw error
      found.push('ended')
    }
    return found
  }
  checkEqual(read(1 + ((input[4] ?? 0) % 50)), read(input.length + 1), 'chunks change no frame')
}

let folder = ''

function openFolder(): void {
  folder = mkdtempSync(join(tmpdir(), 'posthorn-fuzz-'))
  mkdirSync(join(folder, 'snapshots'))
}

async function readNotes(input: Buffer): Promise<void> {
  writeFileSync(join(folder, 'snapshots', '0000000001.json'), input)
  writeFileSync(join(folder, 'status.json'), input)
  for (const { number, at, bytes } of listSnapshots(folder)) {
    check(
      [number, at, bytes].every((value) => Number.isFinite(value)),
      'a note has numbers',
    )
  }
  const status = await readDaemonStatus(folder)
  if (status === null) return
  check(typeof status.updated_at === 'string' && Number.isFinite(status.rss), 'a status has its types')
}

const salted = (pages: number): Buffer => {
  const frame = Buffer.alloc(FRAME_HEADER_BYTES + PAGE)
  frame.writeUInt32BE(1, 0)
  frame.writeUInt32BE(pages, 4)
  return frame
}
const position = { salts: 'aa', bigEndian: true, pageSize: 512, offset: 32, checksum: [1, 2] }

export const storageTargets: readonly FuzzTarget[] = [
  {
    name: 'stored-log',
    checks: 'frames are read up to the first that does not continue the log, by another algorithm',
    seeds: [Buffer.concat([Buffer.alloc(32), salted(0), salted(2), salted(2)]), Buffer.alloc(32)],
    words: ['\x37\x7f\x06\x82', '\x37\x7f\x06\x83', '\0\0\0\x02', '\0\0\x02\0', '\xff\xff\xff\xff'],
    run: readLog,
  },
  {
    name: 'process-frames',
    checks: 'chunks change no frame; limits',
    seeds: [Buffer.concat([Buffer.from([0, 0, 0, 7, 0, 0, 0, 0, 0, 2]), Buffer.from('{"a":1}xx')])],
    words: ['\0\0\0\x02', '\0\0\0\0\0\0', '{}', '[]', '\xff\xff\xff\xff'],
    run: readFrames,
  },
  {
    name: 'stored-notes',
    checks: 'of the types that they promise, or none',
    seeds: [
      JSON.stringify({ number: 1, at: 2, bytes: 3, position }),
      JSON.stringify({ pid: 1, version: '1', updated_at: '2026-01-01T00:00:00Z', sessions: { mx: 1 }, rates: {} }),
    ],
    words: ['null', '1e999', '"updated_at":', '"position":', '{', '}', '[', ']', '__proto__', '-1'],
    maxSize: 16_384,
    waits: true,
    open: async () => openFolder(),
    close: async () => rmSync(folder, { recursive: true, force: true }),
    run: readNotes,
  },
]
