/** Measures the files of a database of SQLite. */
import { stat } from 'node:fs/promises'
import { countFreePages, type DatabaseSizes, PAGE_BYTES } from '../db/database.js'
import type { Read } from '../db/prepared.js'
import { measureSpool, spoolFolder } from '../db/spool-files.js'

export async function measureFiles(file: string, read: Read): Promise<DatabaseSizes> {
  return {
    database: await sizeOf(file),
    wal: await sizeOf(`${file}-wal`),
    spool: await measureSpool(spoolFolder(file)),
    free: (await countFreePages(read)) * PAGE_BYTES,
  }
}

/** 0 if there is no such file. */
function sizeOf(file: string): Promise<number> {
  return stat(file).then(
    ({ size }) => size,
    () => 0,
  )
}
