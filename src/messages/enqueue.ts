/**
 * The one way into the queue: an email, its bytes, its recipients, their entries and
 * the first event, as writes of one commit. Once that commit is on disk, it is ours.
 */

import { recordEvent } from '../events/event-log.js'
import type { Address, DomainName } from '../mail/address.js'
import { domainOf } from '../mail/address.js'
import { uuidv7 } from '../platform/ids.js'
import { type Priority, SERVICE } from '../storage/tables.js'
import type { Write } from '../storage/write.js'
import { type Email, insertEmail } from './email.js'
import { insertEntry, priorityRank, type QueueEntry } from './queue.js'
import { insertRaw } from './raw-message.js'
import { insertRecipient } from './recipients.js'

export interface NewRecipient {
  readonly address: Address
  readonly suppressed: boolean
  /** RFC 3461 NOTIFY, as `SUCCESS,FAILURE`; null: not given. */
  readonly notify: string | null
  readonly orcpt: string | null
}

export type NewEmail = Pick<
  Email,
  | 'id'
  | 'workspace_id'
  | 'source'
  | 'message_id'
  | 'envelope_from'
  | 'envid'
  | 'ret'
  | 'from_email'
  | 'from_name'
  | 'to_emails'
  | 'cc_emails'
  | 'bcc_emails'
  | 'reply_to'
  | 'subject'
  | 'tags'
  | 'track_opens'
  | 'track_clicks'
  | 'priority'
  | 'smtputf8'
  | 'created_at'
  | 'scheduled_for'
  | 'key_id'
  | 'template_id'
>

export interface Enqueued {
  readonly email: Email
  /** Due now, or at the time of a scheduled email. */
  readonly entries: readonly QueueEntry[]
  readonly writes: readonly Write[]
}

/** `recipients` holds at least one that is not suppressed. */
export function enqueue(wanted: NewEmail, recipients: readonly NewRecipient[], raw: Buffer): Enqueued {
  const email = newRecord(wanted, raw.length)
  // Ids of one moment are not ordered; sorted they keep recipients in the order in which they were given.
  const ids = recipients.map(() => uuidv7(email.created_at)).sort()
  const rows = recipients.map((recipient, place) => ({ ...recipient, id: ids[place] ?? '' }))
  const entries = rows.filter(({ suppressed }) => !suppressed).map(({ id, address }) => newEntry(email, id, address))
  const { id, workspace_id, created_at } = email
  const writes = [
    insertEmail(email),
    insertRaw({ email_id: id, workspace_id, created_at, raw }),
    ...rows.map((row) => recipientRow(email, row)),
    ...entries.map(insertEntry),
  ]
  if (workspace_id !== SERVICE) writes.push(queuedEvent(email, recipients))
  return { email, entries, writes }
}

function newRecord(wanted: NewEmail, size: number): Email {
  return {
    ...wanted,
    size,
    status: wanted.scheduled_for === null ? 'queued' : 'scheduled',
    sent_at: null,
    delivered_at: null,
    opened_at: null,
    clicked_at: null,
    bounced_at: null,
  }
}

function recipientRow(email: Email, row: NewRecipient & { readonly id: string }): Write {
  return insertRecipient({
    id: row.id,
    email_id: email.id,
    workspace_id: email.workspace_id,
    address: row.address,
    domain: domainOf(row.address),
    status: row.suppressed ? 'suppressed' : email.scheduled_for === null ? 'queued' : 'scheduled',
    notify: row.notify,
    orcpt: row.orcpt,
    created_at: email.created_at,
  })
}

function newEntry(email: Email, id: string, recipient: Address): QueueEntry {
  return {
    id,
    email_id: email.id,
    workspace_id: email.workspace_id,
    recipient,
    domain: domainOf(recipient) as DomainName,
    priority: priorityRank[email.priority as Priority],
    attempts: 0,
    enqueued_at: email.scheduled_for ?? email.created_at,
    next_attempt_at: email.scheduled_for ?? email.created_at,
    leased: 0,
    held: 0,
    noticed: 0,
    last_response: null,
  }
}

function queuedEvent(email: Email, recipients: readonly NewRecipient[]): Write {
  const data = {
    email_id: email.id,
    from: email.from_email,
    to: recipients.filter(({ suppressed }) => !suppressed).map(({ address }) => address),
    subject: email.subject,
    tags: tagObject(email.tags),
  }
  return recordEvent({
    workspaceId: email.workspace_id,
    type: 'email.queued',
    emailId: email.id,
    recipient: null,
    at: email.created_at,
    data,
  })
}

/** Tags as events show them: an object by name. */
export function tagObject(tags: string): Record<string, string> {
  if (tags === '[]') return {}
  const list = JSON.parse(tags) as readonly { readonly name: string; readonly value: string }[]
  return Object.fromEntries(list.map(({ name, value }) => [name, value]))
}
