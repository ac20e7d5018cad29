/** Accepts an export. Its record is on disk before the request is answered. */
import { Refusal } from '../../base/mail/refusal.js'
import { uuidv7 } from '../../base/platform/ids.js'
import type { Store } from '../../base/storage/db/database.js'
import type { Read } from '../../base/storage/db/prepared.js'
import { tryCommit } from '../../base/storage/db/write.js'
import {
  type ExportRow,
  exportById,
  insertExport,
  listExports,
  MAX_KEPT_EXPORTS,
  MAX_UNFINISHED_EXPORTS,
  unfinishedOfOwner,
} from './export-records.js'

type RequestedExport = Pick<
  ExportRow,
  'workspace_id' | 'type' | 'from_at' | 'to_at' | 'domain' | 'broadcast_id' | 'outcome'
>

/**
 * An export ends at `now`, so an export whose range lies in the future is empty. Rejects with a Refusal: `conflict`,
 * `bad-credentials`.
 */
export async function requestExport(
  { read, commit }: Store,
  request: RequestedExport,
  now: number,
): Promise<ExportRow> {
  const id = uuidv7(now)
  const { workspace_id: workspaceId, from_at, to_at } = request
  const end = Math.max(from_at, Math.min(to_at, now + 1))
  const isStored = await tryCommit(commit([insertExport({ ...request, id, to_at: end, created_at: now })]))
  const [row] = isStored ? await exportById(read, { id, workspaceId }) : []
  if (row !== undefined) return row
  throw isStored ? buildGoneRefusal() : await buildLimitRefusal(read, workspaceId)
}

async function buildLimitRefusal(read: Read, workspaceId: string): Promise<Refusal> {
  const kept = await listExports(read, { workspaceId })
  if (((await unfinishedOfOwner(read, { workspaceId }))[0]?.count ?? 0) >= MAX_UNFINISHED_EXPORTS) {
    const message = `${MAX_UNFINISHED_EXPORTS} exports of this workspace are processing, with those of others of its owner: wait for one to end`
    return new Refusal('conflict', message, { limit: MAX_UNFINISHED_EXPORTS })
  }
  if (kept.length >= MAX_KEPT_EXPORTS) {
    const message = `this workspace has ${MAX_KEPT_EXPORTS} exports: delete one first`
    return new Refusal('conflict', message, { limit: MAX_KEPT_EXPORTS })
  }
  return buildGoneRefusal()
}

function buildGoneRefusal(): Refusal {
  return new Refusal('bad-credentials', 'the workspace of this key is deleted')
}
