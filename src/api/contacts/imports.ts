/**
 * Imports from CSV files: short ones are done when their request is answered, long ones go on
 * behind it, and GET /v1/imports/:id tells how far they are.
 */
import { z } from 'zod'
import { requireWorkspace, workspaceById } from '../../accounts/workspaces.js'
import { beginImport, type RequestedImport } from '../../imports/begin-import.js'
import type { ImportRef } from '../../imports/import-file.js'
import { type ImportRow, importById, MAX_PENDING_IMPORTS } from '../../imports/import-records.js'
import { Refusal } from '../../mail/refusal.js'
import { type Clock, formatTimestamp as iso } from '../../platform/clock.js'
import type { RefusedLine, RefusedSummary } from '../../platform/csv/refused-lines.js'
import type { Store } from '../../storage/database.js'
import type { ImportJournal } from '../../storage/import-journal.js'
import type { Read } from '../../storage/prepared.js'
import { parseJson } from '../../storage/tables/columns.js'
import type { ImportError } from '../../storage/tables/content-tables.js'
import type { FilesInMemory } from '../http/input/file-in-memory.js'
import { notFound, timestamp } from '../http/input/values.js'
import { codeOfRefusal } from '../http/output/error-answer.js'
import { type Answer, type DocumentedAnswer, json, type Route, route } from '../http/route.js'
import { contactReport, suppressionReport } from './import-report.js'

export interface ImportRouteDeps extends Store {
  readonly clock: Clock
  readonly files: FilesInMemory
  /** It is on disk and goes on behind the request. */
  readonly onImportStarted: (place: ImportRef) => void
}

/** Rows of a file that is taken in before its request is answered. */
export const MAX_SYNC_LINES = 1_000

/** Answered where a file has more. */
export const acceptedAnswer: DocumentedAnswer = {
  description: `The file has more than ${MAX_SYNC_LINES} lines: it is stored, and goes on behind the request.`,
  schema: z
    .strictObject({ data: z.strictObject({ import_id: z.string(), status: z.literal('processing') }) })
    .meta({ id: 'BegunImport' }),
}

/** Rejects with a Refusal: rate-limited, bad-credentials. */
export async function startLongImport(deps: ImportRouteDeps, wanted: RequestedImport, now: number): Promise<Answer> {
  const place = await beginImport(deps, wanted, now)
  deps.onImportStarted(place)
  return json(202, { data: { import_id: place.id, status: 'processing' } })
}

/** Of an import that ends with its request: nothing is noted but that the workspace is still there. */
export function createRequestJournal<Report>(read: Read, workspaceId: string): ImportJournal<Report> {
  return {
    resumeFrom: null,
    recordProgress: () => [requireWorkspace({ id: workspaceId })],
    assertMayContinue: () => {
      if (workspaceById(read, { id: workspaceId }).length > 0) return
      throw new Refusal('bad-credentials', 'the workspace of this key is deleted')
    },
  }
}

const importResource = z
  .strictObject({
    import_id: z.string(),
    kind: z.enum(['contacts', 'suppressions']),
    status: z.enum(['processing', 'completed', 'failed']).meta({ example: 'completed' }),
    rows: z.int().meta({ description: 'Lines of the file, without that of the columns.' }),
    done: z.int().meta({ description: 'Lines that are through, refused ones included.', example: 1_500 }),
    report: z
      .union([contactReport, suppressionReport])
      .nullable()
      .meta({ description: 'What became of the lines, as a short file is answered. Null while it is processing.' }),
    error: z
      .strictObject({ code: z.string(), message: z.string() })
      .nullable()
      .meta({ description: 'Why it failed; what was done before stays.', example: null }),
    created_at: timestamp,
    finished_at: timestamp.nullable(),
  })
  .meta({ id: 'Import' })

export function importRoute({ read }: Pick<ImportRouteDeps, 'read'>): Route {
  return route({
    method: 'GET',
    path: '/imports/:id',
    area: 'write',
    tag: 'Imports',
    summary: 'Show how far an import is, and its report at the end',
    description: `Finished imports are told about for 30 days. Up to ${MAX_PENDING_IMPORTS} of a workspace may be under way.`,
    answers: { 200: { description: 'The import.', schema: importResource } },
    refusals: ['not_found'],
    run: ({ principal: { workspaceId }, params: { id = '' } }) => {
      const [row] = importById(read, { workspaceId, id })
      if (row === undefined) throw notFound('not-found', 'import', id)
      return json(200, toImportResource(row))
    },
  })
}

function toImportResource(row: ImportRow): z.output<typeof importResource> {
  const { id, kind, status, total, done, report, error, created_at, finished_at } = row
  const isOver = status !== 'processing'
  return {
    import_id: id,
    kind,
    status,
    rows: total,
    done,
    report: isOver && report !== null ? toReportResource(parseJson(report)) : null,
    error: error === null ? null : toErrorFields(parseJson(error)),
    created_at: iso(created_at),
    finished_at: finished_at === null ? null : iso(finished_at),
  }
}

function toReportResource<Report extends RefusedSummary>(report: Report): Report & { refusals: RefusedLine[] } {
  return { ...report, refusals: [...report.refusals] }
}

function toErrorFields({ kind, message }: ImportError): { readonly code: string; readonly message: string } {
  return { code: kind === 'internal' ? 'internal_server_error' : codeOfRefusal[kind], message }
}
