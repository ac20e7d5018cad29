/** Accepts an import. It writes the file, then the record to disk before the request is answered. */
import { Refusal } from '../../base/mail/refusal.js'
import { uuidv7 } from '../../base/platform/ids.js'
import type { Store } from '../../base/storage/db/database.js'
import { tryCommit } from '../../base/storage/db/write.js'
import { toJson } from '../../base/storage/tables/columns.js'
import type { ImportOptions } from '../../base/storage/tables/content-tables.js'
import { type ImportRef, removeImportFile, storeImportFile } from './import-file.js'
import { countPendingImports, insertImport, MAX_PENDING_IMPORTS } from './import-records.js'

interface RequestedImport {
  readonly workspaceId: string
  readonly options: ImportOptions
  readonly file: Buffer
  /** Data rows of the file. */
  readonly total: number
}

/** Rejects with a Refusal: `rate-limited`, `bad-credentials`. */
export async function beginImport(deps: Store, request: RequestedImport, now: number): Promise<ImportRef> {
  const { read, commit } = deps
  const { workspaceId, options, file, total } = request
  const countPending = async (): Promise<number> => (await countPendingImports(read, { workspaceId }))[0]?.count ?? 0
  if ((await countPending()) >= MAX_PENDING_IMPORTS) throw buildLimitRefusal()
  const importRef = { id: uuidv7(now), workspaceId }
  const record = { ...importRef, workspace_id: workspaceId, kind: options.kind, options: toJson(options) }
  try {
    await storeImportFile(commit, importRef, file)
    const begun = commit([insertImport({ ...record, total, created_at: now, maxPending: MAX_PENDING_IMPORTS })])
    if (await tryCommit(begun)) return importRef
  } catch (error) {
    await removeImportFile(deps, importRef).catch(() => undefined) // If this fails, the next start removes the file.
    throw error
  }
  await removeImportFile(deps, importRef)
  if ((await countPending()) >= MAX_PENDING_IMPORTS) throw buildLimitRefusal()
  throw new Refusal('bad-credentials', 'the workspace of this key is deleted')
}

function buildLimitRefusal(): Refusal {
  const message = `${MAX_PENDING_IMPORTS} imports of the workspaces of this owner are pending: wait for one to end`
  return new Refusal('rate-limited', message, { limit: MAX_PENDING_IMPORTS, retry_after: 30 })
}
