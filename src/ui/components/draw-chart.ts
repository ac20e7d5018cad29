/** Draws a chart with uPlot in the colors of the style. It draws again when the width or the color scheme changes. */
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'

export interface PlotData {
  readonly times: readonly string[]
  readonly series: readonly { readonly name: string; readonly values: readonly number[] }[]
  readonly formatTime: (iso: string) => string
  readonly formatValue: (value: number) => string
}

/** CSS pixels. */
const HEIGHT = 220

/** Returns the function that removes the plot. */
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

/** The opacity of the first line's color below the line. You can see the line where a second one covers it. */
const FILL_ALPHA = '1c'

function drawPlot(place: HTMLElement, data: PlotData): uPlot {
  const { times, series } = data
  const color = (name: string): string => getComputedStyle(place).getPropertyValue(name).trim()
  const lines = series.map(({ name }, at) => {
    const stroke = color(`--series-${at + 1}`)
    const fill = at === 0 ? { fill: `${stroke}${FILL_ALPHA}` } : {}
    return { label: name, stroke, width: 2, points: { show: times.length < 2 }, ...fill }
  })
  const options: uPlot.Options = {
    width: place.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false } },
    scales: { y: { range: (_, __, most) => [0, Math.max(1, most * 1.1)] } },
    axes: buildAxes(place, color),
    series: [{}, ...lines],
    plugins: [createTip(data)],
  }
  const xs = times.map((at) => new Date(at).getTime() / 1_000)
  return new uPlot(options, [xs, ...series.map(({ values }) => [...values])], place)
}

/** Seconds. */
const DAY = 86_400
const dayName = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric' })
const hourName = new Intl.DateTimeFormat(undefined, { hour: 'numeric', minute: '2-digit' })
/** Distances between the grid lines of whole numbers. */
const wholeSteps = Array.from({ length: 10 }, (_, power) => [1, 2, 5].map((digit) => digit * 10 ** power)).flat()

function buildAxes(place: HTMLElement, color: (name: string) => string): uPlot.Axis[] {
  const common = {
    stroke: color('--soft'),
    grid: { stroke: color('--line'), width: 1 },
    ticks: { show: false },
    font: `12px ${getComputedStyle(place).fontFamily}`,
  }
  const nameTimes: uPlot.Axis.DynamicValues = (_, at, __, ___, distance) =>
    at.map((second) => (distance < DAY ? hourName : dayName).format(second * 1_000))
  return [
    { ...common, size: 30, space: 64, values: nameTimes },
    { ...common, size: 56, incrs: wholeSteps },
  ]
}

/** CSS pixels between the pointer and the numbers next to it. */
const TIP_DISTANCE = 14

/** Shows the time and the numbers at the pointer. */
function createTip(data: PlotData): uPlot.Plugin {
  const tip = document.createElement('div')
  tip.className = 'chart-tip'
  tip.hidden = true
  const move = ({ cursor: { idx, left = -1 }, over: { clientWidth: width } }: uPlot): void => {
    tip.hidden = typeof idx !== 'number' || left < 0
    if (typeof idx !== 'number' || left < 0) return
    tip.replaceChildren(...writeTip(data, idx))
    const isBeyondMiddle = left > width / 2
    tip.style.left = isBeyondMiddle ? '' : `${left + TIP_DISTANCE}px`
    tip.style.right = isBeyondMiddle ? `${width - left + TIP_DISTANCE}px` : ''
  }
  return { hooks: { init: ({ over }) => over.append(tip), setCursor: move } }
}

function writeTip({ times, series, formatTime, formatValue }: PlotData, at: number): HTMLElement[] {
  const title = document.createElement('strong')
  title.textContent = formatTime(times[at] ?? '')
  const lines = series.map(({ name, values }, place) => {
    const line = document.createElement('span')
    line.className = `chart-key chart-key-${place + 1}`
    line.textContent = `${name} ${formatValue(values[at] ?? 0)}`
    return line
  })
  return [title, ...lines]
}
