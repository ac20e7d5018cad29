/**
 * GET /ui/api/suppressions: searches the suppression list, for pages in a browser. GET
 * /v1/suppressions lists it.
 */
import { z } from 'zod'
import type { Read } from '../../../base/storage/db/prepared.js'
import { searchSuppressions } from '../../../records/suppressions/suppression-search.js'
import { json } from '../http/answer.js'
import { limit } from '../http/input/paging.js'
import { type Route, route } from '../http/route/route.js'
import { suppressionReason, suppressionRecord, toSuppressionResource } from './suppressions.js'

const MAX_TEXT = 254
const textRule = `allowed: 1 to ${MAX_TEXT} characters`
const text = z.string(textRule).min(1, textRule).max(MAX_TEXT, textRule)

const query = z.strictObject({
  email: text
    .optional()
    .meta({ description: 'The beginning of the address, in any case. Default: all addresses.', example: 'bob' }),
  reason: suppressionReason.optional().meta({ description: 'Only addresses with this reason.' }),
  limit,
  cursor: text.optional().meta({ description: '`next_cursor` of the page before.' }),
})

const page = z.strictObject({ data: z.array(suppressionRecord), next_cursor: z.string().nullable() })

export function suppressionSearchRoute({ read }: { readonly read: Read }): Route {
  return route({
    method: 'GET',
    path: '/suppressions',
    area: 'read',
    tag: 'Suppressions',
    summary: 'Search the suppressed addresses by their beginning, in the order of the addresses',
    query,
    answers: { 200: { description: 'A page.', schema: page } },
    refusals: [],
    run: async ({ principal: { workspaceId }, query: { email = '', reason, limit, cursor } }) => {
      const search = { workspaceId, beginning: email, reason, after: cursor, limit: limit + 1 }
      const rows = await searchSuppressions(read, search)
      const data = rows.slice(0, limit).map(toSuppressionResource)
      return json(200, { data, next_cursor: rows.length > limit ? (data.at(-1)?.email ?? null) : null })
    },
  })
}
