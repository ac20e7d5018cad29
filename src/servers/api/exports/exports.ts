/**
 * POST, GET and DELETE /v1/exports: CSV files that are written in the background.
 *
 * The list shows each export with a link; `download.ts` serves the files.
 */

import type { KeyObject } from 'node:crypto'
import { z } from 'zod'
import { formatTimestamp as iso } from '../../../base/platform/clock.js'
import type { Store } from '../../../base/storage/db/database.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import type { ExportFault } from '../../../base/storage/tables/export-tables.js'
import { requireKnownBroadcast } from '../../../outbound/broadcasts/broadcast-list.js'
import { type BroadcastRef, broadcastSummaryById } from '../../../outbound/broadcasts/broadcast-records.js'
import {
  type ExportRow,
  listExports,
  MAX_KEPT_EXPORTS,
  MAX_UNFINISHED_EXPORTS,
} from '../../../records/exports/export-records.js'
import type { ExportRunner } from '../../../records/exports/export-runner.js'
import { removeExports } from '../../../records/exports/remove-exports.js'
import { requestExport } from '../../../records/exports/request-export.js'
import { requireDiskSpace } from '../emails/email-acceptance.js'
import { json } from '../http/answer.js'
import { timestamp, uuid } from '../http/input/values.js'
import { type Route, route } from '../http/route/route.js'
import { buildExportLink } from './export-link.js'
import { exportRequest, exportType, toRequestedRange } from './export-request.js'

export interface ExportDeps extends Store {
  /** Milliseconds for which a finished export is kept. */
  readonly lifetime: number
  /** The key that signs links. */
  readonly secret: KeyObject
  /** It has no trailing slash. */
  readonly publicUrl: string
  /** False if the disk is nearly full. */
  readonly hasDiskSpace: () => boolean
  readonly exports: ExportRunner
}

const status = z.enum(['processing', 'completed', 'failed'])

const begun = z
  .strictObject({
    message: z.string().meta({ example: 'the export is processing' }),
    data: z.strictObject({ export_id: uuid, type: exportType, status, created_at: timestamp }),
  })
  .meta({ id: 'RequestedExport' })

export const exportResource = z
  .strictObject({
    export_id: uuid,
    type: exportType,
    status: status.meta({ example: 'completed' }),
    created_at: timestamp,
    download_url: z.url().nullable().meta({
      description: 'Needs no key, until it expires. Null: there is no file.',
      example:
        'https://mx.example.net/v1/exports/01a1ff35-3880-7ef5-bbba-0d7e1de2529c/download?workspace=ws_01a1ff35-3880-7ef5-bbba-0d7e1de2529c&expires=1896685200000&signature=c2lnbmF0dXJl',
    }),
    expires_at: timestamp.nullable().meta({
      description: 'When the file is removed; null until it is completed.',
      example: '2030-02-07T09:00:00.000Z',
    }),
    rows: z.int().meta({ description: 'Rows of the file until now, without the column names.', example: 1_500 }),
    progress: z.number().meta({ description: 'Share of the range that is done, 0 to 1.', example: 1 }),
    error: z.string().nullable().meta({ description: 'Why it failed.', example: null }),
  })
  .meta({ id: 'Export' })

const MAX_LISTED_IDS = 100
const idPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

const idList = z
  .string()
  .transform((text) => text.split(',', MAX_LISTED_IDS + 1).map((id) => id.trim().toLowerCase()))
  .refine(
    (ids) => ids.length <= MAX_LISTED_IDS && ids.every((id) => idPattern.test(id)),
    `allowed: up to ${MAX_LISTED_IDS} ids of exports (UUIDs), separated by commas`,
  )
  .meta({ description: 'Ids, separated by commas.', example: '0197b9e5-5c1c-7cf4-8d1f-0b6a2f6f4a10' })

const deleted = z
  .strictObject({
    message: z.string().meta({ example: 'the exports are deleted' }),
    deleted: z.array(uuid).meta({ description: 'Without those that are unknown or not finished.' }),
  })
  .meta({ id: 'DeletedExports' })

const tag = 'Exports'
const path = '/exports'

export function exportRoutes(deps: ExportDeps): readonly Route[] {
  return [createRoute(deps), listRoute(deps), deleteRoute(deps)]
}

function createRoute(deps: ExportDeps): Route {
  return route({
    method: 'POST',
    path,
    area: 'write',
    tag,
    summary: 'Export records of a time, or the recipients of a broadcast, as a CSV file',
    description:
      'The file is written in the background: GET /v1/exports shows when it is there. Records later than this request ' +
      `are not exported. At most ${MAX_UNFINISHED_EXPORTS} exports of a workspace are processing, and ` +
      `${MAX_KEPT_EXPORTS} are kept.`,
    body: exportRequest,
    answers: { 202: { description: 'It is processing.', schema: begun } },
    refusals: ['conflict', 'not_found'],
    run: async ({ principal: { workspaceId }, body, now }) => {
      requireDiskSpace(deps)
      const { broadcast_id: id } = body
      const startedAt = id === undefined ? 0 : await findBroadcastStart(deps.read, { workspaceId, id })
      const range = toRequestedRange(body, { startedAt, now })
      const row = await requestExport(deps, { workspace_id: workspaceId, ...range }, now)
      deps.exports.begin({ id: row.id, workspaceId })
      const data = { export_id: row.id, type: row.type, status: row.status, created_at: iso(row.created_at) }
      return json(202, { message: 'the export is processing', data })
    },
  })
}

/** 0 if the broadcast has not begun, or was deleted. Throws a Refusal `not-found` if nothing is known of it. */
async function findBroadcastStart(read: Read, ref: BroadcastRef): Promise<number> {
  await requireKnownBroadcast(read, ref)
  return (await broadcastSummaryById(read, ref))[0]?.started_at ?? 0
}

function listRoute(deps: ExportDeps): Route {
  return route({
    method: 'GET',
    path,
    area: 'read',
    tag,
    summary: 'List the exports of the workspace, newest first',
    answers: {
      200: { description: 'All that are kept.', schema: z.strictObject({ data: z.array(exportResource) }) },
    },
    refusals: [],
    run: async ({ principal: { workspaceId }, now }) =>
      json(200, {
        data: (await listExports(deps.read, { workspaceId })).map((row) => toExportResource(deps, row, now)),
      }),
  })
}

export function toExportResource(
  { secret, publicUrl, lifetime }: ExportDeps,
  row: ExportRow,
  now: number,
): z.output<typeof exportResource> {
  const { id, workspace_id: workspaceId, finished_at: finishedAt } = row
  const expiresAt = row.status === 'completed' && finishedAt !== null ? finishedAt + lifetime : null
  const link = { workspaceId, exportId: id, expiresAt: expiresAt ?? 0 }
  return {
    export_id: id,
    type: row.type,
    status: row.status,
    created_at: iso(row.created_at),
    download_url: expiresAt !== null && now < expiresAt ? buildExportLink(secret, publicUrl, link) : null,
    expires_at: expiresAt === null ? null : iso(expiresAt),
    rows: row.rows,
    progress: row.progress / 1_000,
    error: row.error === null ? null : reasons[row.error],
  }
}

const reasons: Readonly<Record<ExportFault, string>> = {
  'disk-full': 'the service has no room for the file now, try again later',
  internal: 'internal error',
}

function deleteRoute(deps: ExportDeps): Route {
  return route({
    method: 'DELETE',
    path,
    area: 'write',
    tag,
    summary: 'Delete finished exports with their files',
    query: z.strictObject({ export_ids: idList }),
    answers: { 200: { description: 'They are deleted.', schema: deleted } },
    refusals: ['missing_required_field'],
    run: async ({ principal: { workspaceId }, query: { export_ids: ids } }) => {
      const refs = [...new Set(ids)].map((id) => ({ id, workspaceId }))
      const removed = await removeExports(deps, refs)
      if (removed.length > 0) deps.exports.refresh()
      return json(200, { message: 'the exports are deleted', deleted: removed.map(({ id }) => id) })
    },
  })
}
