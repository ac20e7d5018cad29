/**
 * An import that ends before its request is answered, or with its command: the largest file, the journal, and the entry
 * of the audit log, which imports that go on after their request have too.
 */
import { Refusal } from '../../base/mail/refusal.js'
import type { ImportJournal } from '../../base/storage/db/csv-import.js'
import type { Read } from '../../base/storage/db/prepared.js'
import type { Write } from '../../base/storage/db/write.js'
import type { SuppressionImportReport } from '../../base/storage/tables/content-tables.js'
import { SERVICE_WORKSPACE } from '../../base/storage/tables/tables.js'
import { type Actor, recordAuditEntry } from '../accounts/access/audit-log.js'
import { requireWorkspace, workspaceById } from '../accounts/workspace/workspaces.js'

/** Bytes of a file: 25 MB. */
export const MAX_IMPORT_BYTES = 25 * 1_048_576

/** A journal that asserts that the workspace still exists, and notes nothing. The service is always there. */
export function createDirectJournal<Report>(read: Read, workspaceId: string): ImportJournal<Report> {
  if (workspaceId === SERVICE_WORKSPACE) {
    return { resumeFrom: null, recordProgress: () => [], assertMayContinue: async () => undefined }
  }
  return {
    resumeFrom: null,
    recordProgress: () => [requireWorkspace({ id: workspaceId })],
    assertMayContinue: async () => {
      if ((await workspaceById(read, { id: workspaceId })).length > 0) return
      throw new Refusal('bad-credentials', 'the workspace of this key is deleted')
    },
  }
}

interface ImportAct {
  readonly workspaceId: string
  readonly actor: Actor
  readonly at: number
}

/** Returns no write if no address was added. */
export function recordSuppressionImport(
  { workspaceId, actor, at }: ImportAct,
  { refusals: _, ...details }: SuppressionImportReport,
): readonly Write[] {
  if (details.added === 0) return []
  const action = 'suppressions.imported'
  return [recordAuditEntry({ workspaceId, actor, action, target: workspaceId, at, details })]
}
