/** The received mail of the workspace, newest first. */
import type { VNode } from 'preact'
import { Link } from 'wouter-preact'
import type { ApiError } from '../../api/api-error.ts'
import { api, unwrap } from '../../api/client.ts'
import { type ListPage, loadOffsetPage, usePages } from '../../api/use-pages.ts'
import { allowBreaks } from '../../components/allow-breaks.tsx'
import { SelectField, TextField } from '../../components/fields.tsx'
import { FilterErrors } from '../../components/filter-errors.tsx'
import { Filters, useFilters } from '../../components/filters.tsx'
import { toMoment } from '../../components/form-values.ts'
import { Empty } from '../../components/loaded.tsx'
import { Page } from '../../components/page.tsx'
import { type Column, PagedTable } from '../../components/table.tsx'
import { Time } from '../../components/values.tsx'
import { type ListedInboundEmail, titleOf } from './inbound-email.ts'
import { SpamBadge } from './spam-badge.tsx'

type FilterValues = ReturnType<typeof useFilters>

/** Milliseconds until the list is loaded again. */
const REFRESH = 20_000
const names = ['from', 'domain', 'spam_status', 'status', 'since']

const spamOptions = [
  { value: '', label: 'Any' },
  { value: 'clean', label: 'Not spam' },
  { value: 'suspicious', label: 'Suspicious' },
  { value: 'spam', label: 'Spam' },
] as const
const statusOptions = [
  { value: '', label: 'Any' },
  { value: 'received', label: 'Being processed' },
  { value: 'processed', label: 'Processed' },
  { value: 'failed', label: 'Not readable' },
] as const

export function InboundListPage(): VNode {
  const filters = useFilters(names)
  const pages = usePages((position) => loadEmails(filters, position), [filters.key], { every: () => REFRESH })
  return (
    <Page title="Inbound" intro="Mail that was received for the domains of this workspace.">
      <Filters names={names} filters={filters}>
        <FilterFields filters={filters} error={pages.error} />
      </Filters>
      <PagedTable
        caption="Received mail"
        pages={pages}
        columns={columns}
        rowKey={({ id }) => id}
        empty={<NoEmail isFiltered={filters.isFiltered} />}
      />
    </Page>
  )
}

function FilterFields({ filters, error }: { readonly filters: FilterValues; readonly error: ApiError | null }): VNode {
  return (
    <FilterErrors error={error}>
      <TextField
        name="from"
        label="Sender"
        type="email"
        optional
        placeholder="ann@example.org"
        value={filters.get('from')}
      />
      <TextField
        name="domain"
        label="Recipient’s domain"
        optional
        placeholder="example.com"
        value={filters.get('domain')}
      />
      <SelectField name="spam_status" label="Spam" options={spamOptions} value={filters.get('spam_status')} />
      <SelectField name="status" label="Processing" options={statusOptions} value={filters.get('status')} />
      <TextField name="since" label="Received since" type="datetime-local" optional value={filters.get('since')} />
    </FilterErrors>
  )
}

function NoEmail({ isFiltered }: { readonly isFiltered: boolean }): VNode {
  if (isFiltered) {
    return (
      <Empty title="No mail matches the filters">
        <p>Change or clear them to see other mail.</p>
      </Empty>
    )
  }
  return (
    <Empty title="No mail received yet">
      <p>
        Mail arrives here once a <Link href="/domains">domain</Link> receives mail and its MX record points to this
        server.
      </p>
    </Empty>
  )
}

const columns: readonly Column<ListedInboundEmail>[] = [
  { title: 'Subject', show: (email) => <Subject email={email} /> },
  { title: 'From', show: (email) => <Sender email={email} /> },
  {
    title: 'To',
    show: ({ to, cc }) => <span class="own-line">{allowBreaks(listAddresses([...to, ...(cc ?? [])]))}</span>,
  },
  { title: 'Spam score', isPlain: true, show: (email) => <SpamBadge email={email} /> },
  { title: 'Received', isPlain: true, show: ({ received_at: at }) => <Time at={at} /> },
]

function Subject({ email }: { readonly email: ListedInboundEmail }): VNode {
  const { attachment_count: count } = email
  return (
    <>
      <Link href={`/inbound/${email.id}`}>{titleOf(email)}</Link>
      {count === 0 ? null : <span class="row-note">{count === 1 ? '1 attachment' : `${count} attachments`}</span>}
    </>
  )
}

function Sender({ email: { from, from_name: name } }: { readonly email: ListedInboundEmail }): VNode {
  const address = from === '' ? 'Unknown' : from
  if (name === '' || name === from) return <>{allowBreaks(address)}</>
  return (
    <>
      {name}
      <span class="row-note">{allowBreaks(address)}</span>
    </>
  )
}

function listAddresses(addresses: readonly string[]): string {
  const [first = '–', ...others] = addresses
  return others.length === 0 ? first : `${first} and ${others.length} more`
}

function loadEmails(filters: FilterValues, position: string | undefined): Promise<ListPage<ListedInboundEmail>> {
  const spam = spamOptions.find(({ value }) => value === filters.get('spam_status'))?.value ?? ''
  const status = statusOptions.find(({ value }) => value === filters.get('status'))?.value ?? ''
  const [from, domain, since] = ['from', 'domain', 'since'].map(filters.get)
  const query = {
    ...(from === '' ? {} : { from }),
    ...(domain === '' ? {} : { domain }),
    ...(spam === '' ? {} : { spam_status: spam }),
    ...(status === '' ? {} : { status }),
    ...(since === '' || since === undefined ? {} : { since: toMoment(since) }),
  }
  return loadOffsetPage(position, (range) =>
    unwrap(api.GET('/v1/inbound', { params: { query: { ...query, ...range } } })),
  )
}
