/**
 * Forgetting cached files, in small steps: those that nobody has used for long, and those
 * that never became complete.
 */
import { sql } from 'kysely'
import { prepareRead, type Read } from '../storage/prepared.js'
import type { Commit } from '../storage/writer/write.js'
import { removeUnused } from './cached-files.js'

const STEP = 50
/** Octets that one step removes: at least one file. */
const STEP_BYTES = 8 * 1_048_576
/** Longer than any upload takes. */
const INCOMPLETE_FOR = 3_600_000

const unused = prepareRead<{ before: number }>()(({ db, slot }) =>
  db
    .selectFrom('cached_files')
    .select(['workspace_id as workspaceId', 'key', 'used_at as usedAt', 'size'])
    .where('used_at', '<', slot('before'))
    .orderBy('used_at')
    .limit(STEP),
)

const cutOff = prepareRead<{ before: number }>()(({ db, slot }) =>
  db
    .selectFrom('cached_files')
    .select(['workspace_id as workspaceId', 'key', 'used_at as usedAt', 'size'])
    // Spelled out, so that the index of these alone serves it.
    .where('complete', '=', sql.lit(0 as const))
    .where('created_at', '<', slot('before'))
    .orderBy('created_at')
    .limit(STEP),
)

/** Removes some of the files; resolves to whether there may be more. `usedBefore`: their last use. */
export async function forgetFiles(
  { read, commit }: { readonly read: Read; readonly commit: Commit },
  { usedBefore, now }: { readonly usedBefore: number; readonly now: number },
): Promise<boolean> {
  const old = unused(read, { before: usedBefore })
  const rows = old.length > 0 ? old : cutOff(read, { before: now - INCOMPLETE_FOR })
  if (rows.length === 0) return false
  let bytes = 0
  const over = rows.findIndex(({ size }) => {
    bytes += size
    return bytes > STEP_BYTES
  })
  const some = over === -1 ? rows : rows.slice(0, Math.max(1, over))
  await commit(some.flatMap(({ size: _, ...file }) => removeUnused(file)))
  return true
}
