/** The newest emails to the address of a contact, those of broadcasts too. Each leads to its story. */
import type { VNode } from 'preact'
import { Link } from 'wouter-preact'
import { sessionApi, unwrap } from '../../api/client.ts'
import { useLoad } from '../../api/use-load.ts'
import { Empty, Loaded } from '../../components/loaded.tsx'
import { Section } from '../../components/page.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { Time } from '../../components/values.tsx'
import { type FoundEmail, titleOf } from '../emails/email.ts'
import { EmailStatus } from '../emails/email-status.tsx'

/** Emails that the page of a contact shows. */
const LIMIT = 20

export function ContactMail({ address }: { readonly address: string }): VNode {
  const emails = useLoad(() => loadEmails(address), [address])
  return (
    <Section
      title="Emails to this address"
      intro="The newest first, those of broadcasts too. An email of a broadcast is listed from its first attempt on."
      actions={<Link href={`/emails?${new URLSearchParams({ recipient: address })}`}>All emails to this address</Link>}
    >
      <Loaded from={emails}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty title="No email to this address">
              <p>The operator sets how long records of emails are kept.</p>
            </Empty>
          ) : (
            <Table caption="Emails to this address" columns={columns} rows={data} rowKey={({ id }) => id} />
          )
        }
      </Loaded>
    </Section>
  )
}

function loadEmails(recipient: string) {
  return unwrap(sessionApi.GET('/ui/api/emails', { params: { query: { recipient, limit: LIMIT } } }))
}

const columns: readonly Column<FoundEmail>[] = [
  { title: 'Subject', show: (email) => <Link href={`/emails/${email.id}`}>{titleOf(email)}</Link> },
  { title: 'Status', isPlain: true, show: (email) => <EmailStatus email={email} /> },
  { title: 'Part of', show: ({ broadcast_id: id }) => <BroadcastCell id={id} /> },
  { title: 'Accepted', isPlain: true, show: ({ created_at: at }) => <Time at={at} /> },
]

function BroadcastCell({ id }: { readonly id: string | null }): VNode {
  return id === null ? <>–</> : <Link href={`/broadcasts/${id}`}>a broadcast</Link>
}
