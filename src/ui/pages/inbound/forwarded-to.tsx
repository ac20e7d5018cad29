/** Shows what forwarding rules did with an inbound email. */
import type { VNode } from 'preact'
import { api, unwrap } from '../../api/client.ts'
import type { components } from '../../api/schema.d.ts'
import { useLoad } from '../../api/use-load.ts'
import { MailState } from '../../components/mail-state.tsx'
import { Section } from '../../components/page.tsx'
import { type Column, Table } from '../../components/table.tsx'
import type { EmailPartProps } from './inbound-email.ts'

type Forwarded = components['schemas']['ForwardedInbound']

/** Nothing is shown for mail to which no rule applied. */
export function ForwardedTo({ email: { id, status } }: EmailPartProps): VNode | null {
  const params = { path: { id } }
  const forwarded = useLoad(() => unwrap(api.GET('/v1/inbound/{id}/forwards', { params })), [id, status])
  const rows = forwarded.data?.data ?? []
  if (rows.length === 0) return null
  return (
    <Section title="Forwarded to">
      <Table
        caption="What forwarding rules did"
        columns={columns}
        rows={rows}
        rowKey={({ to, rule_id: rule }) => `${rule} ${to}`}
      />
    </Section>
  )
}

const reasons: Readonly<Record<NonNullable<Forwarded['reason']>, string>> = {
  spam: 'Spam is not forwarded.',
  dmarc: 'Its author is not proved (DMARC), so it is not forwarded.',
  loop: 'It came from there, so it would go round in circles.',
  unconfirmed: 'The owner of the address has not agreed yet.',
  suppressed: 'The address is suppressed.',
  size: 'It is too large.',
}

const columns: readonly Column<Forwarded>[] = [
  { title: 'Address', show: ({ to }) => to },
  {
    title: 'State',
    show: ({ status }) => (status === 'not-forwarded' ? 'Not forwarded' : <MailState state={status} />),
  },
  {
    title: 'Why',
    show: ({ reason, response }) => (reason === null ? (response ?? '–') : reasons[reason]),
  },
]
