/** The email of one contact of a broadcast, as the writes of its commit. */

import type { Address } from '../../base/mail/address.js'
import { uuidv7 } from '../../base/platform/ids.js'
import { prepareWrite } from '../../base/storage/db/prepared.js'
import { parseJson, toJson } from '../../base/storage/tables/columns.js'
import type { Tables } from '../../base/storage/tables/tables.js'
import type { MessageFrame } from '../../records/messages/frames/message-frame.js'
import { type EnqueuedEmail, enqueue, type NewEmail } from '../../records/messages/queue/enqueue.js'
import type { Contact } from '../../workspaces/audiences/contacts.js'
import type { BroadcastSummary } from './broadcast-records.js'
import { buildContactMessage, type ContactMessage, type ContactMessageDeps } from './contact-message.js'

type NewMessage = Omit<Tables['broadcast_messages'], 'unsubscribed_at' | 'unsubscribed_contact'>

const insertMessage = prepareWrite<NewMessage>(({ db, slot }) =>
  db.insertInto('broadcast_messages').values({
    email_id: slot('email_id'),
    recipient_id: slot('recipient_id'),
    workspace_id: slot('workspace_id'),
    broadcast_id: slot('broadcast_id'),
    contact_id: slot('contact_id'),
    address: slot('address'),
    slots: slot('slots'),
    created_at: slot('created_at'),
  }),
)

/** A contact whose address was parsed. */
export interface ChosenContact {
  readonly contact: Contact
  readonly address: Address
}

export function enqueueContact(
  deps: ContactMessageDeps,
  broadcast: BroadcastSummary,
  frame: MessageFrame,
  { contact, address }: ChosenContact,
  now: number,
): EnqueuedEmail {
  const ids = { emailId: `bc-${uuidv7(now)}`, recipientId: uuidv7(now) }
  const message = buildContactMessage(deps, frame, { ...contact, email: address }, { ...ids, now })
  const stored = insertMessage({
    email_id: ids.emailId,
    recipient_id: ids.recipientId,
    workspace_id: broadcast.workspace_id,
    broadcast_id: broadcast.id,
    contact_id: contact.id,
    address,
    slots: toJson(message.slots),
    created_at: now,
  })
  const recipient = { address, suppressed: false, notify: null, orcpt: null, id: ids.recipientId }
  const email = buildEmail(broadcast, message, { id: ids.emailId, address, now })
  return enqueue(email, [recipient], { size: message.size, writes: [stored] })
}

function buildEmail(
  broadcast: BroadcastSummary,
  { messageId, subject, smtputf8 }: ContactMessage,
  { id, address, now }: { readonly id: string; readonly address: Address; readonly now: number },
): NewEmail {
  const { address: sender, name } = parseJson(broadcast.sender)
  return {
    id,
    workspace_id: broadcast.workspace_id,
    source: 'rest',
    message_id: messageId,
    envelope_from: sender,
    envid: null,
    ret: null,
    from_email: sender,
    from_name: name,
    to_emails: toJson([address]),
    cc_emails: toJson([]),
    bcc_emails: toJson([]),
    reply_to: toJson(parseJson(broadcast.reply_to).map((mailbox) => mailbox.address)),
    subject,
    tags: toJson([]),
    track_opens: 1,
    track_clicks: 1,
    tracking_skipped: null,
    has_copies: 0,
    priority: 'low',
    smtputf8: smtputf8 ? 1 : 0,
    created_at: now,
    scheduled_for: null,
    key_id: broadcast.key_id,
    template_id: broadcast.template_id,
    broadcast_id: broadcast.id,
  }
}
