/** Shows how often the links of an email were clicked. */
import type { VNode } from 'preact'
import { api, unwrap } from '../../api/client.ts'
import { useLoad } from '../../api/use-load.ts'
import { formatNumber } from '../../components/format.ts'
import { Empty, Loaded } from '../../components/loaded.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { Facts, Time } from '../../components/values.tsx'

interface ClickedLink {
  readonly url: string
  readonly clicks: number
  readonly last_clicked_at: string
}

export function EmailClicks({ id }: { readonly id: string }): VNode {
  const clicks = useLoad(() => unwrap(api.GET('/v1/emails/{id}/clicks', { params: { path: { id } } })), [id])
  return (
    <Loaded from={clicks}>
      {({ clicked, first_clicked_at: first, total_clicks: total, unique_links_clicked: unique, links }) =>
        clicked ? (
          <>
            <Facts
              facts={[
                { name: 'Clicks', value: formatNumber(total) },
                { name: 'Links that were clicked', value: formatNumber(unique) },
                { name: 'First click', value: <Time at={first} /> },
              ]}
            />
            <Table caption="Clicked links" columns={columns} rows={links} rowKey={({ url }) => url} />
          </>
        ) : (
          <Empty title="No clicks">
            <p>Clicks count if the email or its domain has click tracking. Clicks by programs do not count.</p>
          </Empty>
        )
      }
    </Loaded>
  )
}

const columns: readonly Column<ClickedLink>[] = [
  { title: 'Link', show: ({ url }) => url },
  { title: 'Clicks', kind: 'number', show: ({ clicks }) => formatNumber(clicks) },
  { title: 'Last click', show: ({ last_clicked_at: at }) => <Time at={at} /> },
]
