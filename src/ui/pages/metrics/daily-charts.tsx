/** The plots of each day: what happened to the emails, and what their readers did. */
import type { VNode } from 'preact'
import { sessionApi, unwrap } from '../../api/client.ts'
import type { components } from '../../api/session-schema.d.ts'
import { Chart } from '../../components/chart.tsx'
import { readNow } from '../../components/clock.ts'
import { formatDay } from '../../components/format.ts'
import './daily-charts.css'

export type Day = components['schemas']['DailyMetrics']['data'][number]

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

export async function loadDays(query: MetricsQuery): Promise<readonly Day[]> {
  const params = { query: { ...query, tz: findZone() } }
  return (await unwrap(sessionApi.GET('/ui/api/metrics/daily', { params }))).data
}

type Count = Exclude<keyof Day, 'date'>

const delivery: readonly (readonly [Count, string])[] = [
  ['sent', 'Sent'],
  ['delivered', 'Delivered'],
  ['bounced', 'Bounced'],
  ['complained', 'Complained'],
]
const reading: readonly (readonly [Count, string])[] = [
  ['opened', 'Opened'],
  ['clicked', 'Clicked'],
]

export function DailyCharts({ days }: { readonly days: readonly Day[] }): VNode {
  return (
    <div class="daily-charts">
      <DailyChart title="Sent mail by day" days={days} counts={delivery} />
      <DailyChart title="Opened and clicked mail by day" days={days} counts={reading} />
    </div>
  )
}

interface DailyChartProps {
  readonly title: string
  readonly days: readonly Day[]
  readonly counts: readonly (readonly [Count, string])[]
}

function DailyChart({ title, days, counts }: DailyChartProps): VNode {
  return (
    <Chart
      title={title}
      times={days.map(({ date }) => new Date(`${date}T00:00`).toISOString())}
      series={counts.map(([count, name]) => ({ name, values: days.map((day) => day[count]) }))}
      formatTime={formatDay}
    />
  )
}
