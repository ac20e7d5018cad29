/** The links that people clicked most. */
import type { VNode } from 'preact'
import { Link } from 'wouter-preact'
import { api, unwrap } from '../../api/client.ts'
import type { components } from '../../api/schema.d.ts'
import { type ListPage, loadOffsetPage, usePages } from '../../api/use-pages.ts'
import { TextField } from '../../components/fields.tsx'
import { FilterErrors } from '../../components/filter-errors.tsx'
import { Filters, useFilters } from '../../components/filters.tsx'
import { formatNumber } from '../../components/format.ts'
import { Empty } from '../../components/loaded.tsx'
import { Page } from '../../components/page.tsx'
import { type Column, PagedTable } from '../../components/table.tsx'
import { Time } from '../../components/values.tsx'
import type { MetricsQuery } from './daily-charts.tsx'
import { readWindow, WindowFields, windowNames } from './window-filter.tsx'

type ClickedLink = components['schemas']['LinkMetrics']['data'][number]

const names = [...windowNames, 'domain']
export function LinksPage(): VNode {
  const filters = useFilters(names)
  const domain = filters.get('domain')
  const query = { ...readWindow(filters.get), ...(domain === '' ? {} : { domain }) }
  const pages = usePages((position) => loadLinks(query, position), [filters.key])
  return (
    <Page
      title="Clicked links"
      up={{ href: '/metrics', label: 'Metrics' }}
      intro="Links of emails with click tracking, most clicked first. Clicks by programs are left out."
    >
      <Filters names={names} filters={filters}>
        <FilterErrors error={pages.error}>
          <WindowFields get={filters.get} />
          <TextField name="domain" label="Sending domain" optional value={domain} placeholder="example.com" />
        </FilterErrors>
      </Filters>
      <PagedTable
        caption="Clicked links"
        pages={pages}
        columns={columns}
        rowKey={({ url }) => url}
        empty={
          <Empty title="No link was clicked in this time">
            <p>
              Only emails with click tracking count. The settings of each <Link href="/domains">domain</Link> turn it
              on.
            </p>
          </Empty>
        }
      />
    </Page>
  )
}

const columns: readonly Column<ClickedLink>[] = [
  { title: 'Link', show: ({ url }) => url },
  { title: 'Emails', kind: 'number', show: ({ unique_clicks: emails }) => formatNumber(emails) },
  { title: 'Clicks', kind: 'number', show: ({ clicks }) => formatNumber(clicks) },
  { title: 'First click', show: ({ first_clicked_at: at }) => <Time at={at} /> },
  { title: 'Last click', show: ({ last_clicked_at: at }) => <Time at={at} /> },
]

function loadLinks(window: MetricsQuery, position: string | undefined): Promise<ListPage<ClickedLink>> {
  return loadOffsetPage(position, (range) =>
    unwrap(api.GET('/v1/metrics/links', { params: { query: { ...window, ...range } } })),
  )
}
