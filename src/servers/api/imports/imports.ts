/** GET /v1/imports/:id: the progress and the report of an import that goes on after its request; the schemas of reports. */
import { z } from 'zod'
import { formatTimestamp as iso } from '../../../base/platform/clock.js'
import { textEncodings } from '../../../base/platform/csv/encoding.js'
import {
  MAX_LISTED,
  MAX_REASON_LINES,
  MAX_REASONS,
  type RefusedSummary,
} from '../../../base/platform/csv/refused-lines.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { parseJson } from '../../../base/storage/tables/columns.js'
import type {
  ContactImportReport,
  ImportError,
  SuppressionImportReport,
} from '../../../base/storage/tables/content-tables.js'
import { MAX_HINTS } from '../../../workspaces/audiences/address-hints.js'
import { type ImportRow, importById, MAX_PENDING_IMPORTS } from '../../../workspaces/imports/import-records.js'
import { json } from '../http/answer.js'
import { codeOfRefusal } from '../http/error-answer.js'
import { notFound, timestamp } from '../http/input/values.js'
import { type Route, route } from '../http/route/route.js'

const encoding = z.enum(textEncodings, `allowed: ${textEncodings.join(', ')}`)

/** The field of a request. */
export const encodingField = encoding.optional().meta({
  description:
    'The encoding of the file. Without it, the byte order mark or the characters decide between UTF-8, UTF-16 and ' +
    'Windows-1252.',
})

export const readAs = encoding.meta({ description: 'How the bytes of the file are read.', example: 'utf-8' })

const reasonFields = z.strictObject({
  field: z.string().nullable(),
  reason: z.string(),
  count: z.int(),
  lines: z.array(z.int()).meta({ description: `The first ${MAX_REASON_LINES} of its lines.` }),
  value: z.string().nullable().meta({ description: 'The value of the first of them.' }),
})

export function toReasons({ refusal_reasons: reasons }: RefusedSummary): z.output<typeof reasonFields>[] {
  return reasons.map(({ lines, ...reason }) => ({ ...reason, lines: [...lines] }))
}

export const refusedLineFields = {
  refused: z.int().meta({ description: 'Lines that were refused.' }),
  refusals: z
    .array(
      z.strictObject({
        line: z.int(),
        field: z.string().nullable(),
        reason: z.string(),
        value: z.string().nullable(),
      }),
    )
    .meta({
      description: `The first ${MAX_LISTED} of them, with the reason.`,
      example: [{ line: 7, field: 'email', reason: 'is not a mail address, local@domain', value: 'bob' }],
    }),
  refusal_reasons: z.array(reasonFields).meta({
    description: `The first ${MAX_REASONS} reasons of all refused lines.`,
    example: [{ field: 'email', reason: 'is not a mail address, local@domain', count: 1, lines: [7], value: 'bob' }],
  }),
}

export const hintKind = z.enum(['role', 'disposable', 'typo']).meta({ example: 'typo' })
const hintSuggestion = z.string().nullable().meta({
  description: 'The address that was probably meant; null: no other.',
  example: 'bob@gmail.com',
})

/** The hint at the address of one contact. */
export const addressHint = z
  .strictObject({ hint: hintKind, suggestion: hintSuggestion })
  .meta({ id: 'AddressHint', description: 'What may be wrong with an address that is stored all the same.' })

export const hintFields = {
  hinted: z
    .strictObject({ role: z.int(), disposable: z.int(), typo: z.int() })
    .meta({ description: 'Lines with each hint. They were imported.', example: { role: 0, disposable: 0, typo: 1 } }),
  hints: z
    .array(z.strictObject({ line: z.int(), email: z.string(), hint: hintKind, suggestion: hintSuggestion }))
    .meta({
      description: `The first ${MAX_HINTS} of them.`,
      example: [{ line: 9, email: 'bob@gmial.com', hint: 'typo', suggestion: 'bob@gmail.com' }],
    }),
}

export const contactCounts = {
  added: z.int(),
  updated: z.int(),
  unchanged: z.int().meta({ description: 'Lines that changed nothing.' }),
  still_unsubscribed: z.int().meta({ description: 'Lines that would have subscribed a contact again.' }),
  left_out: z.int().meta({ description: 'Lines that `leave_out` has left out.', example: 0 }),
}

export const contactReport = z
  .strictObject({
    encoding: readAs,
    ...contactCounts,
    ...refusedLineFields,
    ...hintFields,
  })
  .meta({ id: 'ContactImportReport' })

export const suppressionReport = z
  .strictObject({
    provider: z
      .enum(['postmark', 'sendgrid', 'mailgun', 'ses', 'list'])
      .meta({ description: 'The provider whose columns the file has; `list`: none of them.' }),
    encoding: readAs,
    added: z.int(),
    known: z.int().meta({ description: 'Already on the list, where they keep their first reason.' }),
    ...refusedLineFields,
  })
  .meta({ id: 'SuppressionImportReport' })

const importResource = z
  .strictObject({
    import_id: z.string(),
    kind: z.enum(['contacts', 'suppressions']),
    status: z.enum(['processing', 'completed', 'failed']).meta({ example: 'completed' }),
    rows: z.int().meta({ description: 'Lines of the file, without that of the column names.' }),
    done: z.int().meta({ description: 'Lines that are processed, with those that were refused.', example: 1_500 }),
    report: z
      .union([contactReport, suppressionReport])
      .nullable()
      .meta({ description: 'The same report as for a short file. Null while the import is processing.' }),
    error: z
      .strictObject({ code: z.string(), message: z.string() })
      .nullable()
      .meta({ description: 'Why it failed; lines imported before stay.', example: null }),
    created_at: timestamp,
    finished_at: timestamp.nullable(),
  })
  .meta({ id: 'Import' })

export function importRoute({ read }: { readonly read: Read }): Route {
  return route({
    method: 'GET',
    path: '/imports/:id',
    area: 'write',
    tag: 'Imports',
    summary: 'Show the progress of an import, and its report at the end',
    description: `A finished import is kept for 30 days. At most ${MAX_PENDING_IMPORTS} imports of a workspace run or wait.`,
    answers: { 200: { description: 'The import.', schema: importResource } },
    refusals: ['not_found'],
    run: async ({ principal: { workspaceId }, params: { id = '' } }) => {
      const [row] = await importById(read, { workspaceId, id })
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

function toReportResource(
  report: ContactImportReport | SuppressionImportReport,
): z.output<typeof contactReport> | z.output<typeof suppressionReport> {
  const refusals = [...report.refusals]
  const refusal_reasons = toReasons(report)
  if ('provider' in report) return { ...report, refusals, refusal_reasons }
  return { ...report, refusals, refusal_reasons, hints: [...report.hints] }
}

function toErrorFields({ kind, message }: ImportError): { readonly code: string; readonly message: string } {
  return { code: kind === 'internal' ? 'internal_server_error' : codeOfRefusal[kind], message }
}
