/**
 * Finds the delivery status notifications that the sender of a message got: mail of the service that contains its
 * Message-ID.
 */

import { prepareRead, type Read } from '../../../base/storage/db/prepared.js'
import { orLost } from '../../../base/storage/db/write.js'
import { SERVICE_WORKSPACE } from '../../../base/storage/tables/tables.js'
import type { Email } from '../../../records/messages/email/email.js'
import { readRaw } from '../../../records/messages/email/raw-message.js'
import { entryOf, type LogEntry } from './log-entry.js'

/** Milliseconds from an outcome to the notification about it. */
const MAX_DELAY = 10_000
/** Mails of the service that are read around one outcome, and outcomes that are looked at. */
const MAX_NOTICES = 100
const MAX_OUTCOMES = 100

const serviceMailBetween = prepareRead<{ from: number; to: number; limit: number }>()(({ db, slot }) =>
  db
    .selectFrom('emails')
    .select(['id', 'created_at', 'to_emails', 'subject', 'status'])
    .where('workspace_id', '=', SERVICE_WORKSPACE)
    .where('created_at', '>=', slot('from'))
    .where('created_at', '<=', slot('to'))
    .orderBy('created_at')
    .limit(slot('limit')),
)

/** `outcomes`: the times at which a notification may have been made. */
export function noticeEntries(read: Read, email: Email, outcomes: readonly number[]): readonly LogEntry[] {
  if (email.source !== 'smtp' || email.envelope_from === '') return []
  const found = new Map<string, LogEntry>()
  for (const outcome of [...new Set(outcomes)].slice(0, MAX_OUTCOMES)) {
    const near = { from: outcome, to: outcome + MAX_DELAY, limit: MAX_NOTICES }
    for (const { id, created_at, to_emails, subject, status } of serviceMailBetween(read, near)) {
      if (found.has(id) || !to_emails.includes(email.envelope_from) || !isAbout(read, id, email)) continue
      const text = `"${subject}" to ${email.envelope_from}: ${status}, ${id}`
      found.set(
        id,
        entryOf(created_at, 'notification', text, { email_id: id, to: email.envelope_from, subject, status }),
      )
    }
  }
  return [...found.values()]
}

function isAbout(read: Read, emailId: string, { message_id }: Email): boolean {
  const raw = orLost(() => readRaw(read, { workspaceId: SERVICE_WORKSPACE, emailId }))
  return raw instanceof Buffer && raw.includes(message_id)
}
