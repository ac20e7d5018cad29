/**
 * Acts of the operator on queue entries: hold, release, retry, delete. Each act has an entry in the audit log.
 *
 * Each entry is changed in its own commit, so that one that is being attempted does not stop the others.
 */

import { countChange } from '../../../base/storage/db/table-changes.js'
import type { Commit, Write } from '../../../base/storage/db/write.js'
import { tryCommit } from '../../../base/storage/db/write.js'
import { type Actor, type AuditAction, recordAuditEntry } from '../../../workspaces/accounts/access/audit-log.js'
import { deleteEntry, holdEntry, type ListedEntry, releaseEntry, retryEntry } from './queue-admin.js'

export const queueActs = ['hold', 'release', 'retry', 'delete'] as const
export type QueueAct = (typeof queueActs)[number]

/**
 * Milliseconds until a retried entry is due. By then the daemons, which look four times a second, have noticed the act
 * and forgotten which hosts were down. If one took the entry up before, the entry would wait for them again.
 */
const NOTICE_TIME = 1_000

interface ActRules {
  readonly action: AuditAction
  readonly change: (entry: ListedEntry, at: number) => readonly Write[]
}

const rules: Readonly<Record<QueueAct, ActRules>> = {
  hold: { action: 'queue.held', change: ({ id }, at) => [holdEntry(id, at)] },
  release: { action: 'queue.released', change: ({ id }, at) => [releaseEntry(id, at), countChange('queue_acts')] },
  retry: {
    action: 'queue.retried',
    change: ({ id }, at) => [retryEntry({ id, at: at + NOTICE_TIME }), countChange('queue_acts')],
  },
  delete: { action: 'queue.deleted', change: (entry, at) => deleteEntry(entry, at, 'operator') },
}

export interface ChangedEntries {
  readonly changed: readonly string[]
  /** The entries that are being sent, belong to a paused broadcast, or are not in a state that the act changes. */
  readonly missed: readonly string[]
}

interface Change {
  readonly act: QueueAct
  readonly actor: Actor
  readonly now: number
}

export async function changeEntries(
  commit: Commit,
  entries: readonly ListedEntry[],
  { act, actor, now }: Change,
): Promise<ChangedEntries> {
  const { action, change } = rules[act]
  const outcomes = await Promise.all(
    entries.map((entry) => {
      const { id: target, workspace_id: workspaceId, email_id } = entry
      const entryOfLog = recordAuditEntry({ workspaceId, actor, action, target, at: now, details: { email_id } })
      return tryCommit(commit([...change(entry, now), entryOfLog]))
    }),
  )
  const idsWith = (outcome: boolean): string[] =>
    entries.filter((_, at) => outcomes[at] === outcome).map(({ id }) => id)
  return { changed: idsWith(true), missed: idsWith(false) }
}
