/**
 * `backup`: a copy of the database as of one moment, made while the daemon runs.
 *
 * Invariant: the target name means a complete database on disk, or nothing. It contains secrets (keys,
 * mail): mode 0600.
 *
 * VACUUM INTO reads one snapshot, however long that takes; SQLite's backup interface restarts whenever
 * another connection commits, so under load it never ends. Limits: it blocks its thread (it is for the
 * command line), and the WAL grows meanwhile, because it cannot be copied back.
 */
import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { openConnection } from '../connection.js'
import { toStorageError } from '../health/faults.js'

/** The target file exists. */
export class FileExistsError extends Error {
  override name = 'FileExistsError'

  constructor(readonly file: string) {
    super(`${file} exists: it is not overwritten`)
  }
}

interface BackupOptions {
  /** The database. */
  readonly from: string
  readonly to: string
}

export function createBackup({ from, to }: BackupOptions): void {
  if (existsSync(to)) throw new FileExistsError(to)
  const partial = `${to}.partial-${process.pid}`
  try {
    // VACUUM INTO accepts an existing empty file and keeps its mode.
    closeSync(openSync(partial, 'wx', 0o600))
    copySnapshot(from, partial)
    syncFile(partial)
    if (existsSync(to)) throw new FileExistsError(to)
    renameSync(partial, to)
    syncFile(dirname(to))
  } catch (error) {
    rmSync(partial, { force: true })
    throw toStorageError(error)
  }
}

function copySnapshot(from: string, to: string): void {
  const db = openConnection({ file: from })
  try {
    db.prepare('vacuum into ?').run(to)
  } finally {
    db.close()
  }
}

/** Flushes a file, or the names in a folder, to disk. */
export function syncFile(path: string): void {
  const file = openSync(path, 'r')
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}
