/** Numbers of mail by domain, tag and time. */
import type { VNode } from 'preact'
import { useLoad } from '../../api/use-load.ts'
import { ButtonLink } from '../../components/button.tsx'
import { TextField } from '../../components/fields.tsx'
import { FilterErrors } from '../../components/filter-errors.tsx'
import { Filters, useFilters } from '../../components/filters.tsx'
import { formatNumber } from '../../components/format.ts'
import { Empty, Loaded } from '../../components/loaded.tsx'
import { Page, Section } from '../../components/page.tsx'
import { Facts } from '../../components/values.tsx'
import { DailyCharts, type MetricsQuery } from './daily-charts.tsx'
import { loadMailNumbers, MailFigures, type MailNumbers, TimeRange } from './mail-figures.tsx'
import { OutcomeBars } from './outcome-bars.tsx'
import { readWindow, WindowFields, windowNames } from './window-filter.tsx'

const names = [...windowNames, 'domain', 'tag']

export function MetricsPage(): VNode {
  const filters = useFilters(names)
  const [domain, tag] = [filters.get('domain'), filters.get('tag')]
  const query = {
    ...readWindow(filters.get),
    ...(domain === '' ? {} : { domain }),
    ...(tag === '' ? {} : { tag }),
  }
  const numbers = useLoad(() => loadMailNumbers(query), [filters.key])
  return (
    <Page
      title="Metrics"
      intro="Opens, clicks and bounces count on the day on which their email was accepted."
      actions={<ButtonLink href="/links">Clicked links</ButtonLink>}
    >
      <Filters names={names} filters={filters}>
        <FilterErrors error={numbers.error}>
          <WindowFields get={filters.get} />
          <TextField name="domain" label="Sending domain" optional value={domain} placeholder="example.com" />
          <TextField name="tag" label="Tag" optional value={tag} placeholder="name:value" />
        </FilterErrors>
      </Filters>
      <Loaded from={numbers}>{(found) => <Numbers numbers={found} query={query} />}</Loaded>
    </Page>
  )
}

interface NumbersProps {
  readonly numbers: MailNumbers
  readonly query: MetricsQuery
}

function Numbers({ numbers, query }: NumbersProps): VNode {
  if (numbers.metrics.summary.total === 0) {
    return (
      <Empty title="No email was accepted in this time">
        <p>Choose a longer time, or another domain or tag.</p>
      </Empty>
    )
  }
  return (
    <>
      <MailFigures {...numbers} />
      <DailyCharts {...numbers.daily} />
      <OutcomeBars query={query} />
      <AllNumbers metrics={numbers.metrics} />
    </>
  )
}

function AllNumbers({ metrics: { period, summary } }: Pick<MailNumbers, 'metrics'>): VNode {
  const counts: readonly (readonly [string, number])[] = [
    ['All emails', summary.total],
    ['Queued', summary.queued],
    ['Scheduled', summary.scheduled],
    ['Failed', summary.failed],
    ['Opens, including repeats', summary.opens],
    ['Clicks, including repeats', summary.clicks],
    ['Opens by programs', summary.machine_opens],
    ['Clicks by programs', summary.machine_clicks],
  ]
  return (
    <Section title="More numbers" intro="Programs are image proxies and scanners. The numbers above leave them out.">
      <Facts
        facts={[
          { name: 'Time', value: <TimeRange from={period.start} to={period.end} /> },
          ...counts.map(([name, count]) => ({ name, value: formatNumber(count) })),
        ]}
      />
    </Section>
  )
}
