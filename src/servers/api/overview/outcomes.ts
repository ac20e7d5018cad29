/** GET /ui/api/metrics/outcomes: what became of the newest mail by provider and by reason. */
import { z } from 'zod'
import { formatTimestamp as iso } from '../../../base/platform/clock.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { countRecentOutcomes } from '../../../records/events/recent-outcomes.js'
import { json } from '../http/answer.js'
import { domainName, timestamp } from '../http/input/values.js'
import { type Route, route } from '../http/route/route.js'
import { tagFilter } from '../metrics/metrics.js'
import { windowFields, windowOf } from '../metrics/metrics-window.js'

const query = z.strictObject({
  ...windowFields,
  domain: domainName.optional().meta({ description: 'Only emails from this domain.' }),
  tag: tagFilter.optional().meta({ description: 'Only emails with this tag: `name:value`.' }),
})

const count = z.int().min(0)

const outcomes = z
  .strictObject({
    since: timestamp.nullable().meta({
      description:
        'Recipients count from this time on, because the window has too many. Null: all of the window count.',
      example: null,
    }),
    providers: z.array(
      z.strictObject({
        name: z.string().meta({ description: 'A known mailbox provider, or a domain.', example: 'Google' }),
        delivered: count,
        bounced: count,
        failed: count,
      }),
    ),
    reasons: z.array(
      z.strictObject({
        reason: z.string().meta({ example: 'bad-mailbox' }),
        text: z.string().meta({ example: 'The mailbox does not exist.' }),
        count,
      }),
    ),
  })
  .meta({ id: 'RecentOutcomes' })

export function recentOutcomesRoute({ read }: { readonly read: Read }): Route {
  return route({
    method: 'GET',
    path: '/metrics/outcomes',
    area: 'read',
    tag: 'Overview',
    summary: 'Show what became of the newest mail by provider and by reason',
    description: 'Recipients count at the time of their outcome.',
    query,
    answers: { 200: { description: 'The counts, the largest first.', schema: outcomes } },
    refusals: [],
    run: async ({ principal: { workspaceId }, now, query: { domain, tag, ...time } }) => {
      const { since, providers, reasons } = await countRecentOutcomes(read, {
        ...{ workspaceId, domain, tag },
        window: windowOf(time, now),
      })
      return json(200, {
        since: since === null ? null : iso(since),
        providers: [...providers],
        reasons: [...reasons],
      })
    },
  })
}
