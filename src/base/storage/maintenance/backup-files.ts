/** The files in a folder of backups, by whatever program they were written there, and which of them is the newest backup. */
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'

/** Files that are checked. */
const MAX_FILES = 10_000

export interface BackupFile {
  readonly name: string
  /** When it was written, in epoch milliseconds. */
  readonly at: number
  readonly size: number
}

/** Hidden files, such as the list that `backup --keep` keeps, are left out. Rejects if the folder cannot be read. */
export async function listBackupFiles(folder: string): Promise<readonly BackupFile[]> {
  const entries = await readdir(folder, { withFileTypes: true })
  const names = entries.filter((entry) => entry.isFile() && !entry.name.startsWith('.')).map(({ name }) => name)
  const files: BackupFile[] = []
  // The newest in the order of names, which have the time where `backup` chose them.
  for (const name of names.toSorted().slice(-MAX_FILES)) {
    // A backup that ends at this moment renames its file.
    const found = await stat(join(folder, name)).catch(() => null)
    if (found !== null) files.push({ name, at: found.mtimeMs, size: found.size })
  }
  return files
}

/** The file is half-written: its backup is under way, or ended before it was complete. */
export function isPartial({ name }: Pick<BackupFile, 'name'>): boolean {
  return name.includes('.partial')
}

export function findNewestBackup(files: readonly BackupFile[]): BackupFile | undefined {
  const whole = files.filter((file) => !isPartial(file) && file.size > 0)
  return whole.toSorted((one, other) => other.at - one.at)[0]
}
