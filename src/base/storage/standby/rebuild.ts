/**
 * Rebuilds a database from a standby folder, up to the last complete commit that arrived there.
 *
 * The copy is kept with a note of how far it has come: `follow` brings it up to date again and again, so that little is
 * left to do at a takeover. Frames are checked by their checksums; a segment that is damaged or missing ends the copy
 * before it. Applying a segment twice changes nothing, so a crash at any time does no harm.
 */
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { takeLock } from '../db/data-lock.js'
import { PageFile } from '../wal/page-copy.js'
import {
  type Checksum,
  frameBytes,
  parseWalHeader,
  readFrame,
  WAL_HEADER_BYTES,
  type WalHeader,
} from '../wal/wal-frames.js'
import {
  listGenerations,
  listSegments,
  listSnapshots,
  type Segment,
  type Snapshot,
  writeDurably,
} from './standby-folder.js'

/** The folder has nothing that a database can be made from. */
export class UnusableStandby extends Error {
  override name = 'UnusableStandby'
}

const noteSchema = z.object({
  generation: z.string(),
  /** The number of the last segment that was applied. */
  number: z.number(),
  header: z
    .object({
      salts: z.string(),
      bigEndian: z.boolean(),
      pageSize: z.number(),
      checksum: z.tuple([z.number(), z.number()]),
    })
    .nullable(),
})
/** How far a copy has come. `header` is that of the log that goes on, with the checksum up to there. */
type CopyNote = z.output<typeof noteSchema>

export interface Rebuilt {
  /** The database file. */
  readonly file: string
  readonly generation: string
  /** Segments that were applied by this call. */
  readonly applied: number
  /** The number of the last one. */
  readonly number: number
  /** When the last file was written, in epoch milliseconds. */
  readonly copiedAt: number | null
  /** What ended the copy before the last file of the folder. Null if nothing did. */
  readonly gap: string | null
}

/** Milliseconds in which another process brings the copy up to date. */
const MAX_LOCK_WAIT = 10_000

/**
 * `work` is the folder of a copy. No other process uses it until `act` has ended. If one uses it now, the call waits
 * for it.
 */
export async function withCopy<Result>(work: string, act: () => Result | Promise<Result>): Promise<Result> {
  mkdirSync(work, { recursive: true, mode: 0o700 })
  const held = `another process uses the copy in ${work}: stop "posthorn standby follow" first`
  const lock = takeLock(join(work, 'copy.lock'), { timeout: MAX_LOCK_WAIT, held })
  try {
    return await act()
  } finally {
    lock.release()
  }
}

/** Makes or brings up to date the copy in `work`. Call it within `withCopy`. */
export function rebuild(folder: string, work: string): Rebuilt {
  const begun = findBeginning(folder)
  const known = readNote(work)
  const goesOn = known !== null && known.generation === begun.generation && known.number + 1 >= begun.snapshot.number
  const note = goesOn ? known : copySnapshot(work, begun)
  const segments = listSegments(join(folder, note.generation)).filter(({ number }) => number > note.number)
  // Segments that the copy still needs are gone, so it starts again at the snapshot.
  const lacks = goesOn && segments[0] !== undefined && segments[0].number > note.number + 1
  if (lacks) {
    rmSync(noteFile(work), { force: true })
    return rebuild(folder, work)
  }
  return applySegments(work, note, segments)
}

/** The copy is about to be moved away, so the next call starts from the beginning. */
export function forgetCopy(work: string): void {
  rmSync(noteFile(work), { force: true })
}

const noteFile = (work: string): string => join(work, 'copy.json')
const copyFile = (work: string): string => join(work, 'copy.db')

/** The newest complete snapshot of the newest generation that has one. */
function findBeginning(folder: string): { readonly generation: string; readonly snapshot: Snapshot } {
  for (const generation of listGenerations(folder).toReversed()) {
    for (const snapshot of listSnapshots(join(folder, generation)).toReversed()) {
      const found = statSync(snapshot.file, { throwIfNoEntry: false })
      if (found?.size === snapshot.bytes) return { generation, snapshot }
    }
  }
  throw new UnusableStandby(`${folder} has no complete snapshot of a database`)
}

function copySnapshot(work: string, { generation, snapshot }: ReturnType<typeof findBeginning>): CopyNote {
  rmSync(noteFile(work), { force: true })
  copyFileSync(snapshot.file, copyFile(work))
  const { position, number } = snapshot
  return { generation, number: number - 1, header: position }
}

function readNote(work: string): CopyNote | null {
  if (!existsSync(copyFile(work)) || !existsSync(noteFile(work))) return null
  const note = noteSchema.safeParse(JSON.parse(readFileSync(noteFile(work), 'utf8')))
  return note.success ? note.data : null
}

function applySegments(work: string, begun: CopyNote, segments: readonly Segment[]): Rebuilt {
  const target = new PageFile(copyFile(work), 'r+')
  let note = begun
  let state = begun.header
  let gap: string | null = null
  let applied = 0
  let copiedAt: number | null = null
  /** Segments of a commit whose end was not read yet. */
  let waiting: { readonly header: WalHeader; readonly offset: number; readonly bytes: Buffer }[] = []
  try {
    for (const segment of segments) {
      if (segment.number !== note.number + waiting.length + 1)
        gap = `segment ${note.number + waiting.length + 1} is missing`
      const read = gap === null ? readSegment(segment, state) : null
      if (gap === null && read === null) gap = `segment ${segment.number} is damaged or not complete`
      if (read === null) break
      state = { ...read.header, checksum: [...read.checksum] }
      waiting.push({ header: read.header, offset: segment.offset, bytes: read.bytes })
      if (!read.complete) continue
      for (const piece of waiting) target.apply(piece)
      applied += waiting.length
      waiting = []
      note = { generation: begun.generation, number: segment.number, header: state }
      copiedAt = statSync(segment.file).mtimeMs
    }
    target.sync()
  } finally {
    target.close()
  }
  writeDurably(noteFile(work), Buffer.from(`${JSON.stringify(note)}\n`))
  return { file: copyFile(work), generation: note.generation, applied, number: note.number, copiedAt, gap }
}

interface ReadSegment {
  readonly header: WalHeader
  readonly bytes: Buffer
  readonly checksum: Checksum
  /** The segment ends with a commit. */
  readonly complete: boolean
}

/** Null if a frame of the segment does not continue the log. */
function readSegment({ file, offset }: Segment, before: WalHeader | null): ReadSegment | null {
  const bytes = readFileSync(file)
  const header = offset === 0 ? parseWalHeader(bytes) : before
  if (header === null) return null
  let at = offset === 0 ? WAL_HEADER_BYTES : 0
  let checksum: Checksum = header.checksum
  let complete = false
  while (at < bytes.length) {
    const next = readFrame(bytes, at, header, checksum)
    if (next === null) return null
    checksum = next.checksum
    complete = next.frame.databasePages > 0
    at += frameBytes(header)
  }
  return { header, bytes, checksum, complete }
}
