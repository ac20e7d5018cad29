/** GET /v1/metrics: totals, rates and a time series of the workspace's emails. */
import { z } from 'zod'
import { formatTimestamp } from '../../../base/platform/clock.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { MAX_TAG_TEXT } from '../../../outbound/sending/dialect-fields.js'
import { toRecipientCounts } from '../../../records/messages/email/recipient-counts.js'
import { readEmailMetrics } from '../../../records/metrics/email-metrics.js'
import { ratesOf, summarize } from '../../../records/metrics/summary.js'
import { groupings } from '../../../records/metrics/time-series.js'
import { findTimeZone, type OffsetAt, utc } from '../../../records/metrics/time-zone.js'
import type { Window } from '../../../records/metrics/window.js'
import { recipientCounts } from '../emails/email-record.js'
import { json } from '../http/answer.js'
import { domainName, timestamp } from '../http/input/values.js'
import { type Route, route } from '../http/route/route.js'
import { windowFields, windowOf } from './metrics-window.js'

const TAG_RULE = `allowed: name:value, each of 1 to ${MAX_TAG_TEXT} characters`
const ZONE_RULE = 'allowed: the name of a time zone of the IANA database, such as Europe/Berlin'
const MAX_ZONE = 64

export const tagFilter = z.string(TAG_RULE).refine(isTag, TAG_RULE)
export const timeZone = z.string(ZONE_RULE).transform((given, context): OffsetAt => {
  const zone = given.length > MAX_ZONE ? null : findTimeZone(given)
  if (zone !== null) return zone
  context.addIssue({ code: 'custom', message: ZONE_RULE })
  return z.NEVER
})

const query = z.strictObject({
  ...windowFields,
  group_by: z
    .enum(groupings, `allowed: ${groupings.join(', ')}`)
    .default('day')
    .meta({ description: 'What `time_series` counts emails by. Default day.' }),
  tz: timeZone.optional().meta({ description: 'The time zone of days and hours. Default UTC.' }),
  domain: domainName.optional().meta({ description: 'Only emails from this domain.' }),
  tag: tagFilter.optional().meta({ description: 'Only emails with this tag: `name:value`.' }),
})

const countLike = (example: number) => z.int().min(0).meta({ example })
const percentageLike = (example: number) => z.number().min(0).max(100).meta({ example })

const metrics = z
  .strictObject({
    period: z
      .strictObject({
        start: timestamp.meta({ example: '2030-01-01T09:00:00.000Z' }),
        end: timestamp,
        days: z.int().meta({ example: 30 }),
      })
      .meta({
        description: 'From `start` until before `end`: the window in whole quarters of an hour, and up to now.',
      }),
    summary: z.strictObject({
      total: countLike(1250).meta({
        description: 'Emails that were made in the window, cancelled and scheduled ones too.',
      }),
      sent: countLike(1200).meta({ description: 'All that left: sent, delivered, complained and bounced.' }),
      delivered: countLike(1167).meta({ description: 'Includes complaints.' }),
      bounced: countLike(30).meta({ description: 'Hard and soft.' }),
      failed: countLike(10),
      queued: countLike(25),
      scheduled: countLike(10),
      opens: countLike(900).meta({ description: 'By persons, repeats included.' }),
      unique_opens: countLike(610).meta({ description: 'Emails that persons opened.' }),
      clicks: countLike(240).meta({ description: 'By persons, repeats included.' }),
      unique_clicks: countLike(180).meta({ description: 'Emails in which persons clicked a link.' }),
      machine_opens: countLike(75).meta({ description: 'By programs; in none of the numbers above.' }),
      machine_clicks: countLike(40).meta({ description: 'By programs; in none of the numbers above.' }),
    }),
    recipients: recipientCounts,
    rates: z
      .strictObject({
        delivery_rate: percentageLike(97.25),
        bounce_rate: percentageLike(2.5),
        open_rate: percentageLike(52.27),
        click_rate: percentageLike(15.42),
      })
      .meta({
        description:
          'Percentages with two decimals; 0 where there is nothing to relate to. Deliveries and bounces are relative to ' +
          'emails sent, unique opens and clicks to emails delivered.',
      }),
    time_series: z
      .array(
        z.strictObject({
          period: z.string().meta({
            description: 'A date, an hour of the day (00:00) or a status of emails.',
            example: '2030-01-30',
          }),
          count: countLike(42),
        }),
      )
      .meta({ description: 'Emails made in each period, those with none included.' }),
  })
  .meta({ id: 'Metrics' })

export function metricsRoute({ read }: { readonly read: Read }): Route {
  return route({
    method: 'GET',
    path: '/metrics',
    area: 'read',
    tag: 'Metrics',
    summary: 'Show how many emails were sent, delivered, opened and clicked',
    description:
      'An email counts when it was made, with what happened to it since; so do its opens and clicks. `recipients` counts ' +
      'the recipients of these emails, each in one state: who complained is not under `delivered`, and who was ' +
      'delivered to is not under `sent`.',
    query,
    answers: { 200: { description: 'The metrics.', schema: metrics } },
    refusals: [],
    run: async ({ principal: { workspaceId }, now, query: { group_by: grouping, tz = utc, domain, tag, ...time } }) => {
      const window = windowOf(time, now)
      const request = { workspaceId, domain, tag, window, grouping, offsetAt: tz }
      const { sums, series } = await readEmailMetrics(read, request)
      const summary = summarize(sums)
      const period = {
        start: formatTimestamp(window.start),
        end: formatTimestamp(endOf(window, now)),
        days: window.days,
      }
      return json(200, {
        period,
        summary,
        recipients: toRecipientCounts(sums),
        rates: ratesOf(summary),
        time_series: series,
      })
    },
  })
}

/** A window in whole quarters of an hour may end after now, but counts nothing that is still to come. */
function endOf({ start, end }: Window, now: number): number {
  return now > start && now < end ? now : end
}

/** The name and the value may contain colons. */
function isTag(text: string): boolean {
  const colon = text.indexOf(':')
  return colon > 0 && colon < text.length - 1 && text.length <= MAX_TAG_TEXT * 2 + 1
}
