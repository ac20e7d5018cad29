/** The numbers of a time range, with their rates. */
import type { VNode } from 'preact'
import { api, unwrap } from '../../api/client.ts'
import type { components } from '../../api/schema.d.ts'
import { Figures } from '../../components/figures.tsx'
import { formatNumber, formatPercent, formatSmallPercent } from '../../components/format.ts'
import { nameMailState, PASSED_ON, PASSED_ON_MEANING } from '../../components/mail-state.tsx'
import { Time } from '../../components/values.tsx'
import { findZone, loadDays, type MetricsQuery } from './daily-charts.tsx'
import { countPassedOn } from './passed-on.ts'

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
  const [now, then] = [countFigures({ metrics, daily }), before === null ? null : countFigures(before)]
  const compared = then === null || then.Sent === 0 ? null : then
  const passedOn = now[PASSED_ON]
  return (
    <>
      <Figures figures={listFigures(metrics, now, compared)} />
      {passedOn === 0 ? null : <p class="row-note">{PASSED_ON_MEANING}</p>}
      {before === null ? null : <Comparison before={before.metrics} isEmpty={compared === null} />}
      <RecipientFigures metrics={metrics} />
    </>
  )
}

/** The emails that were sent are those that were delivered, passed on and bounced. */
function listFigures({ summary }: Metrics, now: Counts, compared: Counts | null): readonly FigureProps[] {
  const passedOn = now[PASSED_ON]
  const reached = passedOn + now.Delivered
  const ofReached = passedOn === 0 ? 'delivered' : 'passed on or delivered'
  const figure = (name: keyof Counts, remark: string): FigureProps => ({
    name,
    value: formatNumber(now[name]),
    remark: (
      <>
        {remark}
        {compared === null ? null : <Change now={now[name]} before={compared[name]} />}
      </>
    ),
  })
  const share = (name: keyof Counts, whole: number, what: string): FigureProps =>
    figure(name, `${formatPercent(shareOf(now[name], whole))} of ${what}`)
  return [
    figure('Sent', remarkOnSent(summary, shareOf(reached, summary.sent), ofReached)),
    share('Delivered', summary.sent, 'sent'),
    ...(passedOn === 0 ? [] : [share(PASSED_ON, summary.sent, 'sent')]),
    share('Bounced', summary.sent, 'sent'),
    figure('Complained', `${formatSmallPercent(shareOf(now.Complained, reached))} of ${ofReached}`),
    share('Opened', reached, ofReached),
    share('Clicked', reached, ofReached),
  ]
}

interface ComparisonProps {
  readonly before: Metrics
  /** No email was sent then. */
  readonly isEmpty: boolean
}

function Comparison({ before: { period }, isEmpty }: ComparisonProps): VNode {
  const range = <TimeRange from={period.start} to={period.end} />
  return (
    <p class="row-note">
      {isEmpty ? (
        <>There is nothing to compare with, because no email was sent in the time before: {range}.</>
      ) : (
        <>The changes compare with the time before: {range}.</>
      )}
    </p>
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

type Counts = ReturnType<typeof countFigures>

function countFigures({ metrics: { summary }, daily }: Totals) {
  return {
    Sent: summary.sent,
    Delivered: summary.delivered,
    [PASSED_ON]: countPassedOn(summary),
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
  const change = before === 0 ? '' : `${signed.format(now / before - 1)}, `
  return (
    <span class="figure-change">
      {change}before {formatNumber(before)}
    </span>
  )
}

/** Shown only if an email has several recipients. Otherwise the figures of emails say everything. */
function RecipientFigures({ metrics: { summary, recipients } }: { readonly metrics: Metrics }): VNode | null {
  const states = Object.entries(recipients).filter(([, count]) => count > 0)
  const all = states.reduce((sum, [, count]) => sum + count, 0)
  if (all <= summary.total) return null
  const parts = states.map(([state, count]) => `${formatNumber(count)} ${nameMailState(state).toLowerCase()}`)
  return (
    <p class="row-note">
      These figures count emails. All {formatNumber(summary.total)} emails have {formatNumber(all)} recipients:{' '}
      {parts.join(', ')}.
    </p>
  )
}

/** `80 % of them passed on or delivered; 1 more failed`. */
function remarkOnSent({ sent, failed, queued, scheduled }: Metrics['summary'], reached: number, words: string): string {
  const others = [
    ...(queued === 0 ? [] : [`${formatNumber(queued)} more in the queue`]),
    ...(scheduled === 0 ? [] : [`${formatNumber(scheduled)} more scheduled`]),
    ...(failed === 0 ? [] : [`${formatNumber(failed)} failed`]),
  ]
  return [...(sent === 0 ? [] : [`${formatPercent(reached)} of them ${words}`]), ...others].join('; ')
}

/** The share is at most 1, because an email that was opened may have bounced for another of its recipients. */
function shareOf(part: number, whole: number): number {
  return whole === 0 ? 0 : Math.min(1, part / whole)
}
