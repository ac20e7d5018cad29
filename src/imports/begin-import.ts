/** An import becomes ours: its file, then its record, on disk before the request is answered. */
import { Refusal } from '../mail/refusal.js'
import { uuidv7 } from '../platform/ids.js'
import type { Read } from '../storage/prepared.js'
import { unlessMissed } from '../storage/writer/unless-missed.js'
import type { Commit } from '../storage/writer/write.js'
import { type ImportPlace, keepFile, removeFile } from './import-file.js'
import type { ImportOptions } from './import-options.js'
import { insertImport, MAX_PENDING, pendingImports } from './import-records.js'

export interface BeginDeps {
  readonly read: Read
  readonly commit: Commit
}

export interface WantedImport {
  readonly workspaceId: string
  readonly options: ImportOptions
  readonly file: Buffer
  /** Rows of the file. */
  readonly total: number
}

/** Rejects with a Refusal: rate-limited, bad-credentials. */
export async function beginImport(deps: BeginDeps, wanted: WantedImport, now: number): Promise<ImportPlace> {
  const { read, commit } = deps
  const { workspaceId, options, file, total } = wanted
  const pending = (): number => pendingImports(read, { workspaceId })[0]?.count ?? 0
  if (pending() >= MAX_PENDING) throw tooMany()
  const place = { id: uuidv7(now), workspaceId }
  const record = { ...place, workspace_id: workspaceId, kind: options.kind, options: JSON.stringify(options) }
  try {
    await keepFile(commit, place, file)
    const begun = commit([insertImport({ ...record, total, created_at: now, most: MAX_PENDING })])
    if (await unlessMissed(begun)) return place
  } catch (error) {
    await removeFile(deps, place).catch(() => undefined) // else the next start does it
    throw error
  }
  await removeFile(deps, place)
  if (pending() >= MAX_PENDING) throw tooMany()
  throw new Refusal('bad-credentials', 'the workspace of this key is deleted')
}

function tooMany(): Refusal {
  const message = `${MAX_PENDING} imports of this workspace are under way: wait for one to end`
  return new Refusal('rate-limited', message, { limit: MAX_PENDING, retry_after: 30 })
}
