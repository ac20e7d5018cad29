/** The emails of the workspace, with filters, newest or oldest first. */
import type { VNode } from 'preact'
import { Link } from 'wouter-preact'
import { sessionApi, unwrap } from '../../api/client.ts'
import { type ListPage, PAGE_SIZE, type Pages, toCursorPage, usePages } from '../../api/use-pages.ts'
import { allowBreaks } from '../../components/allow-breaks.tsx'
import { Button, ButtonLink } from '../../components/button.tsx'
import { useFilters } from '../../components/filters.tsx'
import { formatNumber } from '../../components/format.ts'
import { Empty } from '../../components/loaded.tsx'
import { Page } from '../../components/page.tsx'
import { type Column, PagedTable } from '../../components/table.tsx'
import { Note, Time } from '../../components/values.tsx'
import { type FoundEmail, titleOf } from './email.ts'
import { EmailFilters, filterNames, toQuery } from './email-filters.tsx'
import { EmailStatus } from './email-status.tsx'
import './emails.css'

/** Milliseconds between two loads of a list with emails that are not settled. */
const PAUSE = 5_000

export function EmailListPage(): VNode {
  const filters = useFilters(filterNames)
  const order = useFilters(['order'])
  const isOldest = order.get('order') === 'oldest'
  const load = async (cursor: string | undefined): Promise<ListPage<FoundEmail>> => {
    const page = await loadEmails(filters.get, cursor)
    return { ...toCursorPage(page), leavesOut: !page.with_broadcasts }
  }
  const pages = usePages(load, [filters.key, order.key], {
    every: ({ rows }) => (rows.some(({ status }) => status === 'queued') ? PAUSE : null),
  })
  const compose = (
    <ButtonLink href="/emails/new" tone="primary">
      Send an email
    </ButtonLink>
  )
  return (
    <Page title="Emails" intro="What this workspace has sent, and what happened to it." actions={compose}>
      <EmailFilters filters={filters} />
      <PagedTable
        caption="Emails of this workspace"
        pages={pages}
        columns={columns}
        sorting={{
          by: 'Accepted',
          direction: isOldest ? 'ascending' : 'descending',
          onSort: () => order.set({ order: isOldest ? '' : 'oldest' }),
        }}
        rowKey={({ id }) => id}
        empty={<NoEmails pages={pages} isFiltered={filters.isFiltered} />}
      />
      {isPartial(pages) ? <SearchedPart pages={pages} isOldest={isOldest} /> : null}
      {pages.data?.leavesOut === true ? <WithoutBroadcasts onShow={() => filters.set({ broadcasts: 'all' })} /> : null}
    </Page>
  )
}

function loadEmails(get: (name: string) => string, cursor: string | undefined) {
  const query = { ...toQuery(get), limit: PAGE_SIZE, ...(cursor === undefined ? {} : { cursor }) }
  return unwrap(sessionApi.GET('/ui/api/emails', { params: { query } }))
}

const columns: readonly Column<FoundEmail>[] = [
  { title: 'Subject', show: (email) => <SubjectCell email={email} /> },
  { title: 'To', isPlain: true, show: (email) => <RecipientsCell email={email} /> },
  { title: 'Status', isPlain: true, show: (email) => <StatusCell email={email} /> },
  {
    title: 'Accepted',
    isPlain: true,
    sortable: true,
    show: ({ created_at: at }) => (
      <span class="email-time">
        <Time at={at} />
      </span>
    ),
  },
]

function SubjectCell({ email }: { readonly email: FoundEmail }): VNode {
  const { id, tags } = email
  return (
    <>
      <Link href={`/emails/${id}`}>{titleOf(email)}</Link>
      {tags.length === 0 ? null : (
        <span class="row-note">{tags.map(({ name, value }) => `${name}: ${value}`).join(', ')}</span>
      )}
    </>
  )
}

function RecipientsCell({ email }: { readonly email: FoundEmail }): VNode {
  const { recipients, from_email: from, broadcast_id: broadcastId } = email
  const [first = '–', ...others] = recipients
  return (
    <span class="address own-line">
      {allowBreaks(first)}
      {others.length === 0 ? null : ` and ${formatNumber(others.length)} more`}
      <span class="row-note">
        from {allowBreaks(from)}
        {broadcastId === null ? null : (
          <>
            , of <Link href={`/broadcasts/${broadcastId}`}>a broadcast</Link>
          </>
        )}
      </span>
    </span>
  )
}

function StatusCell({ email }: { readonly email: FoundEmail }): VNode {
  const { status, scheduled_for: scheduledFor, opened_at: opened, clicked_at: clicked } = email
  const note = clicked !== null ? 'Clicked' : opened !== null ? 'Opened' : null
  return (
    <>
      <EmailStatus email={email} />
      {note === null ? null : <span class="row-note">{note}</span>}
      {status === 'scheduled' ? (
        <span class="row-note">
          <Time at={scheduledFor} />
        </span>
      ) : null}
    </>
  )
}

function NoEmails({ pages, isFiltered }: { readonly pages: Pages<FoundEmail>; readonly isFiltered: boolean }): VNode {
  if (isPartial(pages)) return <Empty title="None of the emails that were compared matches" />
  if (isFiltered) {
    return (
      <Empty title="No email matches the filters">
        <p>Change the filters, or clear them.</p>
      </Empty>
    )
  }
  return (
    <Empty title="No email yet">
      <p>Send one here, or from your program with an API key, by SMTP or the REST interface.</p>
    </Empty>
  )
}

/** A request compares a bounded number of emails with the filters. */
function isPartial({ data }: Pages<FoundEmail>): boolean {
  return data !== undefined && data.next !== null && data.rows.length < PAGE_SIZE
}

interface SearchedPartProps {
  readonly pages: Pages<FoundEmail>
  readonly isOldest: boolean
}

function SearchedPart({ pages: { showNext }, isOldest }: SearchedPartProps): VNode {
  return (
    <Note tone="info">
      <p>Only the {isOldest ? 'oldest' : 'newest'} emails have been searched so far.</p>
      <Button small onClick={() => showNext?.()}>
        Search {isOldest ? 'newer' : 'older'} emails
      </Button>
    </Note>
  )
}

function WithoutBroadcasts({ onShow }: { readonly onShow: () => void }): VNode {
  return (
    <Note tone="info">
      <p>
        Emails of broadcasts are not in this list. A complete address finds them too, and each of the{' '}
        <Link href="/broadcasts">broadcasts</Link> lists its recipients.
      </p>
      <Button small onClick={onShow}>
        Show emails of broadcasts too
      </Button>
    </Note>
  )
}
