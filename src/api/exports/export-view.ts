/** GET /ui/api/workspaces/:workspaceId/exports: the exports with what was asked for, for people. */
import { z } from 'zod'
import { requirePermission } from '../../accounts/permissions.js'
import { findSessionPrincipal } from '../../accounts/sessions/session-principal.js'
import { listExports } from '../../exports/export-records.js'
import { formatTimestamp as iso } from '../../platform/clock.js'
import { json } from '../http/answer.js'
import { timestamp } from '../http/input/values.js'
import { type BrowserRoute, sessionRoute } from '../http/session-route.js'
import { type ExportDeps, exportResource, toExportResource } from './exports.js'

const exportView = exportResource
  .extend({
    from: timestamp.meta({ description: 'The first moment of the range.' }),
    to: timestamp.meta({ description: 'The moment after the last one.' }),
    domain: z.string().nullable().meta({ example: 'example.com' }),
    bytes: z.int().meta({ description: 'Size of the file until now.', example: 120_000 }),
  })
  .meta({ id: 'ExportView' })

export function exportViewRoute(deps: ExportDeps): BrowserRoute {
  const { read } = deps
  return sessionRoute({
    method: 'GET',
    path: '/workspaces/:workspaceId/exports',
    area: 'session',
    tag: 'Workspace views',
    summary: 'List the exports with their ranges, newest first',
    params: { workspaceId: 'Id of the workspace.' },
    answers: { 200: { description: 'All that are kept.', schema: z.strictObject({ data: z.array(exportView) }) } },
    refusals: [],
    run: ({ session, params: { workspaceId = '' }, now }) => {
      requirePermission(findSessionPrincipal(read, session.userId, workspaceId), 'read')
      const data = listExports(read, { workspaceId }).map((row) => ({
        ...toExportResource(deps, row, now),
        from: iso(row.from_at),
        to: iso(row.to_at),
        domain: row.domain,
        bytes: row.bytes,
      }))
      return json(200, { data })
    },
  })
}
