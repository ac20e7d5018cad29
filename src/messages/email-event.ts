/** An event about one recipient of an email, with the data that all such events share. */
import type { RecipientEvent } from '../events/event-log.js'
import type { EventType } from '../storage/tables/email-tables.js'
import type { Email } from './email.js'
import { toTagObject } from './queue/enqueue.js'

/** The fields of an email that its events contain. */
export interface EmailSummary {
  readonly id: string
  readonly workspace_id: string
  readonly from_email: string
  readonly subject: string
  readonly tags: Email['tags']
}

interface EmailEvent {
  readonly email: EmailSummary
  readonly recipient: string
  readonly type: EventType
  readonly at: number
  /** Additional data of this type. */
  readonly more: Readonly<Record<string, unknown>>
}

export function buildEmailEvent({ email, recipient, type, at, more }: EmailEvent): RecipientEvent {
  const { id, workspace_id: workspaceId, from_email: from, subject } = email
  const data = { email_id: id, from, to: recipient, subject, tags: toTagObject(email.tags), ...more }
  return { workspaceId, type, emailId: id, recipient, at, data }
}
