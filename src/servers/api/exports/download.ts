/** GET /v1/exports/:id/download: the file of an export, with a key or by its signed link. */

import { Refusal } from '../../../base/mail/refusal.js'
import { formatTimestamp } from '../../../base/platform/clock.js'
import { openExport } from '../../../records/exports/export-chunks.js'
import { type ExportRef, exportById } from '../../../records/exports/export-records.js'
import type { FileAnswer } from '../http/answer.js'
import { notFound } from '../http/input/values.js'
import { buildDownloadHeaders } from '../http/output/download-headers.js'
import { type Route, route } from '../http/route/route.js'
import { verifyExportLink } from './export-link.js'
import type { ExportDeps } from './exports.js'

export function exportDownloadRoute(deps: ExportDeps): Route {
  return route({
    method: 'GET',
    path: '/exports/:id/download',
    area: 'read',
    tag: 'Exports',
    summary: 'Download the CSV file of an export',
    description:
      'With a key, or by the link of the list, which needs none. One range may be requested (`Range`, `If-Range`); ' +
      'without a range the answer is compressed if `Accept-Encoding` names gzip. A range behind the end is a 416.',
    answers: {
      200: {
        description: 'The file.',
        type: 'text/csv',
        example: 'email,reason,source_email_id,created_at\r\nbob@example.com,manual,,2026-11-01T09:00:00.000Z\r\n',
        headers: ['Content-Disposition', 'Accept-Ranges', 'ETag'],
      },
      206: {
        description: 'The requested bytes of it.',
        type: 'text/csv',
        example: 'email,reason',
        headers: ['Content-Disposition', 'Accept-Ranges', 'ETag', 'Content-Range'],
      },
    },
    refusals: ['not_found', 'conflict', 'missing_required_field', 'validation_error'],
    run: ({ principal: { workspaceId }, params: { id = '' }, now }) => buildDownload(deps, { id, workspaceId }, now),
    byLink: ({ params: { id = '' }, query: { workspace: workspaceId, expires: expiresAt, signature }, now }) => {
      verifyExportLink(deps.secret, { workspaceId, exportId: id, expiresAt }, signature)
      if (now >= expiresAt) throw exportNotFound(id)
      return buildDownload(deps, { id, workspaceId }, now)
    },
  })
}

async function buildDownload({ read, lifetime }: ExportDeps, ref: ExportRef, now: number): Promise<FileAnswer> {
  const [row] = await exportById(read, ref)
  if (row?.status === 'processing') {
    throw new Refusal('conflict', 'the export is processing: there is no file yet', { id: ref.id })
  }
  const isThere = row?.status === 'completed' && now < (row.finished_at ?? 0) + lifetime
  if (row === undefined || !isThere) throw exportNotFound(ref.id)
  const name = `${row.type}-${formatTimestamp(row.created_at).slice(0, 10)}.csv`
  return {
    kind: 'file',
    type: 'text/csv; charset=utf-8',
    headers: buildDownloadHeaders(name),
    tag: `${row.id}-${row.bytes}`,
    file: openExport(read, row),
  }
}

function exportNotFound(id: string): Refusal {
  return notFound('not-found', 'export', id)
}
