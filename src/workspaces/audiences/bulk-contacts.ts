/**
 * One operation on many contacts, in one commit.
 *
 * It skips unknown ids and contacts that need no change. A move also skips contacts whose address the audience has.
 * A repeated id counts once. The commit asserts the state that the operation was planned on, so the counts are
 * exact. After a conflict it plans again.
 */
import { filterAsync } from '../../base/platform/async-filter.js'
import type { Store } from '../../base/storage/db/database.js'
import { prepareWrite, type Read } from '../../base/storage/db/prepared.js'
import { ConstraintViolated, type Write, WriteConflict } from '../../base/storage/db/write.js'
import { assertAudienceExists, requireAudience } from './audiences.js'
import { type Contact, contactById, findContactInAudience, removeContact } from './contacts.js'

/** Contacts of one commit, which takes some tens of milliseconds of the writer. */
export const MAX_BULK_CONTACTS = 1_000

export type BulkOperation =
  | { readonly kind: 'delete' | 'subscribe' | 'unsubscribe' }
  | { readonly kind: 'move'; readonly audienceId: string }

export interface BulkCounts {
  readonly affected: number
  readonly skipped: number
}

/** Rejects with a Refusal `audience-not-found`. */
export async function applyBulkOperation(
  { read, commit }: Store,
  workspaceId: string,
  operation: BulkOperation,
  { ids, now }: { readonly ids: readonly string[]; readonly now: number },
): Promise<BulkCounts> {
  const unique = [...new Set(ids)]
  for (;;) {
    const writes = await planWrites(read, workspaceId, operation, unique, now)
    try {
      if (writes.length > 0) await commit([...buildTargetAssertion(workspaceId, operation), ...writes])
      return { affected: writes.length, skipped: unique.length - writes.length }
    } catch (error) {
      if (!(error instanceof WriteConflict) && !(error instanceof ConstraintViolated)) throw error
    }
  }
}

function buildTargetAssertion(workspaceId: string, operation: BulkOperation): readonly Write[] {
  return operation.kind === 'move' ? [assertAudienceExists({ workspaceId, id: operation.audienceId })] : []
}

async function planWrites(
  read: Read,
  workspaceId: string,
  operation: BulkOperation,
  ids: readonly string[],
  now: number,
): Promise<readonly Write[]> {
  if (operation.kind === 'move') await requireAudience(read, workspaceId, operation.audienceId)
  const contacts: Contact[] = []
  for (const id of ids) {
    const contact = await contactById(read, workspaceId, id)
    if (contact !== undefined) contacts.push(contact)
  }
  switch (operation.kind) {
    case 'delete':
      return contacts.map(({ id }) => removeContact({ workspaceId, id }))
    case 'subscribe':
    case 'unsubscribe': {
      const subscribed = operation.kind === 'subscribe' ? 1 : 0
      return contacts
        .filter((contact) => contact.subscribed !== subscribed)
        .map(({ id }) => setSubscribed({ workspaceId, id, subscribed, before: subscribed === 1 ? 0 : 1, now }))
    }
    case 'move': {
      const movable = await filterMovable(read, workspaceId, operation.audienceId, contacts)
      return movable.map(({ id, audience_id }) =>
        setAudience({ workspaceId, id, before: audience_id, audienceId: operation.audienceId, now }),
      )
    }
  }
}

/** Keeps the contacts that can be moved. Of several contacts with one address it keeps only the first. */
async function filterMovable(
  read: Read,
  workspaceId: string,
  audienceId: string,
  contacts: readonly Contact[],
): Promise<readonly Contact[]> {
  const coming = new Set<string>()
  return filterAsync(contacts, async ({ audience_id, email_key }) => {
    if (audience_id === audienceId || coming.has(email_key)) return false
    if ((await findContactInAudience(read, workspaceId, audienceId, email_key)) !== undefined) return false
    coming.add(email_key)
    return true
  })
}

const setSubscribed = prepareWrite<{
  workspaceId: string
  id: string
  subscribed: 0 | 1
  before: 0 | 1
  now: number
}>(
  ({ db, slot }) =>
    db
      .updateTable('contacts')
      .set({ subscribed: slot('subscribed'), updated_at: slot('now') })
      .where('workspace_id', '=', slot('workspaceId'))
      .where('id', '=', slot('id'))
      .where('subscribed', '=', slot('before')),
  1,
)

const setAudience = prepareWrite<{
  workspaceId: string
  id: string
  before: string | null
  audienceId: string
  now: number
}>(
  ({ db, slot }) =>
    db
      .updateTable('contacts')
      .set({ audience_id: slot('audienceId'), updated_at: slot('now') })
      .where('workspace_id', '=', slot('workspaceId'))
      .where('id', '=', slot('id'))
      .where('audience_id', 'is not distinct from', slot('before')),
  1,
)
