/**
 * The copies of the database that are kept from before upgrades, and the way back to one of them after the program
 * was downgraded.
 *
 * A copy is named after the version that upgraded: `posthorn.db.before-0.2.0`. A later upgrade to the same version
 * replaces it.
 */
import { readdirSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import SQLite from 'better-sqlite3'
import { listAppliedMigrations, type Migrations } from '../db/migrate.js'

/** `version` is that of the program that upgrades. */
export function upgradeCopyOf(file: string, version: string): string {
  return `${file}.before-${version}`
}

/** What to do about a database of a newer version, for the operator. */
export function describeWayBack(file: string, migrations: Migrations): string {
  const copy = findUsableCopy(file, migrations)
  const back =
    copy === null
      ? 'restore a backup that this version or an earlier one made ("posthorn restore FILE")'
      : `go back to the copy from before the upgrade ("posthorn restore ${copy}"; mail since then is not in it)`
  return `Start the newer version again, or ${back}`
}

/** The newest copy that has no migration that is unknown here. */
function findUsableCopy(file: string, migrations: Migrations): string | null {
  const start = `${basename(file)}.before-`
  const copies = readdirSync(dirname(file))
    .filter((name) => name.startsWith(start) && !/-(?:wal|shm|spool)$/.test(name))
    .map((name) => join(dirname(file), name))
  const newestFirst = copies
    .map((path) => ({ path, at: statSync(path).mtimeMs }))
    .sort((one, other) => other.at - one.at)
  return newestFirst.find(({ path }) => isKnown(path, migrations))?.path ?? null
}

function isKnown(path: string, migrations: Migrations): boolean {
  try {
    const db = new SQLite(path, { readonly: true, fileMustExist: true })
    try {
      const applied = listAppliedMigrations(db)
      return applied.length > 0 && applied.every((name) => name in migrations)
    } finally {
      db.close()
    }
  } catch {
    // The file is unreadable, or of another kind: there is no way back.
    return false
  }
}
