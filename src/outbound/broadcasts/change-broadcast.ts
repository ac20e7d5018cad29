/**
 * Pauses, resumes, cancels and deletes a broadcast. Each act is one commit with its entry in the audit log. The engine
 * then changes the queue.
 */

import { formatForDisplay } from '../../base/mail/address.js'
import { Refusal } from '../../base/mail/refusal.js'
import type { Store } from '../../base/storage/db/database.js'
import { tryCommit, type Write } from '../../base/storage/db/write.js'
import { type Actor, type AuditAction, recordAuditEntry } from '../../workspaces/accounts/access/audit-log.js'
import { requireBroadcast } from './broadcast-list.js'
import {
  type Broadcast,
  type BroadcastRef,
  cancelBroadcast,
  pauseBroadcast,
  removeBroadcast,
  resumeBroadcast,
} from './broadcast-records.js'
import { removeSentContent } from './sent-content.js'

interface Act {
  readonly from: readonly Broadcast['status'][]
  readonly rule: string
  readonly action: AuditAction
  readonly write: (change: BroadcastRef & { readonly now: number }) => Write
}

const acts = {
  cancel: {
    from: ['scheduled', 'sending', 'paused'],
    rule: 'only a scheduled, sending or paused broadcast can be cancelled',
    action: 'broadcast.cancelled',
    write: cancelBroadcast,
  },
  pause: {
    from: ['sending'],
    rule: 'only a sending broadcast can be paused',
    action: 'broadcast.paused',
    write: (change) => pauseBroadcast({ ...change, note: null }),
  },
  resume: {
    from: ['paused'],
    rule: 'only a paused broadcast can be resumed',
    action: 'broadcast.resumed',
    write: resumeBroadcast,
  },
} as const satisfies Readonly<Record<string, Act>>

export type BroadcastAct = keyof typeof acts

interface Change {
  readonly ref: BroadcastRef
  readonly actor: Actor
  readonly now: number
}

/** Throws a Refusal: `not-found`, or `conflict` if its state forbids the act. */
export async function actOnBroadcast({ read, commit }: Store, act: BroadcastAct, change: Change): Promise<Broadcast> {
  const { from, rule, action, write }: Act = acts[act]
  const { ref, now } = change
  for (;;) {
    const broadcast = await requireBroadcast(read, ref)
    if (!from.includes(broadcast.status)) throw buildStateConflict(broadcast, rule)
    // The write missed because the state has changed since it was read.
    if (await tryCommit(commit([write({ ...ref, now }), audit(broadcast, action, change)]))) {
      return requireBroadcast(read, ref)
    }
  }
}

/**
 * Deletes a broadcast. Its emails, their counts and their links stay until their retention ends. Throws a Refusal:
 * `not-found`, or `conflict` while messages of it may be in the queue.
 */
export async function deleteBroadcast({ read, commit }: Store, change: Change): Promise<void> {
  const { ref } = change
  for (;;) {
    const broadcast = await requireBroadcast(read, ref)
    checkRemovable(broadcast)
    const { started_at, version } = broadcast
    const writes = [
      removeBroadcast({ ...ref, version }),
      // The messages and links of a broadcast that has started still need its frame and links.
      ...(started_at === null ? removeSentContent(ref) : []),
      audit(broadcast, 'broadcast.deleted', change),
    ]
    if (await tryCommit(commit(writes))) return
  }
}

function checkRemovable(broadcast: Broadcast): void {
  const { status, finished_at } = broadcast
  if (status === 'sending' || status === 'paused') {
    throw buildStateConflict(broadcast, 'a broadcast is cancelled before it can be deleted')
  }
  if (status === 'cancelled' && finished_at === null) {
    throw buildStateConflict(broadcast, 'its messages are still being cancelled, try again in a moment')
  }
}

function audit({ name, status }: Broadcast, action: AuditAction, { ref, actor, now: at }: Change): Write {
  return recordAuditEntry({
    workspaceId: ref.workspaceId,
    actor,
    action,
    target: ref.id,
    at,
    details: { name, status },
  })
}

export function buildStateConflict({ id, status }: Pick<Broadcast, 'id' | 'status'>, rule: string): Refusal {
  return new Refusal('conflict', `${rule}: ${formatForDisplay(id)} is ${status}`, { id, status })
}
