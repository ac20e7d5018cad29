/**
 * The records of files that are uploaded once and sent many times, stored in chunks.
 *
 *   incomplete   being uploaded, or cut off: never found, removed an hour after it began
 *   complete     found by its key within its workspace, until `retention.files` after its last use
 *
 * A key has 256 random bits. Triggers count the bytes of all files of a workspace. The statement that grows a file
 * checks the limit of all files of an owner.
 */

import { setImmediate as nextTurn } from 'node:timers/promises'
import { sql } from 'kysely'
import { randomSecret } from '../../base/platform/ids.js'
import type { Store } from '../../base/storage/db/database.js'
import { prepareRead, prepareWrite, type Read } from '../../base/storage/db/prepared.js'
import { selectSameOwner } from '../../base/storage/db/same-owner.js'
import { takeTurn, type Write } from '../../base/storage/db/write.js'
import type { Tables } from '../../base/storage/tables/tables.js'

export type CachedFile = Tables['cached_files']

export interface FileRef {
  readonly workspaceId: string
  readonly key: string
}

/** 10 MB. */
export const MAX_FILE_BYTES = 10 * 1_048_576
/** 1 GB: the files of all workspaces of an owner. Each file counts 4 KB in addition to its size. */
export const MAX_STORED_BYTES = 1_024 * 1_048_576
/** Milliseconds between two recorded uses, so a file may be kept that much longer. */
export const USE_INTERVAL = 3_600_000

export function generateFileKey(): string {
  return `file_${randomSecret(32).toString('base64url')}`
}

/** Inserts an empty, incomplete file. */
export const insertFile = prepareWrite<{
  workspaceId: string
  key: string
  name: string
  contentType: string
  at: number
}>(({ db, slot }) =>
  db.insertInto('cached_files').values({
    workspace_id: slot('workspaceId'),
    key: slot('key'),
    name: slot('name'),
    content_type: slot('contentType'),
    size: 0,
    complete: 0,
    created_at: slot('at'),
    used_at: slot('at'),
  }),
)

/** Misses if the file is gone, or if its owner has no room for so much more. */
const growFile = prepareWrite<{ workspaceId: string; key: string; bytes: number; maxBytes: number }>(
  ({ db, slot }) =>
    db
      .updateTable('cached_files')
      .set(({ eb }) => ({ size: eb('size', '+', slot('bytes')) }))
      .where('workspace_id', '=', slot('workspaceId'))
      .where('key', '=', slot('key'))
      .where('complete', '=', 0)
      .where(
        ({ selectFrom }) =>
          selectFrom('cached_file_totals')
            .select(({ fn, eb }) => eb(fn.sum<number>('bytes'), '+', slot('bytes')).as('after'))
            .where('workspace_id', 'in', selectSameOwner(slot('workspaceId'))),
        '<=',
        slot('maxBytes'),
      ),
  1,
)

const insertChunk = prepareWrite<Tables['cached_file_chunks']>(({ db, slot }) =>
  db.insertInto('cached_file_chunks').values({
    workspace_id: slot('workspace_id'),
    key: slot('key'),
    place: slot('place'),
    bytes: slot('bytes'),
  }),
)

interface FileChunk {
  readonly place: number
  readonly bytes: Buffer
}

/** Who may store how much. */
interface FileRoom {
  /** See `findOwnerId`. Chunks of one owner are stored in turn. */
  readonly owner: string
  /** The bytes of all files of the workspaces of the owner. */
  readonly maxBytes: number
}

/** Appends a chunk in one commit. */
export function appendChunk(
  file: FileRef,
  { place, bytes }: FileChunk,
  { owner, maxBytes }: FileRoom,
): readonly Write[] {
  const { workspaceId, key } = file
  return takeTurn(`files of ${owner}`, [
    growFile({ workspaceId, key, bytes: bytes.length, maxBytes }),
    insertChunk({ workspace_id: workspaceId, key, place, bytes }),
  ])
}

/** Misses if housekeeping has removed the file. */
export const completeFile = prepareWrite<{ workspaceId: string; key: string; at: number }>(
  ({ db, slot }) =>
    db
      .updateTable('cached_files')
      .set({ complete: 1, created_at: slot('at'), used_at: slot('at') })
      .where('workspace_id', '=', slot('workspaceId'))
      .where('key', '=', slot('key')),
  1,
)

const updateLastUse = prepareWrite<{ workspaceId: string; key: string; at: number }>(({ db, slot }) =>
  db
    .updateTable('cached_files')
    .set({ used_at: slot('at') })
    .where('workspace_id', '=', slot('workspaceId'))
    .where('key', '=', slot('key'))
    .where('used_at', '<', slot('at')),
)

/** Records that the file was used. The commit of that use has this write. */
export function recordFileUse({ workspace_id: workspaceId, key, used_at }: CachedFile, at: number): Write[] {
  return used_at > at - USE_INTERVAL ? [] : [updateLastUse({ workspaceId, key, at })]
}

const removeRow = prepareWrite<FileRef>(({ db, slot }) =>
  db.deleteFrom('cached_files').where('workspace_id', '=', slot('workspaceId')).where('key', '=', slot('key')),
)

const removeChunks = prepareWrite<FileRef>(({ db, slot }) =>
  db.deleteFrom('cached_file_chunks').where('workspace_id', '=', slot('workspaceId')).where('key', '=', slot('key')),
)

/** Removes the file in one commit, so that no reader finds a row without its bytes. */
export function removeFile({ workspaceId, key }: FileRef): Write[] {
  return [removeRow({ workspaceId, key }), removeChunks({ workspaceId, key })]
}

const removeUnusedRow = prepareWrite<FileRef & { usedAt: number }>(({ db, slot }) =>
  db
    .deleteFrom('cached_files')
    .where('workspace_id', '=', slot('workspaceId'))
    .where('key', '=', slot('key'))
    .where('used_at', '=', slot('usedAt')),
)

const removeOrphanChunks = prepareWrite<FileRef>(({ db, slot }) =>
  db
    .deleteFrom('cached_file_chunks')
    .where('workspace_id', '=', slot('workspaceId'))
    .where('key', '=', slot('key'))
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('cached_files')
            .select('key')
            .where('workspace_id', '=', slot('workspaceId'))
            .where('key', '=', slot('key')),
        ),
      ),
    ),
)

/** Removes the file in one commit. The file stays if it was used or completed after `usedAt` was read. */
function removeUnusedFile({ usedAt, ...place }: FileRef & { readonly usedAt: number }): Write[] {
  return [removeUnusedRow({ ...place, usedAt }), removeOrphanChunks(place)]
}

const completeByKey = prepareRead<FileRef>()(({ db, slot }) =>
  db
    .selectFrom('cached_files')
    .selectAll()
    .where('workspace_id', '=', slot('workspaceId'))
    .where('key', '=', slot('key'))
    .where('complete', '=', 1),
)

/** Finds a complete file of that workspace. */
export async function findFile(read: Read, place: FileRef): Promise<CachedFile | undefined> {
  return (await completeByKey(read, place))[0]
}

/** Counts all workspaces of the owner. */
export const selectStoredBytes = prepareRead<{ workspaceId: string }>()(({ db, slot }) =>
  db
    .selectFrom('cached_file_totals')
    .select(({ fn }) => fn.sum<number | null>('bytes').as('bytes'))
    .where('workspace_id', 'in', selectSameOwner(slot('workspaceId'))),
)

const selectChunk = prepareRead<FileRef & { place: number }>()(({ db, slot }) =>
  db
    .selectFrom('cached_file_chunks')
    .select('bytes')
    .where('workspace_id', '=', slot('workspaceId'))
    .where('key', '=', slot('key'))
    .where('place', '=', slot('place')),
)

/** Reads one chunk in each turn of the event loop. Null means that the file was removed after its row was read. */
export async function readFileBytes(
  read: Read,
  { workspace_id: workspaceId, key, size }: CachedFile,
): Promise<Buffer | null> {
  const file = Buffer.allocUnsafe(size)
  let end = 0
  for (let place = 0; end < size; place += 1) {
    const [chunk] = await selectChunk(read, { workspaceId, key, place })
    if (chunk === undefined) return null
    end += chunk.bytes.copy(file, end)
    if (end < size) await nextTurn()
  }
  return file
}

/** Files that one step removes. */
const BATCH_SIZE = 50
/** Bytes that one step removes, unless its only file is larger. */
const BATCH_BYTES = 8 * 1_048_576
/** Milliseconds. No upload takes longer. */
const INCOMPLETE_LIFETIME = 3_600_000

const selectUnused = prepareRead<{ before: number }>()(({ db, slot }) =>
  db
    .selectFrom('cached_files')
    .select(['workspace_id as workspaceId', 'key', 'used_at as usedAt', 'size'])
    .where('used_at', '<', slot('before'))
    .orderBy('used_at')
    .limit(BATCH_SIZE),
)

const selectIncomplete = prepareRead<{ before: number }>()(({ db, slot }) =>
  db
    .selectFrom('cached_files')
    .select(['workspace_id as workspaceId', 'key', 'used_at as usedAt', 'size'])
    // SQLite uses the partial index only for a literal.
    .where('complete', '=', sql.lit(0 as const))
    .where('created_at', '<', slot('before'))
    .orderBy('created_at')
    .limit(BATCH_SIZE),
)

/**
 * Removes some of the files last used before `usedBefore`, then some of those that stayed incomplete. Resolves to
 * whether there may be more.
 */
export async function removeExpiredFiles(
  { read, commit }: Store,
  { usedBefore, now }: { readonly usedBefore: number; readonly now: number },
): Promise<boolean> {
  const old = await selectUnused(read, { before: usedBefore })
  const rows = old.length > 0 ? old : await selectIncomplete(read, { before: now - INCOMPLETE_LIFETIME })
  if (rows.length === 0) return false
  let bytes = 0
  const over = rows.findIndex(({ size }) => {
    bytes += size
    return bytes > BATCH_BYTES
  })
  const some = over === -1 ? rows : rows.slice(0, Math.max(1, over))
  await commit(some.flatMap(({ size: _, ...file }) => removeUnusedFile(file)))
  return true
}
