/** Messages that are large enough for a spool file, and what lies in its folder. */
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs'
import type { Database } from '../../../src/base/storage/db/database.js'
import type { MessageBytes } from '../../../src/base/storage/db/message-bytes.js'
import type { Read } from '../../../src/base/storage/db/prepared.js'
import { listSpoolFiles, type SpoolPlace, spoolFile, spoolFolder } from '../../../src/base/storage/db/spool-files.js'
import type { Write } from '../../../src/base/storage/db/write.js'
import { insertRaw, readRaw } from '../../../src/records/messages/email/raw-message.js'
import { rowOf } from './rows.js'

/** Alone enough for a batch that is spooled. */
export const LARGE_BYTES = 200_000

/** The id again and again. */
export function largeMessage(id: string, bytes = LARGE_BYTES): Buffer {
  return Buffer.alloc(bytes, `${id} `)
}

/** The email and its message, in one request. */
export async function storeMessage(
  read: Read,
  id: string,
  raw: Buffer | MessageBytes = largeMessage(id),
): Promise<Write[]> {
  return [
    await rowOf(read)('emails', { id, workspace_id: 'ws', status: 'delivered' }),
    insertRaw({ email_id: id, workspace_id: 'ws', created_at: 1, raw }),
  ]
}

export async function storeLarge({ commit, read }: Pick<Database, 'commit' | 'read'>, ...ids: string[]): Promise<void> {
  await commit((await Promise.all(ids.map((id) => storeMessage(read, id)))).flat())
}

export async function readMessage(read: Read, emailId: string): Promise<string | undefined> {
  return (await readRaw(read, { workspaceId: 'ws', emailId }))?.toString()
}

export const removeMessage = (id: string): Write => ({
  sql: 'delete from raw_messages where email_id = ?',
  parameters: [id],
})

/** Name and content of each spool file of a database. */
export function spoolFilesOf(file: string): readonly { readonly number: number; readonly bytes: Buffer }[] {
  const folder = spoolFolder(file)
  return listSpoolFiles(folder).map((number) => ({ number, bytes: readFileSync(spoolFile(folder, number)) }))
}

/** As a disk that has kept another byte there. */
export function changeByte(file: string, at: number): void {
  const descriptor = openSync(spoolFile(spoolFolder(file), 1), 'r+')
  writeSync(descriptor, '#', at)
  closeSync(descriptor)
}

export const placesOf = async (read: Read): Promise<unknown[]> =>
  read(
    `select email_id as id, spool_file as file, spool_at as at, spool_bytes as bytes, length(raw) as inline
    from raw_messages order by email_id`,
    [],
  )

export const holesOf = async (read: Read): Promise<SpoolPlace[]> =>
  read('select * from spool_holes order by file, at', [])

/** A step over all holes. */
export const sweepHoles = async ({ read, files }: Database): Promise<void> => files?.sweepSpool(await holesOf(read))
