/** Builds an event about one recipient of an email, with the data that all such events share. */

import { parseJson } from '../../../base/storage/tables/columns.js'
import type { EventType } from '../../../base/storage/tables/email-tables.js'
import type { RecipientEvent } from '../../events/event-log.js'
import type { EmailData, EventPayloads } from '../../events/payloads.js'
import type { Email } from './email.js'

/** The fields of an email that its events contain. */
export interface EmailSummary {
  readonly id: string
  readonly workspace_id: string
  readonly from_email: string
  readonly subject: string
  readonly tags: Email['tags']
}

type RecipientEventType = { [Type in EventType]: EventPayloads[Type] extends EmailData ? Type : never }[EventType]

/** A type, with the data that only this type has. */
export type RecipientNews = {
  [Type in RecipientEventType]: {
    readonly type: Type
    readonly more: Omit<EventPayloads[Type], keyof EmailData>
  }
}[RecipientEventType]

interface EmailEvent {
  readonly email: EmailSummary
  readonly recipient: string
  readonly at: number
  readonly news: RecipientNews
}

export function buildEmailEvent({ email, recipient, at, news: { type, more } }: EmailEvent): RecipientEvent {
  const { id, workspace_id: workspaceId, from_email: from, subject } = email
  const data = { email_id: id, from, to: recipient, subject, tags: toTagObject(email.tags), ...more }
  // TypeScript does not see that `more` belongs to `type`.
  return { workspaceId, type, emailId: id, recipient, at, data } as RecipientEvent
}

/** Returns tags as events show them: an object by name. Several tags of one name are a list, in their order. */
export function toTagObject(tags: Email['tags']): Record<string, string | readonly string[]> {
  if (tags === '[]') return {}
  const byName = Map.groupBy(parseJson(tags), ({ name }) => name)
  return Object.fromEntries([...byName].map(([name, all]) => [name, joinValues(all.map(({ value }) => value))]))
}

function joinValues(values: readonly string[]): string | readonly string[] {
  const [only = '', ...others] = values
  return others.length === 0 ? only : values
}
