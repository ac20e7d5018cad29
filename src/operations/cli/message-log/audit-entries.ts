/** Finds what people did to a message: the entries of the audit log that name it or one of its recipients. */

import type { Read } from '../../../base/storage/db/prepared.js'
import { waitForStep } from '../../../base/storage/db/stepped-walk.js'
import { parseJson } from '../../../base/storage/tables/columns.js'
import { auditEntriesOfWorkspace, BEFORE_NEWEST } from '../../../workspaces/accounts/access/audit-log.js'
import { userById } from '../../../workspaces/accounts/people/users.js'
import { entryOf, type LogEntry } from './log-entry.js'

const PAGE = 250

interface AuditedMessage {
  readonly workspaceId: string
  /** The ids of the message, its recipients, and anything else that an act may name. */
  readonly ids: ReadonlySet<string>
  /** No act is older. */
  readonly since: number
}

/** The log of a workspace is walked from its newest entry to the time of the message, in short steps. */
export async function auditEntries(
  read: Read,
  { workspaceId, ids, since }: AuditedMessage,
): Promise<readonly LogEntry[]> {
  const found: LogEntry[] = []
  for (let before = BEFORE_NEWEST; ; ) {
    const page = await auditEntriesOfWorkspace(read, { workspaceId, before, limit: PAGE })
    for (const { at, actor, action, target, details } of page) {
      if (at < since || !ids.has(target)) continue
      const by = await describeActor(read, actor)
      found.push(entryOf(at, 'act', `${action} by ${by}`, { action, actor, target, details: parseJson(details) }))
    }
    const last = page.at(-1)
    if (last === undefined || page.length < PAGE || last.at < since) return found
    before = last.seq
    await waitForStep()
  }
}

async function describeActor(read: Read, actor: string): Promise<string> {
  if (actor === 'operator') return 'the operator'
  if (actor === 'service') return 'the service'
  return (await userById(read, { id: actor }))[0]?.email ?? `user ${actor}`
}
