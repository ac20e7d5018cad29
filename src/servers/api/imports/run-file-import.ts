/**
 * The answer to an uploaded CSV file, whatever is imported: a short file is imported before its request
 * is answered; a long one is stored, answered 202 and imported afterwards (`imports.ts` shows it).
 */

import { z } from 'zod'
import type { Clock } from '../../../base/platform/clock.js'
import type { ImportJournal } from '../../../base/storage/db/csv-import.js'
import type { Store } from '../../../base/storage/db/database.js'
import type { ImportOptions } from '../../../base/storage/tables/content-tables.js'
import { beginImport } from '../../../workspaces/imports/begin-import.js'
import { createDirectJournal, MAX_IMPORT_BYTES } from '../../../workspaces/imports/direct-import.js'
import type { ImportRunner } from '../../../workspaces/imports/import-runner.js'
import { type Answer, json } from '../http/answer.js'
import { type FilesInMemory, withFileInMemory } from '../http/input/file-in-memory.js'
import type { FileLimit, UploadedFile } from '../http/input/upload.js'
import type { DocumentedAnswer } from '../http/route/documented-route.js'

export interface ImportRouteDeps extends Store {
  readonly clock: Clock
  readonly files: FilesInMemory
  readonly imports: ImportRunner
}

export const importFileLimit: FileLimit = { bytes: MAX_IMPORT_BYTES, tooLarge: 'too-large' }

/** Rows of a file that is imported before its request is answered. */
const MAX_SYNC_ROWS = 1_000

/** The answer to a longer file. */
export const acceptedAnswer: DocumentedAnswer = {
  description: `The file has more than ${MAX_SYNC_ROWS} lines: it is stored, and imported after this answer.`,
  schema: z
    .strictObject({ data: z.strictObject({ import_id: z.string(), status: z.literal('processing') }) })
    .meta({ id: 'BegunImport' }),
}

interface FileImport<Report> {
  readonly workspaceId: string
  /** Throws a Refusal when the import is not possible. Called before the file is stored. */
  readonly check?: () => Promise<unknown>
  /** Rejects with a Refusal for a file that cannot be imported. */
  readonly plan: (file: Buffer) => Promise<PlannedImport<Report>>
  readonly now: number
}

interface PlannedImport<Report> {
  /** Data rows of the file. */
  readonly total: number
  /** The options that the import keeps. */
  readonly options: ImportOptions
  readonly importRows: (journal: ImportJournal<Report>) => Promise<Report>
}

/**
 * Rejects with a Refusal `rate-limited`, `bad-credentials`, `storage-full` or `unavailable`, or with one for the file.
 */
export function runFileImport<Report>(
  deps: ImportRouteDeps,
  uploaded: UploadedFile,
  { workspaceId, check, plan, now }: FileImport<Report>,
): Promise<Answer> {
  return withFileInMemory(uploaded, deps.files, workspaceId, async (file) => {
    const { total, options, importRows } = await plan(file)
    if (total <= MAX_SYNC_ROWS) {
      const body = await importRows(createDirectJournal(deps.read, workspaceId))
      return { kind: 'json', status: 200, body }
    }
    await check?.()
    const ref = await beginImport(deps, { workspaceId, options, file, total }, now)
    deps.imports.begin(ref)
    return json(202, { data: { import_id: ref.id, status: 'processing' } })
  })
}
