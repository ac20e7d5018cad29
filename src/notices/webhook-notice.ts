/**
 * Notices that the service switched a webhook off, to the owner and the admins of its workspace.
 *
 * Of the URL only the scheme and the host are shown: its path and query often contain a secret.
 */
import { administratorsOf } from '../accounts/people/members.js'
import { formatTimestamp } from '../platform/clock.js'
import type { Read } from '../storage/prepared.js'
import type { Timestamp } from '../storage/tables/columns.js'
import type { WebhookDisabledData } from '../webhooks/disable-webhook.js'
import { createEventReader } from '../webhooks/event-pages.js'
import { type WebhookRef, webhookById } from '../webhooks/webhook-records.js'
import { formatTime, type NoticeMail, type Piece, toOneLine } from './notice-mail.js'

interface WebhookNoticeDeps {
  readonly read: Read
  /** Without a slash at its end. */
  readonly publicUrl: string
}

interface DisabledEvent {
  readonly workspace_id: string
  readonly created_at: Timestamp
}

export function buildWebhookNotices(
  { read, publicUrl }: WebhookNoticeDeps,
  { workspace_id: workspaceId, created_at: at }: DisabledEvent,
  { webhook_id: id, url, reason, failing_since: since }: WebhookDisabledData,
): readonly NoticeMail[] {
  const origin = toOneLine(new URL(url).origin)
  const cause =
    reason === 'gone'
      ? 'The endpoint answered 410 (Gone), which means that it does not exist any more.'
      : `No request to the endpoint succeeded${since === null ? '' : ` since ${formatTime(Date.parse(since))}`}.`
  const from = findReplayStart(read, { workspaceId, id }, since === null ? at : Date.parse(since))
  const resource = `${publicUrl}/v1/webhooks/${id}`
  const pieces: readonly Piece[] = [
    { kind: 'text', text: `The webhook ${id} at ${origin} was disabled on ${formatTime(at)}. ${cause}` },
    { kind: 'text', text: 'No events are delivered to it until it is enabled again. When the endpoint works:' },
    {
      kind: 'list',
      lines: [
        `PATCH ${resource} {"enabled": true}`,
        `POST ${resource}/test`,
        `POST ${resource}/replay {"from": "${formatTimestamp(from)}", "to": "(now)"}`,
      ],
    },
    {
      kind: 'text',
      text: 'The last request delivers what happened in that time. GET .../deliveries?status=failed lists what had failed before.',
    },
  ]
  const subject = `A webhook is disabled: ${origin}`
  return administratorsOf(read, { workspaceId }).map(({ email }) => ({ to: email, subject, pieces }))
}

/** Before the endpoint failed, events may have waited for their first attempt: then the oldest of them. */
function findReplayStart(read: Read, webhook: WebhookRef, failedAt: Timestamp): Timestamp {
  const cursor = webhookById(read, webhook)?.event_cursor
  if (cursor === undefined) return failedAt
  const [waiting] = createEventReader(read).readEvents(webhook.workspaceId, cursor)
  return Math.min(failedAt, waiting?.created_at ?? failedAt)
}
