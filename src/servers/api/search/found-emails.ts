/**
 * Finds a few emails for the search over everything: by id, by the Message-IDs that Posthorn makes and by complete address along
 * indexes, and by any other text among the newest ones (`records/messages/email-search`).
 */
import { tryParseForeignAddress } from '../../../base/mail/address.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { type Email, emailById } from '../../../records/messages/email/email.js'
import type { RecipientCountColumn } from '../../../records/messages/email/recipient-counts.js'
import { searchEmails } from '../../../records/messages/email-search.js'
import { findEmailsTo } from '../../../records/messages/emails-to-address.js'

export type FoundEmail = Pick<
  Email,
  'id' | 'subject' | 'to_emails' | 'status' | 'created_at' | 'broadcast_id' | RecipientCountColumn
>

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

export async function findEmails(read: Read, { workspaceId, text, limit }: EmailSearch): Promise<FoundEmails> {
  const [id] = idForm.exec(text.toLowerCase()) ?? []
  const named = id === undefined ? [] : await emailById(read, { workspaceId, id })
  if (named.length > 0) return { emails: named, hasMore: false, isPartial: false }
  const address = tryParseForeignAddress(text)
  const order = 'desc'
  if (address !== null) {
    const search = { ...anyEmail, workspaceId, text: null }
    const { emails, next } = await findEmailsTo(read, address, search, { after: null, order, limit })
    if (emails.length > 0) return { emails, hasMore: next !== null, isPartial: false }
  }
  const search = { ...anyEmail, workspaceId, text }
  const { emails, next } = await searchEmails(read, search, { after: undefined, order, limit })
  return {
    emails,
    hasMore: next !== null && emails.length === limit,
    isPartial: next !== null && emails.length < limit,
  }
}

const anyEmail = {
  ...{ status: null, broadcastId: null, domain: null, tagName: null, tagValue: null, keyId: null },
  ...{ recipient: null, subject: null, from: null, to: null },
}
