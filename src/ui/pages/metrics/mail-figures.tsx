/** The numbers of a time range, with their rates. */
import type { VNode } from 'preact'
import { api, unwrap } from '../../api/client.ts'
import type { components } from '../../api/schema.d.ts'
import { Figures } from '../../components/figures.tsx'
import { formatNumber, formatPercent } from '../../components/format.ts'
import { type Day, findZone, loadDays, type MetricsQuery } from './daily-charts.tsx'

type Metrics = components['schemas']['Metrics']

export interface MailNumbers {
  readonly metrics: Metrics
  readonly days: readonly Day[]
}

export async function loadMailNumbers(query: MetricsQuery): Promise<MailNumbers> {
  const params = { query: { ...query, tz: findZone() } }
  const [metrics, days] = await Promise.all([unwrap(api.GET('/v1/metrics', { params })), loadDays(query)])
  return { metrics, days }
}

export function MailFigures({ metrics: { summary, rates, recipients }, days }: MailNumbers): VNode {
  const complained = days.reduce((sum, day) => sum + day.complained, 0)
  return (
    <>
      <Figures
        figures={[
          { name: 'Sent', value: formatNumber(summary.sent), remark: remarkOnUnsent(summary) },
          rated('Delivered', summary.delivered, `${formatRate(rates.delivery_rate)} of sent`),
          rated('Bounced', summary.bounced, `${formatRate(rates.bounce_rate)} of sent`),
          rated('Complained', complained, `${formatSmallShare(complained, summary.delivered)} of delivered`),
          rated('Opened', summary.unique_opens, `${formatRate(rates.open_rate)} of delivered`),
          rated('Clicked', summary.unique_clicks, `${formatRate(rates.click_rate)} of delivered`),
        ]}
      />
      <RecipientFigures total={summary.total} recipients={recipients} />
    </>
  )
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

function rated(name: string, value: number, remark: string): Parameters<typeof Figures>[0]['figures'][number] {
  return { name, value: formatNumber(value), remark }
}

function remarkOnUnsent({ failed, queued, scheduled }: Metrics['summary']): string {
  const parts = [
    ...(queued === 0 ? [] : [`${formatNumber(queued)} queued`]),
    ...(scheduled === 0 ? [] : [`${formatNumber(scheduled)} scheduled`]),
    ...(failed === 0 ? [] : [`${formatNumber(failed)} failed`]),
  ]
  return parts.length === 0 ? 'none waiting or failed' : `and ${parts.join(', ')}`
}

/** Formats a percentage of the interface. */
function formatRate(percentage: number): string {
  return formatPercent(percentage / 100)
}

const smallPercent = new Intl.NumberFormat(undefined, { style: 'percent', maximumSignificantDigits: 2 })

/** Formats a share of complaints. A tenth of a percent is much. */
function formatSmallShare(part: number, whole: number): string {
  return smallPercent.format(whole === 0 ? 0 : Math.min(1, part / whole))
}
