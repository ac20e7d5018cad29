/** GET /ui/api/metrics/daily: what plots show, the emails of each day by what happened to them. */
import { z } from 'zod'
import type { ReadSettings } from '../../../base/config/live-config.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { readDailyMetrics } from '../../../records/metrics/daily-metrics.js'
import { utc } from '../../../records/metrics/time-zone.js'
import { json } from '../http/answer.js'
import { domainName } from '../http/input/values.js'
import { type Route, route } from '../http/route/route.js'
import { tagFilter, timeZone } from '../metrics/metrics.js'
import { windowFields, windowOf } from '../metrics/metrics-window.js'

const query = z.strictObject({
  ...windowFields,
  tz: timeZone.optional().meta({ description: 'The time zone of days. Default UTC.' }),
  domain: domainName.optional().meta({ description: 'Only emails from this domain.' }),
  tag: tagFilter.optional().meta({ description: 'Only emails with this tag: `name:value`.' }),
})

const count = z.int().min(0)
const percent = z.number().meta({ example: 5 })

const days = z
  .strictObject({
    data: z.array(
      z.strictObject({
        date: z.string().meta({ example: '2030-01-30' }),
        sent: count.meta({ description: 'All that left.' }),
        delivered: count.meta({ description: 'Includes complaints.' }),
        bounced: count,
        failed: count,
        complained: count,
        opened: count.meta({ description: 'Emails that persons opened.' }),
        clicked: count.meta({ description: 'Emails in which persons clicked a link.' }),
      }),
    ),
    limits: z
      .strictObject({ bounce_warn_percent: percent, bounce_hold_percent: percent })
      .meta({ description: 'The shares from which the circuit breaker warns and holds mail.' }),
  })
  .meta({ id: 'DailyMetrics' })

interface DailyDeps {
  readonly read: Read
  readonly settings: ReadSettings
}

export function dailyMetricsRoute({ read, settings }: DailyDeps): Route {
  return route({
    method: 'GET',
    path: '/metrics/daily',
    area: 'read',
    tag: 'Overview',
    summary: 'Show the emails of each day by what happened to them',
    description: 'An email counts on the day on which it was made. Days without emails are included.',
    query,
    answers: { 200: { description: 'The days, oldest first.', schema: days } },
    refusals: [],
    run: async ({ principal: { workspaceId }, now, query: { tz: offsetAt = utc, domain, tag, ...time } }) => {
      const window = windowOf(time, now)
      const data = await readDailyMetrics(read, { workspaceId, domain, tag, window, offsetAt })
      const { bounce_warn_percent, bounce_hold_percent } = settings().limits.breaker
      return json(200, { data, limits: { bounce_warn_percent, bounce_hold_percent } })
    },
  })
}
