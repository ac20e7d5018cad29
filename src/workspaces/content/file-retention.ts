/** Removes expired files in small steps: those that were unused for too long, and those that stayed incomplete. */
import { sql } from 'kysely'
import type { Store } from '../../base/storage/db/database.js'
import { prepareRead } from '../../base/storage/db/prepared.js'
import { removeUnusedFile } from './cached-files.js'

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

/** Removes some of the files last used before `usedBefore`. Resolves to whether there may be more. */
export async function removeExpiredFiles(
  { read, commit }: Store,
  { usedBefore, now }: { readonly usedBefore: number; readonly now: number },
): Promise<boolean> {
  const old = selectUnused(read, { before: usedBefore })
  const rows = old.length > 0 ? old : selectIncomplete(read, { before: now - INCOMPLETE_LIFETIME })
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
