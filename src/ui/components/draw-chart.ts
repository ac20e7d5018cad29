/** Draws a chart with uPlot in the colors of the style. It draws again when the width or the color scheme changes. */
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'

interface PlotSeries {
  readonly name: string
  readonly values: readonly number[]
}

export interface PlotData {
  readonly times: readonly string[]
  readonly series: readonly PlotSeries[]
  readonly kind: 'lines' | 'bars'
  readonly limits: readonly { readonly value: number }[]
  readonly others: readonly PlotSeries[]
  readonly formatTime: (iso: string) => string
  readonly formatValue: (value: number) => string
}

/** CSS pixels. */
const HEIGHT = 220

/** Returns the function that removes the plot. */
export function createPlot(place: HTMLElement, data: PlotData): () => void {
  let plot = drawPlot(place, data)
  const redraw = (): void => {
    plot.destroy()
    plot = drawPlot(place, data)
  }
  const observer = new ResizeObserver(() => plot.setSize({ width: place.clientWidth, height: HEIGHT }))
  observer.observe(place)
  const scheme = new MutationObserver(redraw)
  scheme.observe(document.documentElement, { attributeFilter: ['data-theme'] })
  return () => {
    observer.disconnect()
    scheme.disconnect()
    plot.destroy()
  }
}

/** The opacity of the first line's color below the line. You can see the line where a second one covers it. */
const FILL_ALPHA = '1c'

type FindColor = (name: string) => string

function drawPlot(place: HTMLElement, data: PlotData): uPlot {
  const { times, kind, limits } = data
  const color: FindColor = (name) => getComputedStyle(place).getPropertyValue(name).trim()
  const least = Math.max(isWhole(data) ? 1 : 0.001, ...limits.map(({ value }) => value))
  const options: uPlot.Options = {
    width: place.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { show: kind === 'lines' } },
    scales: {
      // Half a bar stands out at each end.
      x: kind === 'bars' ? { range: (_, first, last) => [first - HALF_DAY, last + HALF_DAY] } : {},
      y: { range: (_, __, most) => [0, Math.max(least, most) * 1.1] },
    },
    axes: buildAxes(place, color, data),
    series: [{}, ...(kind === 'bars' ? buildBars(data, color) : buildLines(data, color))],
    plugins: [createTip(data), createLimits(data, color)],
  }
  const xs = times.map((at) => new Date(at).getTime() / 1_000)
  return new uPlot(options, [xs, ...(kind === 'bars' ? stackValues(data) : listValues(data))], place)
}

/** Counts are whole numbers. Shares are not, and an axis of them needs finer steps. */
function isWhole({ series, limits }: PlotData): boolean {
  return limits.length === 0 && series.every(({ values }) => values.every(Number.isInteger))
}

function buildLines({ times, series }: PlotData, color: FindColor): uPlot.Series[] {
  return series.map(({ name }, at) => {
    const stroke = color(`--series-${at + 1}`)
    const fill = at === 0 ? { fill: `${stroke}${FILL_ALPHA}` } : {}
    return { label: name, stroke, width: 2, points: { show: times.length < 2 }, ...fill }
  })
}

function listValues({ series }: PlotData): number[][] {
  return series.map(({ values }) => [...values])
}

/** The sum of all series is drawn first, and the lowest bar last, over the others. */
function buildBars({ series }: PlotData, color: FindColor): uPlot.Series[] {
  const { bars } = uPlot.paths
  const paths = bars === undefined ? {} : { paths: bars({ size: [0.7, MAX_BAR] }) }
  return series
    .map(({ name }, at) => ({
      ...{ label: name, fill: color(`--series-${at + 1}`), width: 0, points: { show: false } },
      ...paths,
    }))
    .toReversed()
}

function stackValues({ times, series }: PlotData): number[][] {
  const sums: number[] = times.map(() => 0)
  const stacked = series.map(({ values }) => {
    for (const at of sums.keys()) sums[at] = (sums[at] ?? 0) + (values[at] ?? 0)
    return [...sums]
  })
  return stacked.toReversed()
}

/** Draws a dashed line across the plot for each limit. */
function createLimits({ limits }: PlotData, color: FindColor): uPlot.Plugin {
  const draw = ({ ctx, bbox, valToPos }: uPlot): void => {
    ctx.save()
    ctx.strokeStyle = color('--bad')
    ctx.lineWidth = devicePixelRatio
    ctx.setLineDash([6 * devicePixelRatio, 4 * devicePixelRatio])
    for (const { value } of limits) {
      const y = Math.round(valToPos(value, 'y', true))
      ctx.beginPath()
      ctx.moveTo(bbox.left, y)
      ctx.lineTo(bbox.left + bbox.width, y)
      ctx.stroke()
    }
    ctx.restore()
  }
  return { hooks: { draw } }
}

/** CSS pixels. */
const MAX_BAR = 40
/** Seconds. */
const DAY = 86_400
const HALF_DAY = DAY / 2
const dayName = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric' })
const hourName = new Intl.DateTimeFormat(undefined, { hour: 'numeric', minute: '2-digit' })
/** Distances between the grid lines. */
const steps = Array.from({ length: 14 }, (_, power) => [1, 2, 5].map((digit) => digit * 10 ** (power - 4))).flat()
const wholeSteps = steps.filter((step) => step >= 1)

function buildAxes(place: HTMLElement, color: FindColor, data: PlotData): uPlot.Axis[] {
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
    { ...common, size: 56, incrs: isWhole(data) ? wholeSteps : steps, values: (_, at) => at.map(data.formatValue) },
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

function writeTip({ times, series, others, formatTime, formatValue }: PlotData, at: number): HTMLElement[] {
  const title = document.createElement('strong')
  title.textContent = formatTime(times[at] ?? '')
  const write = ({ name, values }: PlotSeries, className: string): HTMLElement => {
    const line = document.createElement('span')
    line.className = className
    line.textContent = `${name} ${formatValue(values[at] ?? 0)}`
    return line
  }
  return [
    title,
    ...others.map((one) => write(one, '')),
    ...series.map((one, place) => write(one, `chart-key chart-key-${place + 1}`)),
  ]
}
