/** The plots of each day: what happened to the emails, and what their readers did. */
import type { VNode } from 'preact'
import { sessionApi, unwrap } from '../../api/client.ts'
import type { components } from '../../api/session-schema.d.ts'
import { Chart } from '../../components/chart.tsx'
import { readNow } from '../../components/clock.ts'
import { formatDay, formatPercent, formatSmallPercent } from '../../components/format.ts'
import { PASSED_ON } from '../../components/mail-state.tsx'
import './daily-charts.css'
import { countPassedOn } from './passed-on.ts'

type DailyMetrics = components['schemas']['DailyMetrics']
type Day = DailyMetrics['data'][number]

export interface MetricsQuery {
  /** ISO 8601. */
  readonly from?: string
  readonly to?: string
  readonly domain?: string
  readonly tag?: string
}

/** The time zone of the browser. */
export function findZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone
}

/** Midnight at the beginning of the first of the last `count` days, today included. */
export function startOfDays(count: number): string {
  const at = new Date(readNow())
  at.setHours(0, 0, 0, 0)
  at.setDate(at.getDate() - count + 1)
  return at.toISOString()
}

export function loadDays(query: MetricsQuery): Promise<DailyMetrics> {
  const params = { query: { ...query, tz: findZone() } }
  return unwrap(sessionApi.GET('/ui/api/metrics/daily', { params }))
}

export function DailyCharts({ data, limits }: DailyMetrics): VNode {
  const rates = chooseRates(data, limits)
  return (
    <div class="daily-charts">
      <PartsChart days={data} />
      {rates.map((rate) => (
        <Chart key={rate.title} times={listTimes(data)} formatTime={formatDay} formatValue={formatPercent} {...rate} />
      ))}
    </div>
  )
}

function PartsChart({ days }: { readonly days: readonly Day[] }): VNode {
  const pick = (name: string, countOf: (day: Day) => number) => ({ name, values: days.map(countOf) })
  return (
    <Chart
      title="Mail by day"
      times={listTimes(days)}
      formatTime={formatDay}
      kind="bars"
      others={[pick('Sent', ({ sent }) => sent), pick('Complained', ({ complained }) => complained)]}
      series={[
        pick('Delivered', ({ delivered }) => delivered),
        pick(PASSED_ON, countPassedOn),
        pick('Bounced', ({ bounced }) => bounced),
        pick('Failed', ({ failed }) => failed),
      ]}
    />
  )
}

function listTimes(days: readonly Day[]): readonly string[] {
  return days.map(({ date }) => new Date(`${date}T00:00`).toISOString())
}

type RateChart = Pick<Parameters<typeof Chart>[0], 'title' | 'series' | 'limits' | 'formatValue'>

function chooseRates(days: readonly Day[], limits: DailyMetrics['limits']): readonly RateChart[] {
  const rate = (name: string, part: Count, whole: Count) => ({
    name,
    values: days.map((day) => (day[whole] === 0 ? 0 : Math.min(1, day[part] / day[whole]))),
  })
  return [
    {
      title: 'Opens and clicks by day',
      series: [rate('Opened', 'opened', 'delivered'), rate('Clicked', 'clicked', 'delivered')],
    },
    {
      title: 'Bounces by day',
      series: [rate('Bounced', 'bounced', 'sent')],
      limits: [
        { name: 'Posthorn warns', value: limits.bounce_warn_percent / 100 },
        { name: 'Posthorn holds mail', value: limits.bounce_hold_percent / 100 },
      ],
    },
    {
      title: 'Complaints by day',
      formatValue: formatSmallPercent,
      series: [rate('Complained', 'complained', 'delivered')],
      limits: complaintLimits,
    },
  ]
}

type Count = Exclude<keyof Day, 'date'>

/** Google and Yahoo publish both in their rules for senders. */
const complaintLimits = [
  { name: 'Google and Yahoo want less', value: 0.001 },
  { name: 'they refuse it', value: 0.003 },
]
