/** Runs one import from its present row to its end. The audiences and the suppressions import the rows. */

import type { Clock } from '../../base/platform/clock.js'
import type { ImportJournal } from '../../base/storage/db/csv-import.js'
import type { Read } from '../../base/storage/db/prepared.js'
import { type Commit, tryCommit, type Write } from '../../base/storage/db/write.js'
import { parseJson, toJson } from '../../base/storage/tables/columns.js'
import type {
  ContactImportReport,
  ImportOptions,
  SuppressionImportReport,
} from '../../base/storage/tables/content-tables.js'
import { importSuppressions } from '../../records/suppressions/import-suppressions.js'
import { importContacts } from '../audiences/import-contacts.js'
import { recordSuppressionImport } from './direct-import.js'
import { readImportFile } from './import-file.js'
import { advanceImport, completeImport, type ImportRow, importById } from './import-records.js'

export interface ImportDeps {
  readonly read: Read
  /** Caches of suppressions watch this commit. */
  readonly commit: Commit
  readonly clock: Clock
}

/** The import must not go on: it has ended, its workspace is deleted, or the daemon is stopping. */
export class ImportEnded extends Error {
  override name = 'ImportEnded'
}

/** Another node imports it too, and has gone on behind this run. */
export class ImportElsewhere extends Error {
  override name = 'ImportElsewhere'
}

/**
 * Resolves when the import is completed. Rejects with ImportEnded or ImportElsewhere, with a Refusal that explains the
 * failure, or with a fault of ours.
 */
export async function runImport(deps: ImportDeps, row: ImportRow, signal: AbortSignal): Promise<void> {
  const { read, commit, clock } = deps
  const { id, workspace_id: workspaceId } = row
  const importRef = { id, workspaceId }
  const options = parseJson(row.options)
  const noteEnd = await importRows(deps, row, options, signal)
  if ((await importById(read, importRef))[0]?.status !== 'processing') throw new ImportEnded(ENDED)
  const at = clock()
  const isCompleted = await tryCommit(commit([completeImport({ ...importRef, at }), ...noteEnd(at)]))
  // The record is read again after a pause: what misses each time must not repeat at once.
  if (!isCompleted) throw new ImportElsewhere('its completion has missed')
}

const ENDED = 'it has ended, or its workspace is gone'

type NoteEnd = (at: number) => readonly Write[]

async function importRows(
  deps: ImportDeps,
  row: ImportRow,
  options: ImportOptions,
  signal: AbortSignal,
): Promise<NoteEnd> {
  const workspaceId = row.workspace_id
  const file = readImportFile(deps.read, { id: row.id, workspaceId })
  if (options.kind === 'contacts') {
    const journal = createJournal<ContactImportReport>(deps, row, signal, (report) => {
      if (isSuppressionReport(report)) throw foreignReport(row)
      return report
    })
    await importContacts(deps, { ...options, workspaceId }, file, journal)
    return () => []
  }
  const journal = createJournal<SuppressionImportReport>(deps, row, signal, (report) => {
    if (!isSuppressionReport(report)) throw foreignReport(row)
    return report
  })
  const report = await importSuppressions(deps, { ...options, workspaceId }, file, journal)
  return (at) => recordSuppressionImport({ workspaceId, actor: options.actor, at }, report)
}

type StoredReport = ContactImportReport | SuppressionImportReport

function isSuppressionReport(report: StoredReport): report is SuppressionImportReport {
  return 'provider' in report
}

function foreignReport({ id }: ImportRow): Error {
  return new Error(`the report of import ${id} has the fields of another kind of import`)
}

/** `check` throws if the report is that of another kind of import. */
function createJournal<Report extends StoredReport>(
  { read }: ImportDeps,
  row: ImportRow,
  signal: AbortSignal,
  check: (report: StoredReport) => Report,
): ImportJournal<Report> {
  const importRef = { id: row.id, workspaceId: row.workspace_id }
  return {
    resumeFrom: row.report === null ? null : { rows: row.done, report: check(parseJson(row.report)) },
    recordProgress: ({ from, rows }, report) => [
      advanceImport({ ...importRef, from, done: rows, report: toJson(report) }),
    ],
    assertMayContinue: async (from) => {
      if (signal.aborted) throw new ImportEnded('stopped for now')
      const now = (await importById(read, importRef))[0]
      if (now?.status !== 'processing') throw new ImportEnded(ENDED)
      // The rows behind `from`, and the report on them, are those of another run.
      if (now.done !== from) throw new ImportElsewhere(`another node has imported up to row ${now.done}`)
    },
  }
}
