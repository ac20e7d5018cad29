/** All audiences of the workspace. */
import type { VNode } from 'preact'
import { Link } from 'wouter-preact'
import { api, unwrap } from '../../api/client.ts'
import { type ListPage, loadOffsetPage, usePages } from '../../api/use-pages.ts'
import { ButtonLink } from '../../components/button.tsx'
import { formatNumber } from '../../components/format.ts'
import { Empty } from '../../components/loaded.tsx'
import { Page } from '../../components/page.tsx'
import { type Column, PagedTable } from '../../components/table.tsx'
import { Time } from '../../components/values.tsx'
import type { Audience } from './audience.ts'

export function AudienceListPage(): VNode {
  const pages = usePages(loadAudiences)
  return (
    <Page
      title="Audiences"
      intro="Lists of contacts. A broadcast goes to the subscribed contacts of one audience."
      actions={
        <ButtonLink href="/audiences/new" tone="primary">
          Create an audience
        </ButtonLink>
      }
    >
      <PagedTable
        caption="Audiences of this workspace"
        pages={pages}
        columns={columns}
        rowKey={({ id }) => id}
        empty={
          <Empty title="No audience yet">
            <p>Create one, then add contacts to it or import them from a CSV file.</p>
          </Empty>
        }
      />
    </Page>
  )
}

const columns: readonly Column<Audience>[] = [
  { title: 'Name', show: ({ id, name }) => <Link href={`/audiences/${id}`}>{name}</Link> },
  { title: 'Description', show: ({ description }) => description ?? '–' },
  { title: 'Contacts', kind: 'number', show: ({ contacts_count: count }) => formatNumber(count) },
  { title: 'Created', show: ({ created_at: at }) => <Time at={at} kind="day" /> },
]

function loadAudiences(position: string | undefined): Promise<ListPage<Audience>> {
  return loadOffsetPage(position, (range) => unwrap(api.GET('/v1/audiences', { params: { query: range } })))
}
