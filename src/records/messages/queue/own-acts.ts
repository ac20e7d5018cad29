/**
 * Holds, releases and retries entries of the queue for members of their workspace. Each entry is changed in a separate
 * commit with an entry in the audit log, so that one that is being attempted does not stop the others.
 */

import { Refusal } from '../../../base/mail/refusal.js'
import { filterAsync } from '../../../base/platform/async-filter.js'
import type { Store } from '../../../base/storage/db/database.js'
import { countChange } from '../../../base/storage/db/table-changes.js'
import { tryCommit, type Write } from '../../../base/storage/db/write.js'
import { type Actor, type AuditAction, recordAuditEntry } from '../../../workspaces/accounts/access/audit-log.js'
import { entryById } from './queue.js'
import { holdOwnEntry, releaseOwnEntry, retryOwnEntry } from './queue-admin.js'

const acts = {
  hold: { action: 'queue.held', change: (id, at) => [holdOwnEntry(id, at)] },
  release: { action: 'queue.released', change: (id, at) => [releaseOwnEntry(id, at), countChange('due_mail')] },
  retry: { action: 'queue.retried', change: (id, at) => [retryOwnEntry(id, at), countChange('due_mail')] },
} as const satisfies Readonly<
  Record<string, { readonly action: AuditAction; readonly change: (id: string, at: number) => readonly Write[] }>
>

export type OwnAct = keyof typeof acts

interface OwnEntries {
  readonly workspaceId: string
  readonly emailId: string
  readonly recipientIds: readonly string[]
  readonly actor: Actor
}

/**
 * Resolves to the recipients whose entry was changed. Throws a Refusal `conflict` if there are none: they are settled,
 * being attempted, held by the operator, belong to a paused broadcast, or are already in that state.
 */
export async function changeOwnEntries(
  { read, commit }: Store,
  act: OwnAct,
  { workspaceId, emailId, recipientIds, actor }: OwnEntries,
  now: number,
): Promise<readonly string[]> {
  const { action, change } = acts[act]
  const ids = await filterAsync([...new Set(recipientIds)], async (id) => {
    const [entry] = await entryById(read, { id })
    return entry?.email_id === emailId && entry.workspace_id === workspaceId
  })
  const record = (target: string): Write =>
    recordAuditEntry({ workspaceId, actor, action, target, at: now, details: { email_id: emailId } })
  const outcomes = await Promise.all(ids.map((id) => tryCommit(commit([...change(id, now), record(id)]))))
  const changed = ids.filter((_, at) => outcomes[at])
  if (changed.length > 0) return changed
  const message = `nothing to ${act}: settled, being sent now, held by the operator, of a paused broadcast, or done already`
  throw new Refusal('conflict', message, { id: emailId })
}
