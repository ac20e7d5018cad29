/** Removes finished exports: when a workspace requests it, and when they have expired. */
import type { Store } from '../../base/storage/db/database.js'
import { removeExportFile } from './export-file.js'
import { type ExportRef, exportById, listFinishedBefore, removeFinishedExport } from './export-records.js'

interface RemovalDeps extends Store {
  readonly folder: string
}

const BATCH_SIZE = 100

/** Returns the exports that it removed. The others are unknown, belong to another workspace, or are not finished. */
export async function removeExports(deps: RemovalDeps, refs: readonly ExportRef[]): Promise<readonly ExportRef[]> {
  const finished: ExportRef[] = []
  for (const ref of refs) {
    const [row] = await exportById(deps.read, ref)
    if (row !== undefined && row.status !== 'processing') finished.push(ref)
  }
  if (finished.length > 0) await deps.commit(finished.map(removeFinishedExport))
  for (const { id } of finished) await removeExportFile(deps.folder, id)
  return finished
}

/** Removes some exports that ended before this moment. Resolves to true if there may be more. */
export async function removeExpiredExports(deps: RemovalDeps, before: number): Promise<boolean> {
  const expired = await listFinishedBefore(deps.read, { before, limit: BATCH_SIZE })
  await removeExports(deps, expired)
  return expired.length === BATCH_SIZE
}
