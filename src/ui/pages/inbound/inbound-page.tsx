/** One inbound email: its sender, its content, why it is trusted or not, and what you can do with it. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { api, unwrap } from '../../api/client.ts'
import { type Loading, useLoad } from '../../api/use-load.ts'
import { Loaded } from '../../components/loaded.tsx'
import { Page } from '../../components/page.tsx'
import type { PageProps } from '../../components/page-route.ts'
import { Tabs } from '../../components/tabs.tsx'
import { Facts, Note, Time } from '../../components/values.tsx'
import { Acts } from './acts.tsx'
import { Attachments } from './attachments.tsx'
import { AuthenticationResults, SpamReasons } from './checks.tsx'
import { ForwardedTo } from './forwarded-to.tsx'
import './inbound.css'
import { type EmailPartProps, type InboundEmail, titleOf } from './inbound-email.ts'
import { HeaderFields, MessageHtml, MessageText, RawMessage } from './message-parts.tsx'
import { SpamBadge } from './spam-badge.tsx'

/** Milliseconds until the page is loaded again while the message is being processed. */
const REFRESH = 1_500

export function InboundPage({ params: { id = '' } }: PageProps): VNode {
  const every = ({ status }: InboundEmail): number | null => (status === 'received' ? REFRESH : null)
  const load = (): Promise<InboundEmail> => unwrap(api.GET('/v1/inbound/{id}', { params: { path: { id } } }))
  const from = useLoad(load, [id], { every })
  const [replyId, setReplyId] = useState<string | null>(null)
  const { data: email } = from
  return (
    <Page
      title={email === undefined ? 'Inbound email' : titleOf(email)}
      badge={email === undefined ? null : <SpamBadge email={email} />}
      up={{ href: '/inbound', label: 'Inbound' }}
      actions={email === undefined ? undefined : <Acts email={email} onChanged={from.replace} onReplied={setReplyId} />}
    >
      {replyId === null ? null : (
        <Note tone="good" title="Your reply is stored, and will be delivered">
          <p>
            <Link href={`/emails/${replyId}`}>Follow its delivery</Link>
          </p>
        </Note>
      )}
      <EmailParts from={from} />
    </Page>
  )
}

function EmailParts({ from }: { readonly from: Loading<InboundEmail> }): VNode {
  return (
    <Loaded from={from}>
      {(email) => (
        <>
          <State email={email} />
          <Envelope email={email} />
          <Tabs label="Parts of the message" tabs={buildTabs(email)} />
          <Attachments email={email} />
          <ForwardedTo email={email} />
        </>
      )}
    </Loaded>
  )
}

function State({ email: { status } }: EmailPartProps): VNode | null {
  if (status === 'processed') return null
  if (status === 'received') {
    return (
      <Note tone="info" title="This message is being processed">
        <p>Its spam score and its parts appear here in a moment.</p>
      </Note>
    )
  }
  return (
    <Note tone="bad" title="This message could not be read">
      <p>It is malformed or exceeds the limits. Save the raw message to read it in another program.</p>
    </Note>
  )
}

/** The envelope is shown where it differs from the header. */
function Envelope({ email }: EmailPartProps): VNode {
  const { from, from_name: name, to, cc, envelope_from: sender, envelope_to: recipients } = email
  return (
    <Facts
      facts={[
        { name: 'From', value: formatAuthor(from, name) },
        { name: 'To', value: to.length === 0 ? '–' : to.join(', ') },
        ...(cc === null ? [] : [{ name: 'Cc', value: cc.join(', ') }]),
        { name: 'Received', value: <Time at={email.received_at} /> },
        ...(sender === from
          ? []
          : [{ name: 'Envelope sender', value: sender || 'None, as in reports of mail systems' }]),
        ...(recipients.join() === to.join() ? [] : [{ name: 'Delivered to', value: recipients.join(', ') }]),
      ]}
    />
  )
}

function formatAuthor(address: string, name: string): string {
  if (address === '') return 'Unknown'
  return name === '' ? address : `${name} <${address}>`
}

function buildTabs(email: InboundEmail): Parameters<typeof Tabs>[0]['tabs'] {
  const html = { id: 'html', title: 'HTML', show: () => <MessageHtml email={email} /> }
  return [
    ...(email.has_html ? [html] : []),
    { id: 'text', title: 'Text', show: () => <MessageText email={email} /> },
    { id: 'checks', title: 'Checks', show: () => <Checks email={email} /> },
    { id: 'header', title: 'Header', show: () => <HeaderFields email={email} /> },
    { id: 'raw', title: 'Raw', show: () => <RawMessage email={email} /> },
  ]
}

function Checks({ email }: EmailPartProps): VNode {
  return (
    <>
      <AuthenticationResults email={email} />
      <SpamReasons email={email} />
    </>
  )
}
