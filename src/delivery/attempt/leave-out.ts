/**
 * Leaves out who has left the audience of a broadcast while its message waited: contacts that have unsubscribed, were
 * moved or deleted, and suppressed addresses. Their messages are cancelled before an attempt, the first or a later one.
 * That the suppression list removed a recipient is an event.
 */
import { recordEvent } from '../../events/event-log.js'
import type { Address } from '../../mail/address.js'
import { isInAudience } from '../../messages/broadcast-recipients.js'
import { emailById } from '../../messages/email.js'
import { buildEmailEvent } from '../../messages/email-event.js'
import { cancelEntry } from '../../messages/queue/broadcast-entries.js'
import type { QueueEntry } from '../../messages/queue/queue.js'
import type { Store } from '../../storage/database.js'
import type { SuppressionReason } from '../../storage/tables/content-tables.js'
import { tryCommit, type Write } from '../../storage/writer/write.js'

export interface LeaveOutDeps extends Store {
  /** Null: the address is not suppressed. */
  readonly findSuppressionReason: (workspaceId: string, address: Address) => SuppressionReason | null
}

/** For an entry of a broadcast. */
export function isLeftOut({ read, findSuppressionReason }: LeaveOutDeps, entry: QueueEntry): boolean {
  const { workspace_id: workspaceId, email_id: emailId, recipient } = entry
  return !isInAudience(read, { workspaceId, emailId }) || findSuppressionReason(workspaceId, recipient) !== null
}

/** An entry that was changed since it was read stays: it is judged again when it is due. */
export async function leaveOut(deps: LeaveOutDeps, entry: QueueEntry, now: number): Promise<void> {
  await tryCommit(deps.commit([...cancelEntry(entry, now), ...recordSuppressed(deps, entry, now)]))
}

function recordSuppressed({ read, findSuppressionReason }: LeaveOutDeps, entry: QueueEntry, at: number): Write[] {
  const { workspace_id: workspaceId, email_id: id, recipient } = entry
  const reason = findSuppressionReason(workspaceId, recipient)
  const [email] = emailById(read, { workspaceId, id })
  // Whose outcome is known, such as that of the bounce that suppressed the address, was not removed by the list.
  if (reason === null || email?.status !== 'queued') return []
  return [recordEvent(buildEmailEvent({ email, recipient, at, news: { type: 'email.suppressed', more: { reason } } }))]
}
