/** Draws a chart with uPlot in the colors of the style, and again when its width or the color scheme changes. */
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'

interface PlotData {
  readonly times: readonly string[]
  readonly series: readonly { readonly name: string; readonly values: readonly number[] }[]
}

/** CSS pixels. */
const HEIGHT = 220

/** Returns what removes it. */
export function createPlot(place: HTMLElement, data: PlotData): () => void {
  let plot = drawPlot(place, data)
  const scheme = matchMedia('(prefers-color-scheme: dark)')
  const redraw = (): void => {
    plot.destroy()
    plot = drawPlot(place, data)
  }
  const observer = new ResizeObserver(() => plot.setSize({ width: place.clientWidth, height: HEIGHT }))
  observer.observe(place)
  scheme.addEventListener('change', redraw)
  return () => {
    observer.disconnect()
    scheme.removeEventListener('change', redraw)
    plot.destroy()
  }
}

function drawPlot(place: HTMLElement, { times, series }: PlotData): uPlot {
  const style = getComputedStyle(place)
  const color = (name: string): string => style.getPropertyValue(name).trim()
  const axis = {
    stroke: color('--soft'),
    grid: { stroke: color('--line'), width: 1 },
    ticks: { show: false },
    font: `12px ${style.fontFamily}`,
  }
  const lines = series.map(({ name }, at) => ({ label: name, stroke: color(`--series-${at + 1}`), width: 2 }))
  const options: uPlot.Options = {
    width: place.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { drag: { x: false, y: false } },
    scales: { y: { range: (_, __, most) => [0, Math.max(1, most * 1.1)] } },
    axes: [axis, { ...axis, size: 56 }],
    series: [{}, ...lines.map((line) => ({ ...line, points: { show: times.length < 2 } }))],
  }
  const xs = times.map((at) => new Date(at).getTime() / 1_000)
  return new uPlot(options, [xs, ...series.map(({ values }) => [...values])], place)
}
