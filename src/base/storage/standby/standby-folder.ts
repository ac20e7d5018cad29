/**
 * Names the files of a standby folder: for each generation the segments of the log, in order, and snapshots to begin
 * with.
 *
 *     20261123T020000Z-k3f9/log/0000000001-00000001-000000000000.wal    number, log, offset in that log
 *     20261123T020000Z-k3f9/snapshots/0000000001.db, .json              number of the segment that follows it
 *
 * A *generation* is a stream of segments without a gap; a *segment* is a file with a piece of the database's log; a
 * *snapshot* is a complete copy of the database that a generation begins with. A file has its final name once it is
 * complete and on disk, so any program may carry the folder away at any time and in any order; what is missing shows in
 * the numbers.
 */
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import { errorCodeOf } from '../../platform/errors.js'
import { syncFile } from '../maintenance/backup.js'

export interface Segment {
  readonly number: number
  /** Counts the restarts of the log. */
  readonly log: number
  readonly offset: number
  readonly file: string
}

const snapshotSchema = z.object({
  /** The number of the segment that follows. */
  number: z.number(),
  at: z.number(),
  bytes: z.number(),
  /** Where the stream stands after the snapshot. Null if it stands at the beginning of a log. */
  position: z
    .object({
      salts: z.string(),
      bigEndian: z.boolean(),
      pageSize: z.number(),
      offset: z.number(),
      checksum: z.tuple([z.number(), z.number()]),
    })
    .nullable(),
})
type SnapshotNote = z.output<typeof snapshotSchema>

export interface Snapshot extends SnapshotNote {
  readonly file: string
}

const generationName = /^\d{8}T\d{6}Z-[0-9a-z]{4}$/
const segmentName = /^(\d{10})-([0-9a-f]{8})-([0-9a-f]{12})\.wal$/
const snapshotName = /^(\d{10})\.json$/

/** A name that sorts after all that are there, even if the clock was set back, because the newest one is used. */
export function generationOf(folder: string, now: number, random: string): string {
  const newest = listGenerations(folder)
    .at(-1)
    ?.replace(/^(.{4})(..)(..T..)(..)(..Z).*$/, '$1-$2-$3:$4:$5')
  const at = newest === undefined ? now : Math.max(now, Date.parse(newest) + 1000)
  return `${new Date(at).toISOString().replace(/[-:]|\.\d{3}/g, '')}-${random}`
}

/** Oldest first. */
export function listGenerations(folder: string): string[] {
  return listNames(folder).filter((name) => generationName.test(name))
}

function listNames(folder: string): string[] {
  try {
    return readdirSync(folder).toSorted()
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT') return []
    throw error
  }
}

/** Segments in the order of their numbers. */
export function listSegments(generation: string): Segment[] {
  const folder = join(generation, 'log')
  return listNames(folder).flatMap((name) => {
    const [, number, log, offset] = segmentName.exec(name) ?? []
    if (number === undefined || log === undefined || offset === undefined) return []
    return [
      {
        number: Number(number),
        log: Number.parseInt(log, 16),
        offset: Number.parseInt(offset, 16),
        file: join(folder, name),
      },
    ]
  })
}

/** Complete snapshots, oldest first. */
export function listSnapshots(generation: string): Snapshot[] {
  const folder = join(generation, 'snapshots')
  return listNames(folder).flatMap((name) => {
    const number = snapshotName.exec(name)?.[1]
    if (number === undefined) return []
    const note = snapshotSchema.safeParse(parseJson(readFileSync(join(folder, name), 'utf8')))
    return note.success ? [{ ...note.data, file: join(folder, `${number}.db`) }] : []
  })
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

const pad = (value: number, digits: number, base = 10): string => value.toString(base).padStart(digits, '0')

export function segmentFile(generation: string, { number, log, offset }: Omit<Segment, 'file'>): string {
  return join(generation, 'log', `${pad(number, 10)}-${pad(log, 8, 16)}-${pad(offset, 12, 16)}.wal`)
}

export function snapshotFile(generation: string, number: number, type: 'db' | 'json'): string {
  return join(generation, 'snapshots', `${pad(number, 10)}.${type}`)
}

/** The standby folder itself must be there: if it is not mounted, it must not be made. */
export function createGeneration(generation: string): void {
  mkdirSync(generation, { mode: 0o700 })
  for (const part of ['log', 'snapshots']) mkdirSync(join(generation, part), { mode: 0o700 })
  for (const folder of [generation, dirname(generation)]) syncFile(folder)
}

/** The file is complete and on disk, or not there. */
export function writeDurably(file: string, bytes: Uint8Array): void {
  const partial = `${file}.partial`
  const opened = openSync(partial, 'w', 0o600)
  try {
    for (let done = 0; done < bytes.length; ) done += writeSync(opened, bytes, done)
    fsyncSync(opened)
  } finally {
    closeSync(opened)
  }
  renameSync(partial, file)
  syncFile(dirname(file))
}

/** Removes all but the `keep` newest snapshots with the segments before them, and then earlier generations. */
export function removeOld(folder: string, name: string, keep: number): void {
  const generation = join(folder, name)
  const snapshots = listSnapshots(generation)
  const oldest = snapshots.at(-keep) ?? snapshots[0]
  if (oldest === undefined) return
  for (const { number, file } of snapshots.filter((snapshot) => snapshot.number < oldest.number)) {
    rmSync(snapshotFile(generation, number, 'json'), { force: true })
    rmSync(file, { force: true })
  }
  for (const { number, file } of listSegments(generation)) if (number < oldest.number) rmSync(file)
  for (const earlier of listGenerations(folder)) {
    if (earlier < name) rmSync(join(folder, earlier), { recursive: true, force: true })
  }
}
