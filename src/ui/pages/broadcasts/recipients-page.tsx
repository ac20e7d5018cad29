/** The recipients of a broadcast by what became of their messages, and their export. */
import type { ComponentChildren, VNode } from 'preact'
import { useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { api, unwrap } from '../../api/client.ts'
import { useLoad } from '../../api/use-load.ts'
import { type ListPage, toCursorPage, usePages } from '../../api/use-pages.ts'
import { allowBreaks } from '../../components/allow-breaks.tsx'
import { Button } from '../../components/button.tsx'
import { SelectField } from '../../components/fields.tsx'
import { FilterErrors } from '../../components/filter-errors.tsx'
import { Filters, useFilters } from '../../components/filters.tsx'
import { Empty } from '../../components/loaded.tsx'
import { MailState } from '../../components/mail-state.tsx'
import { notify } from '../../components/notices.tsx'
import { Page } from '../../components/page.tsx'
import type { PageProps } from '../../components/page-route.ts'
import { type Column, PagedTable } from '../../components/table.tsx'
import { Note, Time } from '../../components/values.tsx'
import { describeOutcome, isOutcome, outcomeOptions, type Recipient, type RecipientPage } from './outcome.ts'

const names = ['status']
const PAGE_SIZE = 25

export function RecipientsPage({ params: { id = '' } }: PageProps): VNode {
  const filters = useFilters(names)
  const status = filters.get('status')
  const broadcast = useLoad(() => unwrap(api.GET('/v1/broadcasts/{id}', { params: { path: { id } } })), [id])
  /** True if emails of the broadcast were removed after their retention. */
  const [isRemoved, setRemoved] = useState(false)
  const load = async (position: string | undefined): Promise<ListPage<Recipient>> => {
    const page = await loadRecipients(id, status, position)
    setRemoved(page.removed)
    return toCursorPage(page)
  }
  const pages = usePages(load, [id, filters.key])
  const name = broadcast.data?.name
  return (
    <Page
      title={name === undefined ? 'Recipients' : `Recipients of “${name}”`}
      intro="Opens and clicks count people. Programs, such as scanners, do not count."
      up={{ href: `/broadcasts/${id}`, label: name ?? 'Broadcast' }}
      actions={<Button onClick={() => requestExport(id, status)}>Export this list</Button>}
    >
      <Filters names={names} filters={filters}>
        <FilterErrors error={pages.error}>
          <SelectField name="status" label="Show" options={outcomeOptions} value={status} />
        </FilterErrors>
      </Filters>
      {isRemoved ? <RemovedNote /> : null}
      <PagedTable
        caption="Recipients of the broadcast"
        pages={pages}
        columns={columns}
        rowKey={({ email_id: emailId }) => emailId}
        empty={<Empty title={isOutcome(status) ? describeOutcome(status).none : 'No recipient yet'} />}
      />
    </Page>
  )
}

function RemovedNote(): VNode {
  return (
    <Note tone="info">
      <p>
        Emails of this broadcast were removed because of their age, and their recipients are not in this list. The
        numbers of the broadcast still count them.
      </p>
    </Note>
  )
}

function loadRecipients(id: string, status: string, cursor: string | undefined): Promise<RecipientPage> {
  const query = {
    limit: PAGE_SIZE,
    ...(cursor === undefined ? {} : { cursor }),
    ...(isOutcome(status) ? { status } : {}),
  }
  return unwrap(api.GET('/v1/broadcasts/{id}/recipients', { params: { path: { id }, query } }))
}

async function requestExport(id: string, status: string): Promise<void> {
  const body = { type: 'broadcast_recipients' as const, broadcast_id: id, ...(isOutcome(status) ? { status } : {}) }
  await unwrap(api.POST('/v1/exports', { body }))
  notify('The list is being written to a file. You find it under Exports.')
}

const columns: readonly Column<Recipient>[] = [
  { title: 'Address', show: (recipient) => <Address recipient={recipient} /> },
  { title: 'State', show: (recipient) => <State recipient={recipient} /> },
  { title: 'What they did', show: showActs },
]

/** Links to the email, and shows the reply of the recipient's server if the message did not arrive. */
function Address({ recipient: { to, email_id: id, status, response } }: { readonly recipient: Recipient }): VNode {
  const isLost = status === 'bounced' || status === 'failed'
  return (
    <>
      {status === null ? allowBreaks(to) : <Link href={`/emails/${id}`}>{allowBreaks(to)}</Link>}
      {isLost && response !== null ? <span class="row-note">{allowBreaks(response)}</span> : null}
    </>
  )
}

/** The status of the email, and when it came to that. */
function State({ recipient }: { readonly recipient: Recipient }): VNode {
  const { status, delivered_at: delivered, bounced_at: bounced } = recipient
  const at = status === 'bounced' ? bounced : delivered
  return (
    <>
      {status === null ? 'The email was removed' : <MailState state={status} />}
      {at === null ? null : (
        <span class="row-note">
          <Time at={at} />
        </span>
      )}
    </>
  )
}

/** What the recipient has done. */
function showActs(recipient: Recipient): ComponentChildren {
  const acts = [
    { name: 'Opened', at: recipient.opened_at },
    { name: 'Clicked', at: recipient.clicked_at },
    { name: 'Complained', at: recipient.complained_at },
    { name: 'Unsubscribed', at: recipient.unsubscribed_at },
  ].filter(({ at }) => at !== null)
  if (acts.length === 0) return '–'
  return (
    <>
      {acts.map(({ name, at }) => (
        <span key={name} class="row-line">
          {name} <Time at={at} />
        </span>
      ))}
    </>
  )
}
