/**
 * Forgetting cached files, in small steps: those that nobody has used for long, and those
 * that never became complete.
 */
import { sql } from 'kysely'
import type { Store } from '../storage/database.js'
import { prepareRead } from '../storage/prepared.js'
import { removeUnusedFile } from './cached-files.js'

const BATCH_SIZE = 50
/** Octets that one step removes: at least one file. */
const BATCH_BYTES = 8 * 1_048_576
/** Longer than any upload takes. */
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
    // Spelled out, so that the index of these alone serves it.
    .where('complete', '=', sql.lit(0 as const))
    .where('created_at', '<', slot('before'))
    .orderBy('created_at')
    .limit(BATCH_SIZE),
)

/** Removes some of the files; resolves to whether there may be more. `usedBefore`: their last use. */
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
