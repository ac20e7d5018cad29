/** A broadcast as it stands in the database when it was sent: its links, and a contact, an email and a recipient each. */

import { parseAddress } from '../../../src/base/mail/address.js'
import { uuidv7 } from '../../../src/base/platform/ids.js'
import type { Read } from '../../../src/base/storage/db/prepared.js'
import type { Write } from '../../../src/base/storage/db/write.js'
import { toJson } from '../../../src/base/storage/tables/columns.js'
import { nameBroadcastLink } from '../../../src/outbound/tracking/broadcast-links.js'
import { encodeFrame } from '../../../src/records/messages/frames/encode-frame.js'
import { type MessageFrame, sizeOfFramed } from '../../../src/records/messages/frames/message-frame.js'
import { enqueue, type NewEmail } from '../../../src/records/messages/queue/enqueue.js'
import { newContactOf } from '../../../src/workspaces/audiences/contacts.js'
import { rowOf } from './rows.js'

interface BroadcastRequest {
  readonly workspaceId: string
  readonly to: readonly string[]
  readonly at: number
  /** URLs without variables. */
  readonly links?: readonly string[]
  /** They are not in the queue any more. */
  readonly deliveredAt?: number
}

interface SentMessage {
  readonly emailId: string
  readonly recipientId: string
  readonly contactId: string
}

interface SentBroadcast {
  readonly id: string
  readonly audienceId: string
  /** In the order of `to`. */
  readonly messages: readonly SentMessage[]
  readonly writes: readonly Write[]
}

const SENDER = { address: parseAddress('news@a.test'), name: 'News' }

export async function sentBroadcast(read: Read, request: BroadcastRequest): Promise<SentBroadcast> {
  const { workspaceId, at, links = [] } = request
  const newRow = rowOf(read)
  const [id, audienceId] = [uuidv7(at), uuidv7(at)]
  const own = { broadcast_id: id, workspace_id: workspaceId, created_at: at }
  const sent = await Promise.all(request.to.map((to) => sentMessage(read, { ...request, id, audienceId, to })))
  return {
    ...{ id, audienceId, messages: sent.map(({ message }) => message) },
    writes: [
      await newRow('audiences', { id: audienceId, workspace_id: workspaceId, name: 'list', created_at: at }),
      await newRow('broadcasts', {
        ...{ id, workspace_id: workspaceId, audience_id: audienceId, status: 'sent', created_at: at, finished_at: at },
        ...{ sender: toJson(SENDER), reply_to: '[]' },
      }),
      await newRow('broadcast_frames', { ...own, frame: encodeFrame(frameOf(id)) }),
      ...(await Promise.all(
        links.map((url) => newRow('broadcast_links', { ...own, url, url_key: nameBroadcastLink(url) })),
      )),
      ...sent.flatMap(({ writes }) => writes),
    ],
  }
}

/** A plain message with a value for its id and one for its recipient. */
function frameOf(broadcastId: string): MessageFrame {
  const text = (value: string): Buffer => Buffer.from(value.replaceAll('\n', '\r\n'))
  const slot = (value: number) => ({ value, encoding: 'verbatim' }) as const
  return {
    pieces: [
      ...[text('From: News <news@a.test>\nSubject: news\nDate: Thu, 1 Jan 2026 00:00:00 +0000\nMessage-ID: ')],
      ...[slot(0), text('\nTo: '), slot(1), text('\n\nnews\n')],
    ],
    smtputf8: false,
    recipe: {
      ...{ broadcastId, hostname: 'mail.service.test', domain: 'a.test', base: 'https://mail.service.test' },
      ...{ subject: ['news'], values: [{ kind: 'email-id' }, { kind: 'to' }] },
    },
  }
}

type MessageRequest = Omit<BroadcastRequest, 'to'> & {
  readonly id: string
  readonly audienceId: string
  readonly to: string
}

async function sentMessage(
  read: Read,
  request: MessageRequest,
): Promise<{ message: SentMessage; writes: readonly Write[] }> {
  const { workspaceId, at, id: broadcastId, audienceId, to, deliveredAt } = request
  const newRow = rowOf(read)
  const contact = newContactOf({ workspaceId, audienceId, email: to, now: at })
  const [emailId, recipientId] = [`bc-${uuidv7(at)}`, uuidv7(at)]
  const message = { emailId, recipientId, contactId: contact.id }
  const address = parseAddress(to)
  return {
    message,
    writes: [
      await newRow('contacts', { ...contact }),
      ...(await enqueueMessage({ ...request, ...message }, (slots) =>
        newRow('broadcast_messages', {
          ...{ email_id: emailId, recipient_id: recipientId, workspace_id: workspaceId, broadcast_id: broadcastId },
          ...{ contact_id: contact.id, address, slots: JSON.stringify(slots), created_at: at },
        }),
      )),
      ...(deliveredAt === undefined ? [] : settle(message, deliveredAt)),
    ],
  }
}

async function enqueueMessage(
  request: MessageRequest & SentMessage,
  storeMessage: (slots: readonly string[]) => Promise<Write>,
): Promise<readonly Write[]> {
  const { workspaceId, at, id: broadcastId, to, emailId, recipientId } = request
  const slots = [`<${emailId}@mail.service.test>`, to]
  const email: NewEmail = {
    ...{ id: emailId, workspace_id: workspaceId, source: 'rest', message_id: `<${emailId}@mail.service.test>` },
    ...{ envelope_from: '', envid: null, ret: null, from_email: SENDER.address, from_name: SENDER.name },
    ...{ to_emails: toJson([to]), cc_emails: toJson([]), bcc_emails: toJson([]), reply_to: toJson([]) },
    ...{ subject: 'news', tags: toJson([]), track_opens: 1, track_clicks: 1, tracking_skipped: null, has_copies: 0 },
    ...{ priority: 'low', smtputf8: 0, created_at: at, key_id: null, template_id: null, scheduled_for: null },
    broadcast_id: broadcastId,
  }
  const recipient = { address: parseAddress(to), suppressed: false, notify: null, orcpt: null, id: recipientId }
  const size = sizeOfFramed(frameOf(broadcastId), slots)
  return enqueue(email, [recipient], { size, writes: [await storeMessage(slots)] }).writes
}

function settle({ emailId, recipientId }: SentMessage, at: number): readonly Write[] {
  return [
    { sql: 'delete from queue where id = ?', parameters: [recipientId] },
    {
      sql: `update recipients set status = 'delivered', delivered_at = ?, settled_at = ? where id = ?`,
      parameters: [at, at, recipientId],
    },
    {
      sql: `update emails set status = 'delivered', sent_at = ?, delivered_at = ? where id = ?`,
      parameters: [at, at, emailId],
    },
  ]
}
