/**
 * Leaves out recipients who no longer want a message that waited for its time or for an attempt.
 *
 * A message of a broadcast is cancelled if its contact has unsubscribed, was moved or deleted, or if the address is
 * suppressed. A recipient of any other email becomes `suppressed` if a person has put the address on the list since the
 * email was accepted: by a complaint, by unsubscribing, or by hand. An address that bounced does not count: parallel
 * messages to it keep their own outcomes. An event tells that the suppression list removed a recipient.
 */

import type { Store } from '../../../base/storage/db/database.js'
import { tryCommit, type Write } from '../../../base/storage/db/write.js'
import { recordEvent } from '../../../records/events/event-log.js'
import { isInAudience } from '../../../records/messages/broadcast-recipients.js'
import { emailById } from '../../../records/messages/email/email.js'
import { buildEmailEvent } from '../../../records/messages/email/email-event.js'
import { changeRecipientStatus, releaseRecipients } from '../../../records/messages/email/recipients.js'
import { rollUpEmail } from '../../../records/messages/email/roll-up.js'
import { cancelEntry, removeUnchanged } from '../../../records/messages/queue/broadcast-entries.js'
import type { QueueEntry } from '../../../records/messages/queue/queue.js'
import type { SuppressionCache } from '../../../records/suppressions/suppression-cache.js'

interface LeaversDeps extends Store {
  readonly suppressions: Pick<SuppressionCache, 'findReason'>
}

export class Leavers {
  constructor(private readonly deps: LeaversDeps) {}

  async has(entry: QueueEntry): Promise<boolean> {
    const { workspace_id: workspaceId, email_id: emailId, recipient, broadcast_id: broadcastId } = entry
    const reason = await this.deps.suppressions.findReason(workspaceId, recipient)
    if (broadcastId === null) return reason !== null && reason !== 'hard_bounce'
    return reason !== null || !(await isInAudience(this.deps.read, { workspaceId, emailId }))
  }

  /** Removes the entry. An entry that was changed since it was read stays, and is judged again when it is due. */
  async remove(entry: QueueEntry, now: number): Promise<void> {
    const leaving = entry.broadcast_id === null ? suppressEntry(entry, now) : cancelEntry(entry, now)
    await tryCommit(this.deps.commit([...leaving, ...(await recordSuppressed(this.deps, entry, now))]))
  }
}

/** Releases the email too, which may be scheduled. Misses if the entry was changed since it was read, or cancelled. */
function suppressEntry(entry: QueueEntry, at: number): readonly Write[] {
  const { id, email_id: emailId } = entry
  return [
    removeUnchanged(entry),
    releaseRecipients({ emailId }),
    changeRecipientStatus({ id, from: 'queued', to: 'suppressed', reason: null, settledAt: at }),
    rollUpEmail({ emailId, sentAt: null, deliveredAt: null, bouncedAt: null }),
  ]
}

async function recordSuppressed({ read, suppressions }: LeaversDeps, entry: QueueEntry, at: number): Promise<Write[]> {
  const { workspace_id: workspaceId, email_id: id, recipient } = entry
  const reason = await suppressions.findReason(workspaceId, recipient)
  const [email] = await emailById(read, { workspaceId, id })
  if (reason === null || email === undefined) return []
  // The list did not remove a recipient whose outcome is known, for example by the bounce that suppressed the address.
  if (entry.broadcast_id !== null && email.status !== 'queued') return []
  return [recordEvent(buildEmailEvent({ email, recipient, at, news: { type: 'email.suppressed', more: { reason } } }))]
}
