/**
 * Identifies a data folder, and the place where it is. One daemon alone uses a folder at a time, so one with the same id
 * has ended.
 *
 * A machine that is cloned has the folder twice, with all its files. So the id also names the file on its disk, and the
 * start of the system: a copy is another file, or on another system. After a restart of the system the id is a new one,
 * and the daemon of the old one counts as ended when it has been silent for a while.
 */
import { randomUUID } from 'node:crypto'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { errorCodeOf } from '../../base/platform/errors.js'

/** Linux makes a new id at each start of the system. */
const BOOT_ID = '/proc/sys/kernel/random/boot_id'

/** An id of the data folder at this place. The part of the folder is made at the first start. */
export async function readFolderId(folder: string): Promise<string> {
  const file = join(folder, 'folder-id')
  const id = await readOrMakeId(file)
  const { dev, ino } = await stat(file)
  return `${id} ${await identifySystem()} ${dev}:${ino}`
}

async function readOrMakeId(file: string): Promise<string> {
  const known = await readFile(file, 'utf8').catch((error: unknown) => {
    if (errorCodeOf(error) === 'ENOENT') return ''
    throw error
  })
  if (known !== '') return known
  const id = randomUUID()
  await writeFile(file, id, { mode: 0o600 })
  return id
}

async function identifySystem(): Promise<string> {
  return (await readFile(BOOT_ID, 'utf8').catch(() => hostname())).trim()
}
