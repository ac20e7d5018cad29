/**
 * Leaves out who has left the audience of a broadcast while its message waited: contacts that have unsubscribed, were
 * moved or deleted, and suppressed addresses. Their messages are cancelled before an attempt, the first or a later one.
 */
import type { Address } from '../../mail/address.js'
import { isInAudience } from '../../messages/broadcast-recipients.js'
import { cancelEntry } from '../../messages/queue/broadcast-entries.js'
import type { QueueEntry } from '../../messages/queue/queue.js'
import type { Store } from '../../storage/database.js'
import { tryCommit } from '../../storage/writer/write.js'

export interface LeaveOutDeps extends Store {
  readonly isSuppressed: (workspaceId: string, address: Address) => boolean
}

/** For an entry of a broadcast. */
export function isLeftOut({ read, isSuppressed }: LeaveOutDeps, entry: QueueEntry): boolean {
  const { workspace_id: workspaceId, email_id: emailId, recipient } = entry
  return !isInAudience(read, { workspaceId, emailId }) || isSuppressed(workspaceId, recipient)
}

/** An entry that was changed since it was read stays: it is judged again when it is due. */
export async function leaveOut({ commit }: LeaveOutDeps, entry: QueueEntry, now: number): Promise<void> {
  await tryCommit(commit(cancelEntry(entry, now)))
}
