/**
 * Notices that the service switched a webhook off, to the owner and the admins of its workspace.
 *
 * Only the scheme and the host of the URL are shown: its path and query often contain a secret.
 *
 * A webhook that was disabled within a day before causes none, and a webhook after fifty others of its workspace causes
 * none either: one client of the API must not flood the administrators, who may be others, with mail of the service.
 */

import { toOneLine } from '../../base/mail/printable.js'
import { formatTimestamp } from '../../base/platform/clock.js'
import { readSlots } from '../../base/storage/db/event-slots.js'
import type { Read } from '../../base/storage/db/prepared.js'
import type { Timestamp } from '../../base/storage/tables/columns.js'
import { administratorsOf } from '../../workspaces/accounts/people/members.js'
import type { WebhookDisabledData } from '../../workspaces/webhooks/disable-webhook.js'
import { readCursors } from '../../workspaces/webhooks/dispatch-records.js'
import { EventPages } from '../../workspaces/webhooks/event-pages.js'
import { type WebhookRef, webhookById } from '../../workspaces/webhooks/webhook-records.js'
import { describeDisabledWebhook } from '../concerns/trouble-words.js'
import { prepareEarlierEvents } from './earlier-events.js'
import { formatTime, type NoticeMail, type Piece } from './notice-mail.js'

interface WebhookNoticeDeps {
  readonly read: Read
  /** It has no slash at its end. */
  readonly publicUrl: string
}

interface DisabledEvent {
  readonly seq: number
  readonly workspace_id: string
  readonly created_at: Timestamp
}

/** Events of a workspace that cause notices, within `NOTICE_INTERVAL`. It can have as many webhooks. */
const MAX_NOTICES = 50
/** Milliseconds. */
const NOTICE_INTERVAL = 86_400_000

const findEarlier = prepareEarlierEvents<WebhookDisabledData>('webhook.disabled', MAX_NOTICES)

export async function buildWebhookNotices(
  { read, publicUrl }: WebhookNoticeDeps,
  { seq, workspace_id: workspaceId, created_at: at }: DisabledEvent,
  { webhook_id: id, url, reason, failing_since: since }: WebhookDisabledData,
): Promise<readonly NoticeMail[]> {
  const earlier = (await findEarlier(read, { workspaceId, seq })).filter(
    (event) => event.created_at > at - NOTICE_INTERVAL,
  )
  if (earlier.length === MAX_NOTICES || earlier.some(({ data }) => data.webhook_id === id)) return []
  const origin = toOneLine(new URL(url).origin)
  const { title: subject, text } = describeDisabledWebhook({
    ...{ origin, reason },
    since: since === null ? null : formatTime(Date.parse(since)),
  })
  const from = await findReplayStart(read, { workspaceId, id }, since === null ? at : Date.parse(since))
  const pieces = buildPieces({ id, origin, text, at, from, resource: `${publicUrl}/v1/webhooks/${id}` })
  return (await administratorsOf(read, { workspaceId })).map(({ email }) => ({ to: email, subject, pieces }))
}

interface NoticeText {
  readonly id: string
  readonly origin: string
  readonly text: string
  readonly at: Timestamp
  readonly from: Timestamp
  /** The URL of the webhook in the API. */
  readonly resource: string
}

function buildPieces({ id, origin, text, at, from, resource }: NoticeText): readonly Piece[] {
  return [
    { kind: 'text', text: `The webhook ${id} at ${origin} was disabled on ${formatTime(at)}. ${text}` },
    {
      kind: 'text',
      text: 'When the endpoint works, send these requests:',
    },
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
      text: 'The last request delivers the events of that time. GET .../deliveries?status=failed lists the deliveries that failed before.',
    },
  ]
}

/**
 * Before the endpoint failed, events may have waited for their first attempt. If so, the oldest of them is the start.
 */
async function findReplayStart(read: Read, webhook: WebhookRef, failedAt: Timestamp): Promise<Timestamp> {
  const found = await webhookById(read, webhook)
  if (found === undefined) return failedAt
  const events = new EventPages(read)
  const waiting = await Promise.all(
    [...(await readCursors(read, found, await readSlots(read)))].map(async ([slot, cursor]) => {
      const [first] = await events.after(webhook.workspaceId, cursor, slot)
      return first?.created_at ?? failedAt
    }),
  )
  return Math.min(failedAt, ...waiting)
}
