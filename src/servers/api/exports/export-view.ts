/** GET /ui/api/exports: the exports with what was asked for, for people. */
import { z } from 'zod'
import { formatTimestamp as iso } from '../../../base/platform/clock.js'
import { listExports } from '../../../records/exports/export-records.js'
import { recipientOutcomes } from '../../../records/messages/broadcast-outcomes.js'
import { json } from '../http/answer.js'
import { timestamp } from '../http/input/values.js'
import { type Route, route } from '../http/route/route.js'
import { type ExportDeps, exportResource, toExportResource } from './exports.js'

const exportView = exportResource
  .extend({
    from: timestamp.meta({ description: 'The first moment of the range.' }),
    to: timestamp.meta({ description: 'The moment after the last one.' }),
    domain: z.string().nullable().meta({ example: 'example.com' }),
    broadcast_id: z.string().nullable().meta({ description: 'The broadcast whose recipients it has.', example: null }),
    outcome: z.enum(recipientOutcomes).nullable().meta({ description: 'Which recipients it has.', example: null }),
    bytes: z.int().meta({ description: 'Size of the file until now.', example: 120_000 }),
  })
  .meta({ id: 'ExportView' })

export function exportViewRoute(deps: ExportDeps): Route {
  const { read } = deps
  return route({
    method: 'GET',
    path: '/exports',
    area: 'read',
    tag: 'Exports',
    summary: 'List the exports with their ranges, newest first',
    answers: { 200: { description: 'All that are kept.', schema: z.strictObject({ data: z.array(exportView) }) } },
    refusals: [],
    run: async ({ principal: { workspaceId }, now }) => {
      const data = (await listExports(read, { workspaceId })).map((row) => ({
        ...toExportResource(deps, row, now),
        from: iso(row.from_at),
        to: iso(row.to_at),
        domain: row.domain,
        broadcast_id: row.broadcast_id,
        outcome: row.outcome,
        bytes: row.bytes,
      }))
      return json(200, { data })
    },
  })
}
