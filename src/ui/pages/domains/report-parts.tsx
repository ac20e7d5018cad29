/** Parts of the summaries of reports: bars of passes and failures, and plots by day. */
import type { VNode } from 'preact'
import { Chart } from '../../components/chart.tsx'
import { formatDay, formatNumber, formatPercent } from '../../components/format.ts'
import type { Column } from '../../components/table.tsx'

interface Counted {
  readonly passed: number
  readonly failed: number
}

/** `what` are messages or sessions. */
export function countColumns<Row extends Counted>(what: string): readonly Column<Row>[] {
  return [
    { title: what, kind: 'number', show: ({ passed, failed }) => formatNumber(passed + failed) },
    { title: 'Passed', kind: 'number', show: ({ passed }) => formatNumber(passed) },
    { title: 'Failed', kind: 'number', show: ({ failed }) => formatNumber(failed) },
    { title: 'Share that passed', show: (row) => <PassedBar {...row} /> },
  ]
}

/** The share of passes as a bar, with its number. */
function PassedBar({ passed, failed }: Counted): VNode {
  const total = passed + failed
  if (total === 0) return <span class="soft">–</span>
  return (
    <span class="share">
      <svg class="share-bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
        <rect class="share-failed" width="100" height="8" />
        <rect class="share-passed" width={(passed / total) * 100} height="8" />
      </svg>
      {formatPercent(passed / total)}
    </span>
  )
}

interface DayChartProps {
  readonly title: string
  readonly days: readonly (Counted & { readonly date: string })[]
}

export function DayChart({ title, days }: DayChartProps): VNode | null {
  if (days.length < 2) return null
  return (
    <Chart
      title={title}
      times={days.map(({ date }) => new Date(`${date}T00:00`).toISOString())}
      series={[
        { name: 'Failed', values: days.map(({ failed }) => failed) },
        { name: 'Passed', values: days.map(({ passed }) => passed) },
      ]}
      formatTime={formatDay}
    />
  )
}

/** `reports` are those that the sums leave out. */
export function Uncounted({ reports }: { readonly reports: number }): VNode | null {
  if (reports === 0) return null
  const [what, whose] = reports === 1 ? ['report is', 'its author'] : ['reports are', 'their authors']
  return (
    <p class="section-note">
      {formatNumber(reports)} {what} left out, because {whose} received no mail of this domain. Anyone can make up such
      a report.
    </p>
  )
}
