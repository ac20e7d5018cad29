/**
 * Unsubscribes the recipient of a broadcast: its contact gets no further broadcasts, and the event is recorded once.
 * The address is not suppressed, so messages that people ask for still arrive.
 *
 * For an hour the holder of the link may undo the request. A contact that was removed and added again since is found by
 * its address.
 */

import type { Address } from '../../base/mail/address.js'
import { formatTimestamp } from '../../base/platform/clock.js'
import type { Read } from '../../base/storage/db/prepared.js'
import type { Write } from '../../base/storage/db/write.js'
import { parseJson, toJson } from '../../base/storage/tables/columns.js'
import {
  type Contact,
  changeSubscription,
  contactById,
  findContactInAudience,
} from '../../workspaces/audiences/contacts.js'
import { isRecorded, type RecipientEvent, recordFirstEvent } from '../events/event-log.js'
import { type BroadcastRecipient, markFirstUse, markLaterUse, unmarkUse } from './broadcast-recipients.js'
import { type Email, emailById } from './email/email.js'
import { buildEmailEvent } from './email/email-event.js'

/** Milliseconds in which the holder of the link may undo the request. */
const UNDO_TIME = 3_600_000

/** Returns null if the broadcast and the email are gone. */
export async function senderOfBroadcast(read: Read, recipient: BroadcastRecipient): Promise<Address | null> {
  const { sender } = recipient
  return sender === null ? ((await emailOf(read, recipient))?.from_email ?? null) : parseJson(sender).address
}

export async function isListUnsubscribed(read: Read, recipient: BroadcastRecipient): Promise<boolean> {
  const contact = await contactOf(read, recipient)
  return contact === undefined ? recipient.unsubscribed_at !== null : contact.subscribed === 0
}

/** Tells whether the link has unsubscribed the contact within the last hour, and nothing has changed that since. */
export async function canUndo(read: Read, recipient: BroadcastRecipient, now: number): Promise<boolean> {
  const { workspace_id: workspaceId, unsubscribed_at: at, unsubscribed_contact: id } = recipient
  if (at === null || id === null || now - at > UNDO_TIME) return false
  return (await contactById(read, workspaceId, id))?.subscribed === 0
}

/** Subscribes the contact again, if `canUndo` allows it. Misses if something has changed since it was read. */
export function undoListUnsubscription(recipient: BroadcastRecipient, now: number): readonly Write[] {
  const { email_id, workspace_id: workspaceId, unsubscribed_at: at, unsubscribed_contact: id } = recipient
  if (at === null || id === null) throw new Error(`${email_id} has unsubscribed no contact`)
  return [unmarkUse({ email_id, at }), changeSubscription({ workspaceId, id, from: 0, to: 1, at: now })]
}

interface ListUnsubscription {
  /** True if the link was used before. The writes then unsubscribe a contact that was subscribed again since. */
  readonly isRepeated: boolean
  readonly writes: readonly Write[]
}

/** Returns the writes of one commit. They miss if the same contact is unsubscribed at the same moment. */
export async function buildListUnsubscription(
  read: Read,
  recipient: BroadcastRecipient,
  at: number,
): Promise<ListUnsubscription> {
  const { email_id, workspace_id: workspaceId } = recipient
  const contact = await contactOf(read, recipient)
  const leaving = contact?.subscribed === 1 ? contact.id : null
  const left = leaving === null ? [] : [changeSubscription({ workspaceId, id: leaving, from: 1, to: 0, at })]
  const use = { email_id, at, unsubscribed_contact: leaving }
  if (recipient.unsubscribed_at !== null) {
    return { isRepeated: true, writes: leaving === null ? [] : [...left, markLaterUse(use)] }
  }
  const event = await buildEvent(read, recipient, at)
  // The event of a request that was undone stays, and there is no second one.
  const recorded = (await isRecorded(read, event, 0)) ? [] : [recordFirstEvent(event, 0)]
  return { isRepeated: false, writes: [...left, markFirstUse(use), ...recorded] }
}

async function contactOf(read: Read, recipient: BroadcastRecipient): Promise<Contact | undefined> {
  const { workspace_id: workspaceId, contact_id: id, audience_id: audienceId, address } = recipient
  const contact = await contactById(read, workspaceId, id)
  if (audienceId === null || contact?.audience_id === audienceId) return contact
  return findContactInAudience(read, workspaceId, audienceId, address.toLowerCase())
}

async function emailOf(
  read: Read,
  { workspace_id: workspaceId, email_id: id }: BroadcastRecipient,
): Promise<Email | undefined> {
  return (await emailById(read, { workspaceId, id }))[0]
}

/** Builds the event, without subject and tags if the email's own record is gone. */
async function buildEvent(read: Read, recipient: BroadcastRecipient, at: number): Promise<RecipientEvent> {
  const { email_id: id, workspace_id, broadcast_id, contact_id, address } = recipient
  const from_email = (await senderOfBroadcast(read, recipient)) ?? ''
  const gone = { id, workspace_id, from_email, subject: '', tags: toJson([]) }
  const more = { unsubscribed_at: formatTimestamp(at), broadcast_id, contact_id }
  const news = { type: 'email.unsubscribed', more } as const
  return buildEmailEvent({ email: (await emailOf(read, recipient)) ?? gone, recipient: address, at, news })
}
