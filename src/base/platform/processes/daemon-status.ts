/**
 * Keeps what only the running daemon knows of itself, in the file `status.json` of its data folder.
 *
 * The daemon replaces the file as a whole, so a reader never sees half of it. A daemon that was killed leaves its file:
 * readers look at `updated_at`.
 */
import { open, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { errorCodeOf } from '../errors.js'
import { readPart } from '../readable-file.js'

/** Milliseconds between two versions of the file. */
export const STATUS_INTERVAL = 10_000
/** Milliseconds after which a status no longer describes a daemon at work. */
const MAX_STATUS_AGE = 3 * STATUS_INTERVAL
/** Bytes of the file that are read. */
const MAX_STATUS_SIZE = 64 * 1_024

export interface DaemonStatus {
  readonly pid: number
  readonly version: string
  /** The daemon among those on a database of PostgreSQL. Null on SQLite. */
  readonly node: { readonly name: string; readonly state: string; readonly leads: boolean } | null
  /** ISO 8601. */
  readonly started_at: string
  readonly updated_at: string
  /** Measured over the last full minute, or since the start. */
  readonly event_loop_delay_ms: { readonly p50: number; readonly p99: number; readonly max: number }
  /** Bytes in memory, of all threads. */
  readonly rss: number
  /** Bytes of the main thread's heap. */
  readonly heap_used: number
  /** Open connections of each kind of listener. */
  readonly sessions: { readonly submission: number; readonly mx: number; readonly api: number }
  /** Queue entries between their look-up and their outcome. */
  readonly attempts_under_way: number
  /** Counted since the start. */
  readonly commits: number
  /** Counted since the version of the file before. */
  readonly rates: {
    readonly commits_per_second: number
    /** The share of the last full minute in which the main thread was busy, from 0 to 1. */
    readonly main_thread_load: number
  }
}

export async function writeDaemonStatus(folder: string, status: DaemonStatus): Promise<void> {
  const file = statusFile(folder)
  await writeFile(`${file}.new`, `${JSON.stringify(status)}\n`, { mode: 0o600 })
  await rename(`${file}.new`, file)
}

export async function removeDaemonStatus(folder: string): Promise<void> {
  const file = statusFile(folder)
  await Promise.all([rm(file, { force: true }), rm(`${file}.new`, { force: true })])
}

/** Null if no daemon has written one, or it was removed at a stop. */
export async function readDaemonStatus(folder: string): Promise<DaemonStatus | null> {
  try {
    const file = await open(statusFile(folder), 'r')
    try {
      return parseStatus((await readPart(file, 0, MAX_STATUS_SIZE)).toString())
    } finally {
      await file.close()
    }
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT') return null
    throw error
  }
}

/** False if the daemon was killed, or its event loop stands still. */
export function isStatusFresh({ updated_at }: Pick<DaemonStatus, 'updated_at'>, now: number): boolean {
  return Math.abs(now - Date.parse(updated_at)) <= MAX_STATUS_AGE
}

const statusFile = (folder: string): string => join(folder, 'status.json')

/** The numbers that are missing in the file of another version are 0. */
function parseStatus(text: string): DaemonStatus | null {
  const found = parseObject(text)
  if (found === null || typeof found['updated_at'] !== 'string') return null
  const delay = objectOf(found['event_loop_delay_ms'])
  const sessions = objectOf(found['sessions'])
  const rates = objectOf(found['rates'])
  return {
    pid: numberOf(found['pid']),
    version: String(found['version'] ?? ''),
    node: parseNode(found['node']),
    started_at: String(found['started_at'] ?? ''),
    updated_at: found['updated_at'],
    event_loop_delay_ms: { p50: numberOf(delay['p50']), p99: numberOf(delay['p99']), max: numberOf(delay['max']) },
    rss: numberOf(found['rss']),
    heap_used: numberOf(found['heap_used']),
    sessions: {
      submission: numberOf(sessions['submission']),
      mx: numberOf(sessions['mx']),
      api: numberOf(sessions['api']),
    },
    attempts_under_way: numberOf(found['attempts_under_way']),
    commits: numberOf(found['commits']),
    rates: {
      commits_per_second: numberOf(rates['commits_per_second']),
      main_thread_load: numberOf(rates['main_thread_load']),
    },
  }
}

function parseNode(value: unknown): DaemonStatus['node'] {
  const { name, state, leads } = objectOf(value)
  return typeof name === 'string' && typeof state === 'string' ? { name, state, leads: leads === true } : null
}

type Fields = Readonly<Record<string, unknown>>

function parseObject(text: string): Fields | null {
  try {
    const value: unknown = JSON.parse(text)
    return isFields(value) ? value : null
  } catch {
    return null
  }
}

function objectOf(value: unknown): Fields {
  return isFields(value) ? value : {}
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null
}

function numberOf(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : 0
}
