/** The log of everything that happened to emails, domains and codes by SMS. */
import type { VNode } from 'preact'
import { Link } from 'wouter-preact'
import { api, unwrap } from '../../api/client.ts'
import { type ListPage, PAGE_SIZE, toCursorPage, usePages } from '../../api/use-pages.ts'
import { allowBreaks } from '../../components/allow-breaks.tsx'
import { SelectField, TextField } from '../../components/fields.tsx'
import { FilterErrors } from '../../components/filter-errors.tsx'
import { Filters, useFilters } from '../../components/filters.tsx'
import { toMoment } from '../../components/form-values.ts'
import { Empty } from '../../components/loaded.tsx'
import { Page } from '../../components/page.tsx'
import { type Column, PagedTable } from '../../components/table.tsx'
import { Time } from '../../components/values.tsx'
import { describeType, type Event, findType, typeOptions } from './event.ts'
import { EventData } from './event-data.tsx'

const names = ['type', 'recipient', 'email_id', 'from', 'to']
const options = [{ value: '', label: 'All' }, ...typeOptions]

export function EventListPage(): VNode {
  const filters = useFilters(names)
  const { get } = filters
  const pages = usePages((cursor) => loadEvents(get, cursor), [filters.key])
  return (
    <Page
      title="Events and SMS"
      intro="Everything that happened to emails, domains and verification codes by SMS, newest first. Webhooks get the same events."
    >
      <Filters names={names} filters={filters}>
        <FilterErrors error={pages.error}>
          <SelectField name="type" label="What happened" options={options} value={get('type')} />
          <TextField name="recipient" label="Recipient" type="search" optional value={get('recipient')} />
          <TextField name="email_id" label="Id of the email" type="search" optional value={get('email_id')} />
          <TextField name="from" label="From" type="datetime-local" optional value={get('from')} />
          <TextField name="to" label="Until" type="datetime-local" optional value={get('to')} />
        </FilterErrors>
      </Filters>
      <PagedTable
        caption="Events of this workspace"
        pages={pages}
        columns={columns}
        rowKey={({ id }) => id}
        empty={<NoEvent isFiltered={filters.isFiltered} />}
      />
    </Page>
  )
}

function NoEvent({ isFiltered }: { readonly isFiltered: boolean }): VNode {
  return isFiltered ? (
    <Empty title="No event matches the filters">
      <p>Choose a longer time, or another kind of event.</p>
    </Empty>
  ) : (
    <Empty title="Nothing happened yet">
      <p>Send an email, and each step of its delivery appears here.</p>
    </Empty>
  )
}

const columns: readonly Column<Event>[] = [
  { title: 'What happened', show: ({ type }) => describeType(type) },
  { title: 'About', isPlain: true, show: (event) => <Subject event={event} /> },
  { title: 'When', isPlain: true, show: ({ created_at: at }) => <Time at={at} kind="second" /> },
  { title: 'Details', isPlain: true, show: (event) => <EventData event={event} /> },
]

/** Whom the event concerns, with a link to the email. */
function Subject({ event }: { readonly event: Event }): VNode {
  const name = nameOf(event)
  const link = linkOf(event)
  const reason = reasonOf(event)
  if (name === null && link === null) return <span class="soft">–</span>
  return (
    <>
      {link === null ? allowBreaks(name) : <Link href={link}>{allowBreaks(name ?? 'Open the email')}</Link>}
      {reason === null ? null : <span class="row-note">{allowBreaks(reason)}</span>}
    </>
  )
}

/** The recipient, the sender of received mail, the phone, the check with its subject, the scope of a hold, or the domain. */
function nameOf({ recipient, data }: Event): string | null {
  if (recipient !== null) return recipient
  if ('inbound_email_id' in data) return `from ${data.from}`
  if ('phone' in data) return data.phone
  if ('check' in data) return `${data.check}: ${data.subject}`
  if ('scope' in data) return data.scope === 'workspace' ? 'the workspace' : `the ${data.scope} ${data.id}`
  return 'domain' in data ? data.domain : null
}

/** Why a check failed. */
function reasonOf({ data }: Event): string | null {
  return 'check' in data && 'text' in data ? data.text : null
}

function linkOf({ email_id: emailId, data }: Event): string | null {
  if ('inbound_email_id' in data) return `/inbound/${data.inbound_email_id}`
  return emailId === null ? null : `/emails/${emailId}`
}

async function loadEvents(get: (name: string) => string, cursor: string | undefined): Promise<ListPage<Event>> {
  const [type, recipient, emailId] = [findType(get('type')), get('recipient'), get('email_id')]
  const query = {
    limit: PAGE_SIZE,
    ...(type === undefined ? {} : { type }),
    ...(recipient === '' ? {} : { recipient }),
    ...(emailId === '' ? {} : { email_id: emailId }),
    ...(get('from') === '' ? {} : { from: toMoment(get('from')) }),
    ...(get('to') === '' ? {} : { to: toMoment(get('to')) }),
    ...(cursor === undefined ? {} : { cursor }),
  }
  return toCursorPage(await unwrap(api.GET('/v1/events', { params: { query } })))
}
