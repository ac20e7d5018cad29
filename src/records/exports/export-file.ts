/**
 * The files of exports, `exports/ID.csv` in the data folder: mode 0600, in a folder of mode 0700.
 *
 * A file belongs to a record. The record is removed first, so a crash may leave a file without a record, which the next
 * sweep removes. Backups contain only the records, so after a restore the files are missing.
 */
import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { openReadableFile, type ReadableFile } from '../../base/platform/readable-file.js'
import type { Read } from '../../base/storage/db/prepared.js'
import { anyExportById, type ExportRow } from './export-records.js'

/** The folder below that of all data. */
export function exportFolder(dataDir: string): string {
  return join(dataDir, 'exports')
}

export function exportFile(folder: string, id: string): string {
  return join(folder, `${id}.csv`)
}

export async function createExportFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
}

/** Resolves to null if there is no file, or if it is not complete. */
export async function openExport(
  folder: string,
  { id, bytes }: Pick<ExportRow, 'id' | 'bytes'>,
): Promise<ReadableFile | null> {
  const file = await openReadableFile(exportFile(folder, id))
  if (file === null || file.size === bytes) return file
  await file.close()
  return null
}

export async function removeExportFile(folder: string, id: string): Promise<void> {
  await rm(exportFile(folder, id), { force: true })
}

const namePattern = /^([0-9a-f-]{36})\.csv$/
/** The files that are removed before other work gets a turn. */
const STEP = 50

/** Removes files without a record. A file is created only after its record. */
export async function removeOrphanExports(read: Read, folder: string): Promise<void> {
  const names = await readdir(folder)
  for (const [at, name] of names.entries()) {
    const [, id] = namePattern.exec(name) ?? []
    if (id !== undefined && (await anyExportById(read, { id })).length === 0) await removeExportFile(folder, id)
    if (at % STEP === STEP - 1) await nextTurn()
  }
}
