/**
 * Lines or stacked bars over time. uPlot draws them, and is loaded when the first chart appears. A table below has the
 * numbers.
 */
import type { VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { type ApiError, asApiError } from '../api/api-error.ts'
import { loadCode } from '../api/load-code.ts'
import type { PlotData } from './draw-chart.ts'
import { formatDateTime, formatNumber } from './format.ts'
import { Fault } from './loaded.tsx'
import { Table } from './table.tsx'

interface Series {
  readonly name: string
  readonly values: readonly number[]
}

interface Limit {
  readonly name: string
  readonly value: number
}

interface ChartProps {
  /** What the chart shows: `Emails by hour`. */
  readonly title: string
  /** ISO 8601 times, in order. */
  readonly times: readonly string[]
  readonly series: readonly Series[]
  /** `bars` puts the series on top of each other, the first below. */
  readonly kind?: 'lines' | 'bars'
  /** Dashed lines across the chart. */
  readonly limits?: readonly Limit[]
  /** Numbers that only the table and the note at the pointer have. */
  readonly others?: readonly Series[]
  readonly formatTime?: (iso: string) => string
  readonly formatValue?: (value: number) => string
}

export function Chart(props: ChartProps): VNode {
  const { title, times, series, kind = 'lines', limits = [], others = [] } = props
  const { formatTime = formatDateTime, formatValue = formatNumber } = props
  const plotted = { times, series, kind, limits, others, formatTime, formatValue }
  const place = useRef<HTMLDivElement>(null)
  const [error, setError] = useState<ApiError | null>(null)
  useEffect(() => drawChart(place.current, plotted, setError), [JSON.stringify([times, series, kind, limits, others])])
  const columns = [
    { title: 'Time', show: (at: number) => formatTime(times[at] ?? '') },
    ...[...others, ...series].map(({ name, values }) => ({
      title: name,
      kind: 'number' as const,
      show: (at: number) => formatValue(values[at] ?? 0),
    })),
  ]
  return (
    <figure class="chart">
      <figcaption>
        <span class="chart-title">{title}</span>
        <ul class="chart-keys">
          {series.map(({ name }, at) => (
            <li key={name} class={`chart-key chart-key-${at + 1}`}>
              {name}
            </li>
          ))}
          {limits.map(({ name, value }) => (
            <li key={name} class="chart-key chart-key-limit">
              {formatValue(value)}: {name}
            </li>
          ))}
        </ul>
      </figcaption>
      {error === null ? null : <Fault error={error} />}
      <div ref={place} class="chart-plot" aria-hidden="true" />
      <details class="chart-numbers">
        <summary>Numbers as a table</summary>
        <Table caption={title} columns={columns} rows={times.map((_, at) => at)} rowKey={(at) => times[at] ?? ''} />
      </details>
    </figure>
  )
}

/** Draws into `place` and follows its width. Returns the function that removes the drawing. */
function drawChart(
  place: HTMLDivElement | null,
  data: PlotData,
  onFault: (error: ApiError | null) => void,
): () => void {
  if (place === null) return () => undefined
  const state = { removed: false, remove: (): void => undefined }
  loadCode(() => import('./draw-chart.ts')).then(
    ({ createPlot }) => {
      if (state.removed) return
      onFault(null)
      state.remove = createPlot(place, data)
    },
    (thrown: unknown) => {
      if (!state.removed) onFault(asApiError(thrown))
    },
  )
  return () => {
    state.removed = true
    state.remove()
  }
}
