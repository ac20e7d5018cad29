/** An event about one recipient of an email, with what every such event says. */

import type { RecipientEvent } from '../events/event-log.js'
import type { EventType } from '../storage/tables/email-tables.js'
import type { Email } from './email.js'
import { toTagObject } from './queue/enqueue.js'

/** What the events of an email say about it. */
export interface EmailSummary {
  readonly id: string
  readonly workspace_id: string
  readonly from_email: string
  readonly subject: string
  readonly tags: Email['tags']
}

export interface EmailEvent {
  readonly email: EmailSummary
  readonly recipient: string
  readonly type: EventType
  readonly at: number
  /** What this type says beyond the rest. */
  readonly more: Readonly<Record<string, unknown>>
}

export function buildEmailEvent({ email, recipient, type, at, more }: EmailEvent): RecipientEvent {
  const { id, workspace_id: workspaceId, from_email: from, subject } = email
  const data = { email_id: id, from, to: recipient, subject, tags: toTagObject(email.tags), ...more }
  return { workspaceId, type, emailId: id, recipient, at, data }
}
