/** Removes the records of finished exports: when a workspace requests it, and when they have expired. */
import type { Store } from '../../base/storage/db/database.js'
import { sweepPieces } from './export-chunks.js'
import { type ExportRef, exportById, listFinishedBefore, removeFinishedExport } from './export-records.js'

const BATCH_SIZE = 100

/**
 * Returns the exports that it removed. The others are unknown, belong to another workspace, or are not finished. Their
 * files are left to the next sweep.
 */
export async function removeExports(store: Store, refs: readonly ExportRef[]): Promise<readonly ExportRef[]> {
  const finished: ExportRef[] = []
  for (const ref of refs) {
    const [row] = await exportById(store.read, ref)
    if (row !== undefined && row.status !== 'processing') finished.push(ref)
  }
  if (finished.length > 0) await store.commit(finished.map(removeFinishedExport))
  return finished
}

/** Removes some exports that ended before this moment, with their files. Resolves to true if there may be more. */
export async function removeExpiredExports(store: Store, before: number): Promise<boolean> {
  const expired = await listFinishedBefore(store.read, { before, limit: BATCH_SIZE })
  await removeExports(store, expired)
  if (expired.length > 0) await sweepPieces(store)
  return expired.length === BATCH_SIZE
}
