/**
 * Backups in a folder: names with the time in UTC, and which of them are removed.
 *
 * Only files that an earlier backup has written down in the folder's list are removed, and only while they have the size
 * that it wrote down.
 */
import { readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { errorCodeOf } from '../../platform/errors.js'
import { DAY } from '../../platform/time-units.js'
import { syncFile } from './backup.js'

const LIST_NAME = '.posthorn-backups.json'

const listSchema = z.object({ files: z.array(z.object({ name: z.string(), bytes: z.number() })) })
type KnownBackup = z.output<typeof listSchema>['files'][number]

/** The name, such as `posthorn-20261123T020000Z.db`. */
export function backupName(now: number): string {
  return `posthorn-${new Date(now).toISOString().replace(/[-:]|\.\d{3}/g, '')}.db`
}

/**
 * The name of an unfinished backup. A backup to a folder, or to standard output, is first made in the folder of the
 * database.
 */
const PARTIAL =
  /^(?:posthorn-\d{8}T\d{6}Z\.db|posthorn\.db\.backup-\d+)\.partial-\d+(?:-journal)?$|^posthorn\.db\.backup-\d+$/

/**
 * Removes what backups have left that were killed, as large as the database. A younger file may be that of a backup under
 * way, also from another machine.
 */
export function removeOldPartials(folder: string, now: number): void {
  for (const name of readdirSync(folder)) {
    if (!PARTIAL.test(name)) continue
    const file = join(folder, name)
    const found = statSync(file, { throwIfNoEntry: false })
    if (found?.isFile() === true && now - found.mtimeMs > DAY) rmSync(file, { force: true })
  }
}

/** Notes a new backup and removes the oldest that are more than `keep`. Returns the names of those that were removed. */
export function rotateBackups(folder: string, added: KnownBackup, keep: number | null): string[] {
  const known = [...readList(folder).filter(({ name }) => name !== added.name), added].filter((file) =>
    isUnchanged(folder, file),
  )
  // They are in the order in which they were made. The order of names differs after the clock was set back.
  const removed = keep === null ? [] : known.slice(0, Math.max(0, known.length - keep))
  for (const { name } of removed) rmSync(join(folder, name))
  writeList(
    folder,
    known.filter((file) => !removed.includes(file)),
  )
  return removed.map(({ name }) => name)
}

function isUnchanged(folder: string, { name, bytes }: KnownBackup): boolean {
  if (!/^posthorn-\d{8}T\d{6}Z\.db$/.test(name)) return false
  const found = statSync(join(folder, name), { throwIfNoEntry: false })
  return found?.isFile() === true && found.size === bytes
}

function readList(folder: string): KnownBackup[] {
  try {
    return listSchema.parse(JSON.parse(readFileSync(join(folder, LIST_NAME), 'utf8'))).files
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT') return []
    throw new Error(`${join(folder, LIST_NAME)} cannot be read: nothing is removed`, { cause: error })
  }
}

function writeList(folder: string, files: readonly KnownBackup[]): void {
  const partial = join(folder, `${LIST_NAME}.partial`)
  writeFileSync(partial, `${JSON.stringify({ files }, null, 2)}\n`, { mode: 0o600 })
  syncFile(partial)
  renameSync(partial, join(folder, LIST_NAME))
  syncFile(folder)
}
