/** GET /v1/metrics/links: the links that persons clicked most. */
import { z } from 'zod'
import { formatTimestamp } from '../../../base/platform/clock.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { MAX_LISTED_LINKS, readLinkMetrics } from '../../../records/metrics/link-metrics.js'
import { json } from '../http/answer.js'
import { domainName, timestamp, wholeNumber } from '../http/input/values.js'
import { type Route, route } from '../http/route/route.js'
import { windowFields, windowOf } from './metrics-window.js'

const MAX_PAGE = 100

const query = z.strictObject({
  ...windowFields,
  domain: domainName.optional().meta({ description: 'Only emails from this domain.' }),
  limit: wholeNumber(1, MAX_PAGE)
    .default(MAX_PAGE)
    .meta({ description: `How many at most. Default ${MAX_PAGE}.` }),
  offset: wholeNumber(0, MAX_LISTED_LINKS)
    .default(0)
    .meta({ description: `How many to skip; the list ends after ${MAX_LISTED_LINKS}. Default 0.` }),
})

const links = z
  .strictObject({
    data: z.array(
      z.strictObject({
        url: z.string().meta({ example: 'https://example.com/spring' }),
        clicks: z.int().meta({ example: 5 }),
        unique_clicks: z.int().meta({ example: 3, description: 'Emails in which it was clicked.' }),
        first_clicked_at: timestamp,
        last_clicked_at: timestamp,
      }),
    ),
  })
  .meta({ id: 'LinkMetrics', description: 'Without the clicks of machines.' })

export function linkMetricsRoute({ read }: { readonly read: Read }): Route {
  return route({
    method: 'GET',
    path: '/metrics/links',
    area: 'read',
    tag: 'Metrics',
    summary: 'List the links that were clicked most',
    description: 'Links in emails of the days (UTC) that the window touches, the most clicked first.',
    query,
    answers: { 200: { description: 'A page.', schema: links } },
    refusals: [],
    run: async ({ principal: { workspaceId }, now, query: { domain = '', limit, offset, ...time } }) => {
      const request = { workspaceId, domain, window: windowOf(time, now), slice: { offset, limit } }
      const found = await readLinkMetrics(read, request)
      const data = found.map(({ first_clicked_at: first, last_clicked_at: last, ...link }) => ({
        ...link,
        first_clicked_at: formatTimestamp(first),
        last_clicked_at: formatTimestamp(last),
      }))
      return json(200, { data })
    },
  })
}
