/**
 * Finds a few emails for the search over everything: by id, by the Message-IDs that Posthorn makes and by complete address along
 * indexes, and by any other text among the newest ones (`records/messages/email-search`).
 */
import { tryParseForeignAddress } from '../../../base/mail/address.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import type { EventType } from '../../../base/storage/tables/email-tables.js'
import { listEvents } from '../../../records/events/event-list.js'
import { type Email, emailById } from '../../../records/messages/email/email.js'
import type { RecipientCountColumn } from '../../../records/messages/email/recipient-counts.js'
import { searchEmails } from '../../../records/messages/email-search.js'

export type FoundEmail = Pick<Email, 'id' | 'subject' | 'to_emails' | 'status' | 'created_at' | RecipientCountColumn>

interface FoundEmails {
  readonly emails: readonly FoundEmail[]
  readonly hasMore: boolean
  /** True if only the newest emails were compared with the text. */
  readonly isPartial: boolean
}

interface EmailSearch {
  readonly workspaceId: string
  readonly text: string
  readonly limit: number
}

/** Ids of emails of broadcasts have a prefix. */
const idForm = /(?:bc-)?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/

/** Each email has an event of one of these types for each recipient. */
const recipientTypes: readonly EventType[] = ['email.queued', 'email.suppressed', 'email.delivered', 'email.bounced']
/** Events that are read for each email: an email has several. */
const EVENTS_PER_EMAIL = 4

export async function findEmails(read: Read, { workspaceId, text, limit }: EmailSearch): Promise<FoundEmails> {
  const [id] = idForm.exec(text.toLowerCase()) ?? []
  const named = id === undefined ? [] : await emailById(read, { workspaceId, id })
  if (named.length > 0) return { emails: named, hasMore: false, isPartial: false }
  const sent = await findByRecipient(read, { workspaceId, text, limit: limit + 1 })
  if (sent.length > 0) return { emails: sent.slice(0, limit), hasMore: sent.length > limit, isPartial: false }
  const search = { ...anyEmail, workspaceId, text }
  const { emails, next } = await searchEmails(read, search, { after: undefined, limit })
  return {
    emails,
    hasMore: next !== null && emails.length === limit,
    isPartial: next !== null && emails.length < limit,
  }
}

const anyEmail = {
  ...{ status: null, broadcastId: null, domain: null, tagName: null, tagValue: null },
  ...{ recipient: null, subject: null, from: null, to: null },
}

/** Finds the newest emails to an address. A text that is no complete address finds none. */
async function findByRecipient(read: Read, { workspaceId, text, limit }: EmailSearch): Promise<readonly Email[]> {
  const recipient = tryParseForeignAddress(text)
  if (recipient === null) return []
  const filter = { workspaceId, recipient, types: recipientTypes }
  const events = await listEvents(read, filter, { limit: limit * EVENTS_PER_EMAIL })
  const ids = new Set(events.flatMap(({ email_id: id }) => (id === null ? [] : [id])))
  const emails: Email[] = []
  for (const id of [...ids].slice(0, limit)) emails.push(...(await emailById(read, { workspaceId, id })))
  return emails
}
