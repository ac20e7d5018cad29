/** All broadcasts of the workspace. */
import type { VNode } from 'preact'
import { Link } from 'wouter-preact'
import { api, unwrap } from '../../api/client.ts'
import { type ListPage, loadOffsetPage, usePages } from '../../api/use-pages.ts'
import { ButtonLink } from '../../components/button.tsx'
import { formatNumber, formatPercent } from '../../components/format.ts'
import { Empty } from '../../components/loaded.tsx'
import { Page } from '../../components/page.tsx'
import { type Column, PagedTable } from '../../components/table.tsx'
import { StatusBadge, Time } from '../../components/values.tsx'
import type { ListedBroadcast } from './broadcast.ts'

/** Milliseconds until the list is loaded again while a broadcast is being sent. */
const PAUSE = 5_000

export function BroadcastListPage(): VNode {
  const isSending = ({ rows }: ListPage<ListedBroadcast>): boolean => rows.some(({ status }) => status === 'sending')
  const pages = usePages(loadBroadcasts, [], { every: (page) => (isSending(page) ? PAUSE : null) })
  return (
    <Page
      title="Broadcasts"
      intro="One message to all subscribed contacts of an audience."
      actions={
        <ButtonLink href="/broadcasts/new" tone="primary">
          Write a broadcast
        </ButtonLink>
      }
    >
      <PagedTable
        caption="Broadcasts of this workspace"
        pages={pages}
        columns={columns}
        rowKey={({ id }) => id}
        empty={
          <Empty title="No broadcast yet">
            <p>A broadcast needs an audience, and a verified domain to send from.</p>
          </Empty>
        }
      />
    </Page>
  )
}

const columns: readonly Column<ListedBroadcast>[] = [
  {
    title: 'Name',
    show: ({ id, name, subject }) => (
      <>
        <Link href={`/broadcasts/${id}`}>{name}</Link>
        {subject === null ? null : <span class="row-note">{subject}</span>}
      </>
    ),
  },
  { title: 'State', show: ({ status }) => <StatusBadge status={status} /> },
  { title: 'Recipients', kind: 'number', show: (one) => formatRecipients(one) },
  { title: 'Passed on or delivered', kind: 'number', show: (one) => formatShare(countReached(one), one.sent) },
  { title: 'Opened', kind: 'number', show: (one) => formatShare(one.unique_opens, countReached(one)) },
  { title: 'Clicked', kind: 'number', show: (one) => formatShare(one.unique_clicks, countReached(one)) },
  { title: 'Date', show: (one) => <When broadcast={one} /> },
]

/** The recipients are counted when the broadcast begins. */
function formatRecipients({ recipients, started_at: started }: ListedBroadcast): string {
  return recipients === 0 && started === null ? '–' : formatNumber(recipients)
}

/** Those whose message was passed on or delivered. */
function countReached({ sent, bounced }: ListedBroadcast): number {
  return Math.max(0, sent - bounced)
}

/** Formats the share of `whole`, or a dash if there is none. */
function formatShare(part: number, whole: number): string {
  return whole === 0 ? '–' : formatPercent(Math.min(1, part / whole))
}

function When({ broadcast }: { readonly broadcast: ListedBroadcast }): VNode {
  const { started_at: started, scheduled_for: scheduled, status, updated_at: updated } = broadcast
  const [at, what] =
    status === 'scheduled' ? [scheduled, 'scheduled'] : started === null ? [updated, 'changed'] : [started, 'started']
  return (
    <>
      <Time at={at} />
      <span class="row-note">{what}</span>
    </>
  )
}

function loadBroadcasts(position: string | undefined): Promise<ListPage<ListedBroadcast>> {
  return loadOffsetPage(position, (range) => unwrap(api.GET('/v1/broadcasts', { params: { query: range } })))
}
