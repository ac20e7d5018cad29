/** One broadcast: its progress, its numbers, the clicked links, and the acts that its state allows. */
import type { VNode } from 'preact'
import { Link } from 'wouter-preact'
import { api, sessionApi, unwrap } from '../../api/client.ts'
import { type Loading, useLoad } from '../../api/use-load.ts'
import { formatNumber } from '../../components/format.ts'
import { Empty, Loaded } from '../../components/loaded.tsx'
import { Page, Section } from '../../components/page.tsx'
import type { PageProps } from '../../components/page-route.ts'
import { Progress } from '../../components/progress.tsx'
import { Table } from '../../components/table.tsx'
import { Facts, Note, StatusBadge, Time } from '../../components/values.tsx'
import type { Audience } from '../audiences/audience.ts'
import { type Content, ContentPreview, usePreview } from '../templates/content-preview.tsx'
import type { Broadcast } from './broadcast.ts'
import { BroadcastActs } from './broadcast-acts.tsx'
import { BroadcastDeletion } from './broadcast-deletion.tsx'
import { BroadcastNumbers } from './broadcast-numbers.tsx'

/** Milliseconds until the numbers are loaded again. */
const SENDING_PAUSE = 2_000
const LATER_PAUSE = 15_000

/** Null means that nothing changes by itself. Opens and clicks still come after a broadcast is sent. */
function pauseOf({ status }: Broadcast): number | null {
  if (status === 'sending') return SENDING_PAUSE
  return status === 'draft' ? null : LATER_PAUSE
}

export function BroadcastPage({ params: { id = '' } }: PageProps): VNode {
  const path = { id }
  const load = () => unwrap(api.GET('/v1/broadcasts/{id}', { params: { path } }))
  const broadcast = useLoad(load, [id], { every: pauseOf })
  const { data } = broadcast
  return (
    <Page
      title={data?.name ?? 'Broadcast'}
      badge={data === undefined ? null : <StatusBadge status={data.status} />}
      up={{ href: '/broadcasts', label: 'Broadcasts' }}
      actions={data === undefined ? undefined : <BroadcastActs broadcast={data} onChanged={broadcast.replace} />}
    >
      <Loaded from={broadcast}>{(shown) => <BroadcastParts broadcast={shown} />}</Loaded>
    </Page>
  )
}

interface PartProps {
  readonly broadcast: Broadcast
}

function BroadcastParts({ broadcast }: PartProps): VNode {
  const { id, status, recipients } = broadcast
  const audienceId = broadcast.audience_id
  const audience = useAudience(audienceId)
  const isBegun = recipients > 0 || broadcast.started_at !== null
  return (
    <>
      <StateNotes broadcast={broadcast} />
      <BroadcastFacts broadcast={broadcast} audience={audience} />
      {isBegun ? <SendingProgress broadcast={broadcast} /> : null}
      {isBegun ? <BroadcastNumbers broadcast={broadcast} /> : null}
      {isBegun ? <ClickedLinks id={id} clicks={broadcast.unique_clicks} /> : null}
      <BroadcastContent broadcast={broadcast} />
      {status === 'sending' || status === 'paused' ? null : <BroadcastDeletion broadcast={broadcast} />}
    </>
  )
}

function useAudience(id: string): Loading<Audience> {
  return useLoad(() => unwrap(api.GET('/v1/audiences/{id}', { params: { path: { id } } })), [id])
}

function StateNotes({ broadcast: { note, waits_until: waitsUntil, status, scheduled_for: at } }: PartProps): VNode {
  return (
    <>
      {status === 'scheduled' ? (
        <Note tone="info">
          <p>
            It will be sent on <Time at={at} /> to the contacts that are subscribed at that time.
          </p>
        </Note>
      ) : null}
      {note === null && waitsUntil === null ? null : (
        <Note
          tone="warn"
          title={waitsUntil === null ? 'The service has paused this broadcast' : 'The broadcast is waiting'}
        >
          <p>
            {note}
            {waitsUntil === null ? null : (
              <>
                {' '}
                It continues automatically at <Time at={waitsUntil} />.
              </>
            )}
          </p>
        </Note>
      )}
    </>
  )
}

interface FactsProps extends PartProps {
  readonly audience: Loading<Audience>
}

function BroadcastFacts({ broadcast, audience }: FactsProps): VNode {
  const { from, reply_to: replyTo, subject, audience_id: audienceId, template_id: templateId } = broadcast
  const { started_at: started, finished_at: finished, not_opened_of: first } = broadcast
  const audienceName = audience.data === undefined ? (audience.error?.message ?? '…') : audience.data.name
  return (
    <Facts
      facts={[
        { name: 'From', value: from },
        ...(replyTo.length === 0 ? [] : [{ name: 'Reply to', value: replyTo.join(', ') }]),
        {
          name: 'Audience',
          value:
            audience.data === undefined ? audienceName : <Link href={`/audiences/${audienceId}`}>{audienceName}</Link>,
        },
        {
          name: 'Subject',
          value:
            subject ??
            (templateId === null ? '–' : <Link href={`/templates/${templateId}`}>The subject of the template</Link>),
        },
        ...(first === null ? [] : [{ name: 'Only for', value: <UnopenedOf id={first} /> }]),
        ...(started === null ? [] : [{ name: 'Started', value: <Time at={started} /> }]),
        ...(finished === null ? [] : [{ name: 'Finished', value: <Time at={finished} /> }]),
      ]}
    />
  )
}

function UnopenedOf({ id }: { readonly id: string }): VNode {
  const first = useLoad(() => unwrap(api.GET('/v1/broadcasts/{id}', { params: { path: { id } } })), [id])
  const name = first.data?.name
  return (
    <>
      Contacts who got {name === undefined ? 'an earlier broadcast' : <Link href={`/broadcasts/${id}`}>“{name}”</Link>}{' '}
      and have not opened it when their turn comes
    </>
  )
}

function SendingProgress({ broadcast }: PartProps): VNode | null {
  const { status, recipients, queued } = broadcast
  if (status !== 'sending' && status !== 'paused') return null
  return (
    <Section title="Progress">
      <Progress label="Messages that have left the queue" done={recipients - queued} total={recipients} />
    </Section>
  )
}

function ClickedLinks({ id, clicks }: { readonly id: string; readonly clicks: number }): VNode {
  const load = () => unwrap(sessionApi.GET('/ui/api/broadcasts/{id}/links', { params: { path: { id } } }))
  const links = useLoad(load, [id, clicks])
  return (
    <Section title="Links clicked" intro="Only the first click of each recipient counts.">
      <Loaded from={links}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty title="No click yet" />
          ) : (
            <Table
              caption="Links that were clicked"
              columns={[
                { title: 'Link', show: ({ url }) => url },
                { title: 'Recipients', kind: 'number', show: ({ clicks: count }) => formatNumber(count) },
              ]}
              rows={data}
              rowKey={({ url }) => url}
            />
          )
        }
      </Loaded>
    </Section>
  )
}

function BroadcastContent({ broadcast: { subject, html, text, template_id: templateId } }: PartProps): VNode {
  return (
    <Section title="Content">
      {subject === null && templateId !== null ? (
        <p>
          The content comes from a <Link href={`/templates/${templateId}`}>template</Link>. The broadcast uses the
          template as it is at the time of sending.
        </p>
      ) : (
        <OwnContent content={{ subject: subject ?? '', html: html ?? '', text: text ?? '' }} />
      )}
    </Section>
  )
}

function OwnContent({ content }: { readonly content: Content }): VNode {
  const preview = usePreview(content, { email: 'ann@example.com', first_name: 'Ann', last_name: 'Lee' }, true)
  return <ContentPreview from={preview} />
}
