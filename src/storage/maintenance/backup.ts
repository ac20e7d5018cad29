/**
 * `backup`: a copy of the database as it is at one moment, made while the daemon works.
 *
 * Invariant: under the asked-for name stands a complete database that is on disk, or
 * nothing. It holds secrets (keys, mail): mode 0600.
 *
 * VACUUM INTO reads one snapshot, however long that takes. SQLite's backup interface
 * begins anew whenever another connection commits, so under load it never ends.
 * Limits: blocks its thread (it is for the command line), and the WAL cannot be copied
 * back while it runs, so it grows by what is written meanwhile.
 */
import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { openConnection } from '../connection.js'
import { toStorageError } from '../health/faults.js'

/** A file stands where a new one should come to be. */
export class FileExistsError extends Error {
  override name = 'FileExistsError'

  constructor(readonly file: string) {
    super(`${file} is there already: it is not overwritten`)
  }
}

export interface BackupOptions {
  /** The database. */
  readonly from: string
  readonly to: string
}

export function createBackup({ from, to }: BackupOptions): void {
  if (existsSync(to)) throw new FileExistsError(to)
  const partial = `${to}.partial-${process.pid}`
  try {
    // VACUUM INTO takes an empty file that is there, and keeps its mode.
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

/** Puts a file, or the names in a folder, on disk. */
export function syncFile(path: string): void {
  const file = openSync(path, 'r')
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}
