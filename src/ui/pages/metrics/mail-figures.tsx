/** The numbers of a time range, with their rates. */
import type { VNode } from 'preact'
import { api, unwrap } from '../../api/client.ts'
import type { components } from '../../api/schema.d.ts'
import { Figures } from '../../components/figures.tsx'
import { formatNumber, formatPercent, formatSmallPercent } from '../../components/format.ts'
import { Time } from '../../components/values.tsx'
import { findZone, loadDays, type MetricsQuery } from './daily-charts.tsx'

type Metrics = components['schemas']['Metrics']

interface Totals {
  readonly metrics: Metrics
  readonly daily: Awaited<ReturnType<typeof loadDays>>
}

export interface MailNumbers extends Totals {
  /** The same length of time just before. Null if it cannot be asked for. */
  readonly before: Totals | null
}

/** Milliseconds of the longest time that can be asked for: 90 days. */
const LONGEST = 7_776_000_000

export async function loadMailNumbers(query: MetricsQuery): Promise<MailNumbers> {
  const totals = await loadTotals(query)
  const { start, end } = totals.metrics.period
  const length = Math.min(Date.parse(end) - Date.parse(start), LONGEST)
  const from = Date.parse(start) - length
  const earlier = { ...query, from: new Date(from).toISOString(), to: start }
  return { ...totals, before: from < 0 ? null : await loadTotals(earlier) }
}

async function loadTotals(query: MetricsQuery): Promise<Totals> {
  const params = { query: { ...query, tz: findZone() } }
  const [metrics, daily] = await Promise.all([unwrap(api.GET('/v1/metrics', { params })), loadDays(query)])
  return { metrics, daily }
}

export function MailFigures({ metrics, daily, before }: MailNumbers): VNode {
  const { summary, rates, recipients } = metrics
  const { start } = metrics.period
  const [now, then] = [countFigures({ metrics, daily }), before === null ? null : countFigures(before)]
  const figure = (name: keyof typeof now, remark: string): FigureProps => ({
    name,
    value: formatNumber(now[name]),
    remark: (
      <>
        {remark}
        {then === null ? null : <Change now={now[name]} before={then[name]} />}
      </>
    ),
  })
  return (
    <>
      <Figures
        figures={[
          figure('Sent', remarkOnUnsent(summary)),
          figure('Delivered', `${formatRate(rates.delivery_rate)} of sent`),
          figure('Bounced', `${formatRate(rates.bounce_rate)} of sent`),
          figure('Complained', `${formatSmallShare(now.Complained, summary.delivered)} of delivered`),
          figure('Opened', `${formatRate(rates.open_rate)} of delivered`),
          figure('Clicked', `${formatRate(rates.click_rate)} of delivered`),
        ]}
      />
      {before === null ? null : (
        <p class="row-note">
          Changes are from the time before: <TimeRange from={before.metrics.period.start} to={start} />.
        </p>
      )}
      <RecipientFigures total={summary.total} recipients={recipients} />
    </>
  )
}

export function TimeRange({ from, to }: { readonly from: string; readonly to: string }): VNode {
  return (
    <>
      <Time at={from} /> to <Time at={to} />
    </>
  )
}

type FigureProps = Parameters<typeof Figures>[0]['figures'][number]

function countFigures({ metrics: { summary }, daily }: Totals) {
  return {
    Sent: summary.sent,
    Delivered: summary.delivered,
    Bounced: summary.bounced,
    Complained: daily.data.reduce((sum, day) => sum + day.complained, 0),
    Opened: summary.unique_opens,
    Clicked: summary.unique_clicks,
  }
}

const signed = new Intl.NumberFormat(undefined, {
  style: 'percent',
  maximumFractionDigits: 0,
  signDisplay: 'exceptZero',
})

function Change({ now, before }: { readonly now: number; readonly before: number }): VNode {
  return <span class="figure-change">{describeChange(now, before)}</span>
}

/** `+12 % from 1,034`. */
function describeChange(now: number, before: number): string {
  if (before === 0) return now === 0 ? 'none before either' : 'none before'
  return now === before ? 'as many as before' : `${signed.format(now / before - 1)} from ${formatNumber(before)}`
}

interface RecipientFigureProps extends Pick<Metrics, 'recipients'> {
  /** The number of emails. */
  readonly total: number
}

/** Shown only if an email has several recipients. Otherwise the figures of emails say everything. */
function RecipientFigures({ total, recipients }: RecipientFigureProps): VNode | null {
  const states = Object.entries(recipients).filter(([, count]) => count > 0)
  const all = states.reduce((sum, [, count]) => sum + count, 0)
  if (all <= total) return null
  const parts = states.map(([state, count]) => `${formatNumber(count)} ${state}`)
  return (
    <p class="row-note">
      These figures count emails. They have {formatNumber(all)} recipients: {parts.join(', ')}.
    </p>
  )
}

function remarkOnUnsent({ failed, queued, scheduled }: Metrics['summary']): string {
  const waiting = queued + scheduled
  const parts = [
    ...(waiting === 0 ? [] : [`${formatNumber(waiting)} waiting`]),
    ...(failed === 0 ? [] : [`${formatNumber(failed)} failed`]),
  ]
  return parts.length === 0 ? 'none waiting or failed' : `and ${parts.join(', ')}`
}

/** Formats a percentage of the interface. */
function formatRate(percentage: number): string {
  return formatPercent(percentage / 100)
}

/** Formats a share of complaints. A tenth of a percent is much. */
function formatSmallShare(part: number, whole: number): string {
  return formatSmallPercent(whole === 0 ? 0 : Math.min(1, part / whole))
}
