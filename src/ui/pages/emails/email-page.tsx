/** One email: its story by recipients, the message, events and clicks. It is loaded again until it is settled. */
import type { VNode } from 'preact'
import { api, unwrap } from '../../api/client.ts'
import { useLoad } from '../../api/use-load.ts'
import { readNow } from '../../components/clock.ts'
import { Loaded } from '../../components/loaded.tsx'
import { Page } from '../../components/page.tsx'
import type { PageProps } from '../../components/page-route.ts'
import { Tabs } from '../../components/tabs.tsx'
import { Copy, CopyButton, Facts, Note, Time } from '../../components/values.tsx'
import { BroadcastLink } from './broadcast-link.tsx'
import { describeRecipients, type EmailPartProps, type EmailStory, isOpen, titleOf } from './email.ts'
import { EmailActs } from './email-acts.tsx'
import { EmailClicks } from './email-clicks.tsx'
import { EmailEvents } from './email-events.tsx'
import { EmailMessage } from './email-message.tsx'
import { EmailStatus } from './email-status.tsx'
import { RecipientStories } from './recipient-stories.tsx'
import './emails.css'

/** Milliseconds until an email is loaded again: while an attempt is under way or due, and while the email waits. */
const PAUSE = { attempt: 1_500, wait: 6_000 }

export function EmailPage({ params: { id = '' } }: PageProps): VNode {
  const email = useLoad(() => unwrap(api.GET('/v1/emails/{id}/story', { params: { path: { id } } })), [id], {
    every: choosePause,
  })
  const { data, reload } = email
  return (
    <Page
      title={data === undefined ? 'Email' : titleOf(data)}
      badge={data === undefined ? null : <EmailStatus email={data} />}
      up={{ href: '/emails', label: 'Emails' }}
      actions={data === undefined ? undefined : <EmailActs email={data} onChanged={reload} />}
    >
      <Loaded from={email}>{(story) => <EmailParts email={story} onChanged={reload} />}</Loaded>
    </Page>
  )
}

/** Null means that nothing more happens by itself. */
function choosePause(email: EmailStory): number | null {
  if (!isOpen(email)) return null
  const soon = readNow() + PAUSE.wait
  const isDue = email.recipients.some(
    ({ next, held_by: heldBy }) => next !== null && heldBy === null && (next.at === null || Date.parse(next.at) < soon),
  )
  return isDue ? PAUSE.attempt : PAUSE.wait
}

function EmailParts({ email, onChanged }: EmailPartProps): VNode {
  const { id } = email
  return (
    <>
      <EmailFacts email={email} />
      <Tabs
        label="Parts of the email"
        tabs={[
          { id: 'story', title: 'Story', show: () => <Story email={email} onChanged={onChanged} /> },
          { id: 'message', title: 'Message', show: () => <EmailMessage id={id} /> },
          { id: 'events', title: 'Events', show: () => <EmailEvents id={id} /> },
          { id: 'clicks', title: 'Clicks', show: () => <EmailClicks id={id} /> },
        ]}
      />
    </>
  )
}

function Story({ email, onChanged }: EmailPartProps): VNode {
  return (
    <>
      <p class="story-copy">
        <CopyButton text={email.text} label="the story as text, for example for a ticket">
          Copy the story as text
        </CopyButton>
      </p>
      <RecipientStories email={email} onChanged={onChanged} />
    </>
  )
}

function EmailFacts({ email }: { readonly email: EmailStory }): VNode {
  const { tracking, tags } = email
  const optional = [
    { name: 'Cc', value: email.cc.join(', ') },
    { name: 'Bcc', value: email.bcc.join(', ') },
    { name: 'Reply to', value: email.reply_to.join(', ') },
    { name: 'Tags', value: tags.map(({ name, value }) => `${name}: ${value}`).join(', ') },
  ].filter(({ value }) => value !== '')
  const moments = [
    { name: 'Scheduled for', at: email.scheduled_for },
    { name: 'Opened', at: email.opened_at },
    { name: 'Clicked', at: email.clicked_at },
  ].flatMap(({ name, at }) => (at === null ? [] : [{ name, value: <Time at={at} /> }]))
  const { broadcast_id: broadcastId } = email
  const origin = broadcastId === undefined ? [] : [{ name: 'Broadcast', value: <BroadcastLink id={broadcastId} /> }]
  const recipients = describeRecipients(email)
  const counts = recipients === null ? [] : [{ name: 'Recipients', value: recipients }]
  return (
    <>
      <Facts
        facts={[
          { name: 'From', value: email.from },
          { name: 'To', value: email.to.join(', ') || '–' },
          { name: 'Accepted', value: <Time at={email.created_at} /> },
          ...origin,
          ...counts,
          ...moments,
          ...optional,
        ]}
      />
      <EmailIds email={email} />
      {tracking.skipped === undefined ? null : (
        <Note tone="warn">
          <p>Opens and clicks are not tracked: {tracking.skipped}</p>
        </Note>
      )}
    </>
  )
}

function EmailIds({ email }: { readonly email: EmailStory }): VNode {
  return (
    <details class="more">
      <summary>ID and Message-ID</summary>
      <p>
        ID: <Copy text={email.id} label="the ID" />
      </p>
      <p>
        Message-ID: <Copy text={email.message_id} label="the Message-ID" />
      </p>
    </details>
  )
}
