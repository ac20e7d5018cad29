/** Identifies a data folder. One daemon alone uses it at a time, so one with the same id has ended. */
import { randomUUID } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { errorCodeOf } from '../../base/platform/errors.js'

/** An id of the data folder, which is made at the first start. */
export async function readFolderId(folder: string): Promise<string> {
  const file = join(folder, 'folder-id')
  const known = await readFile(file, 'utf8').catch((error: unknown) => {
    if (errorCodeOf(error) === 'ENOENT') return ''
    throw error
  })
  if (known !== '') return known
  const id = randomUUID()
  await writeFile(file, id, { mode: 0o600 })
  return id
}
