/** The events of an email, newest first. */
import type { VNode } from 'preact'
import { api, unwrap } from '../../api/client.ts'
import type { components } from '../../api/schema.d.ts'
import { toCursorPage, usePages } from '../../api/use-pages.ts'
import { allowBreaks } from '../../components/allow-breaks.tsx'
import { Empty } from '../../components/loaded.tsx'
import { type Column, PagedTable } from '../../components/table.tsx'
import { StatusBadge, Time, toWords } from '../../components/values.tsx'

type EmailEvent = components['schemas']['Event']

export function EmailEvents({ id }: { readonly id: string }): VNode {
  const pages = usePages(
    async (cursor) => {
      const params = { path: { id }, query: cursor === undefined ? {} : { cursor } }
      return toCursorPage(await unwrap(api.GET('/v1/emails/{id}/events', { params })))
    },
    [id],
  )
  return (
    <PagedTable
      caption="Events of this email"
      pages={pages}
      columns={columns}
      rowKey={(event) => event.id}
      empty={
        <Empty title="No events">
          <p>The operator of the service sets how long events are kept.</p>
        </Empty>
      }
    />
  )
}

const columns: readonly Column<EmailEvent>[] = [
  { title: 'Event', show: ({ type }) => <EventName type={type} /> },
  { title: 'Recipient', show: ({ recipient }) => <span class="address">{allowBreaks(recipient ?? '–')}</span> },
  { title: 'Details', show: ({ data }) => describeData(data) },
  { title: 'Time', show: ({ created_at: at }) => <Time at={at} kind="second" /> },
]

function EventName({ type }: Pick<EmailEvent, 'type'>): VNode {
  const name = type.slice(type.indexOf('.') + 1)
  return <StatusBadge status={name}>{toWords(name)}</StatusBadge>
}

const shownFields = ['link', 'bounce_subtype', 'bounce_reason', 'reason', 'response', 'feedback_type', 'user_agent']

/** Shows the fields that say more than the type does. */
function describeData(data: EmailEvent['data']): VNode | string {
  const values: Readonly<Record<string, unknown>> = { ...data }
  const machine = values['machine'] === true ? ['by a program'] : []
  const lines = [...machine, ...shownFields.map((name) => values[name])].filter((value) => typeof value === 'string')
  if (lines.length === 0) return '–'
  return (
    <>
      {lines.map((line) => (
        <span key={line} class="event-line">
          {line}
        </span>
      ))}
    </>
  )
}
