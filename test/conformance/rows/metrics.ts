/** Rows of the section "Metrics and usage" but usage. */
import { type Resource, reads } from '../support/row.js'
import { filledText, integer, list, matches, number, record, timestamp } from '../support/shapes.js'
import { recipientCounts } from './emails-create.js'

const counts = {
  ...{ total: integer, sent: integer, delivered: integer, bounced: integer, failed: integer, queued: integer },
  ...{ scheduled: integer, opens: integer, unique_opens: integer, clicks: integer, unique_clicks: integer },
  ...{ machine_opens: integer, machine_clicks: integer },
}
const series = (period: RegExp, exactly: number) =>
  record({
    period: record({ start: timestamp, end: timestamp, days: integer }),
    summary: record(counts),
    recipients: recipientCounts,
    rates: record({ delivery_rate: number, bounce_rate: number, open_rate: number, click_rate: number }),
    time_series: list(record({ period: matches(period), count: integer }), { exactly }),
  })
const days = (exactly: number) => series(/^\d{4}-\d\d-\d\d$/, exactly)
const links = (exactly: number) =>
  record({
    data: list(
      record({
        ...{ url: filledText, clicks: integer, unique_clicks: integer },
        ...{ first_clicked_at: timestamp, last_clicked_at: timestamp },
      }),
      { exactly },
    ),
  })

const nothing = Object.fromEntries(Object.keys(counts).map((name) => [`summary.${name}`, 0]))
const noRates = {
  ...{ 'rates.delivery_rate': 0, 'rates.bounce_rate': 0, 'rates.open_rate': 0, 'rates.click_rate': 0 },
}

/** A whole day of the past, in which nothing was sent. */
const longAgo = { from: '2020-01-01T00:00:00Z', to: '2020-01-03T00:00:00Z' }

const wrongWindows = [
  ['0 days', { days: '0' }, 'days'],
  ['91 days', { days: '91' }, 'days'],
  ['half a day', { days: '0.5' }, 'days'],
  ['days with from', { days: '1', from: '2020-01-01T00:00:00Z' }, 'days'],
  ['a time without an offset', { from: '2020-01-01T00:00:00' }, 'from'],
  ['a window of 91 days', { from: '2020-01-01T00:00:00Z', to: '2020-04-01T00:00:01Z' }, 'from'],
  ['a window up to now of more', { from: '2020-01-01T00:00:00Z' }, 'from'],
  ['an empty window', { from: '2020-01-01T00:00:00Z', to: '2020-01-01T00:00:00Z' }, 'to'],
  ['a time before 1970', { from: '1969-12-31T23:59:59.999Z', to: '1970-01-02T00:00:00Z' }, 'from'],
  ['an end whose year would have five digits', { to: '9999-12-31T23:59:59.999Z' }, 'to'],
  ['what is no domain', { domain: 'not a domain' }, 'domain'],
  ['a field that there is not', { status: 'sent' }, 'status'],
] as const
const wrongMetrics = [
  ['another grouping', { group_by: 'week' }, 'group_by'],
  ['a time zone that there is not', { tz: 'Europe/Atlantis' }, 'tz'],
  ['an offset as time zone', { tz: '+01:00' }, 'tz'],
  ['a tag without a value', { tag: 'metrics' }, 'tag'],
  ['a tag with an empty name', { tag: ':one' }, 'tag'],
  ['a page', { limit: '1' }, 'limit'],
] as const
const wrongLinks = [
  ['limit 0', { limit: '0' }, 'limit'],
  ['limit 101', { limit: '101' }, 'limit'],
  ['an offset behind the list', { offset: '501' }, 'offset'],
  ['a grouping', { group_by: 'day' }, 'group_by'],
] as const
const refused = (wrong: readonly (readonly [says: string, query: object, field: string])[]) =>
  wrong.map(([says, query, field]) => ({
    says,
    query: { ...query },
    refused: { code: 'validation_error', fields: [field] },
  }))

const tagged = { tag: 'metrics:one', days: '1' }
const browser = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0' }

export const metrics: Resource = {
  name: 'Metrics',
  rows: [
    {
      row: 'GET /v1/metrics',
      who: reads,
      cases: [
        {
          says: 'an email with a tag',
          request: 'POST /v1/emails',
          body: {
            ...{ from: 'app@a.test', to: ['bob@b.test', 'ann@b.test'], subject: 's' },
            html: '<p><a href="https://example.com/metrics">here</a></p>',
            tags: [{ name: 'metrics', value: 'one' }],
          },
          status: 201,
          keep: { counted: 'id' },
        },
        {
          says: 'it is delivered',
          query: tagged,
          until: true,
          shape: days(2),
          holds: {
            ...nothing,
            ...{ 'period.days': 1, 'summary.total': 1, 'summary.sent': 1, 'summary.delivered': 1 },
            ...{ ...noRates, 'rates.delivery_rate': 100 },
          },
        },
        { says: 'of a domain', query: { ...tagged, domain: 'A.test' }, holds: { 'summary.total': 1 } },
        { says: 'of another domain', query: { ...tagged, domain: 'b.test' }, holds: { ...nothing, ...noRates } },
        { says: 'of another tag', query: { ...tagged, tag: 'metrics:two' }, holds: nothing },
        {
          says: 'it is opened',
          request: 'GET /v1/track/open/:emailId',
          id: '{counted}',
          as: 'none',
          headers: browser,
        },
        {
          says: 'twice',
          request: 'GET /v1/track/open/:emailId',
          id: '{counted}',
          as: 'none',
          headers: browser,
        },
        {
          says: 'by a machine',
          request: 'GET /v1/track/open/:emailId',
          id: '{counted}',
          as: 'none',
          headers: { 'user-agent': 'GoogleImageProxy' },
        },
        {
          says: 'opens by persons, and by machines beside',
          query: { ...tagged, group_by: 'status' },
          until: true,
          shape: series(/^[a-z]+$/, 8),
          holds: {
            ...{ 'summary.opens': 2, 'summary.unique_opens': 1, 'summary.machine_opens': 1, 'rates.open_rate': 100 },
            ...{ 'time_series.3.period': 'delivered', 'time_series.3.count': 1, 'time_series.0.count': 0 },
          },
        },
        { says: '30 days by default', shape: days(31), holds: { 'period.days': 30 } },
        { says: '90 days', query: { days: '90', group_by: 'day' }, shape: days(91), holds: { 'period.days': 90 } },
        {
          says: 'by hour of the day',
          query: { ...tagged, group_by: 'hour', tz: 'Asia/Kolkata' },
          shape: series(/^([01]\d|2[0-3]):00$/, 24),
          holds: { 'time_series.0.period': '00:00', 'time_series.23.period': '23:00', 'summary.total': 1 },
        },
        {
          says: 'of a time, rounded to quarters of an hour',
          query: { from: '2020-01-01T00:07:30+01:00', to: '2020-01-02T22:50:00Z', tz: 'Europe/Berlin' },
          shape: days(2),
          holds: {
            ...{ ...nothing, ...noRates, 'period.days': 2 },
            ...{ 'period.start': '2019-12-31T23:00:00.000Z', 'period.end': '2020-01-02T23:00:00.000Z' },
            ...{ 'time_series.0.period': '2020-01-01', 'time_series.1.period': '2020-01-02' },
          },
        },
        { says: 'of another workspace', as: 'foreign', query: tagged, shape: days(2), holds: nothing },
        ...refused([...wrongWindows, ...wrongMetrics]),
      ],
    },
    {
      row: 'GET /v1/metrics/links',
      who: reads,
      cases: [
        {
          says: 'a link is clicked',
          request: 'GET /v1/track/click/:trackingId',
          id: '{link}',
          as: 'none',
          status: 302,
        },
        {
          says: 'the links that were clicked',
          query: { limit: '1' },
          until: true,
          shape: links(1),
          holds: { 'data.0.url': 'https://example.com/spring?a=1&b=2', 'data.0.unique_clicks': 1 },
        },
        { says: 'behind the last', query: { offset: '1', domain: 'a.test' }, shape: links(0) },
        { says: 'of another domain', query: { days: '90', domain: 'b.test' }, shape: links(0) },
        { says: 'of another time', query: longAgo, shape: links(0) },
        { says: 'of another workspace', as: 'foreign', shape: links(0) },
        ...refused([...wrongWindows, ...wrongLinks]),
      ],
    },
  ],
}
