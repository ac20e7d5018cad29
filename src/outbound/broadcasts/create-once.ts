/**
 * Creates a draft for a request that may be repeated. Within the lifetime of an idempotency key, the same key with the same
 * request gets the same broadcast again, as it is now. The commit of the draft stores the key.
 */
import { Refusal } from '../../base/mail/refusal.js'
import type { Store } from '../../base/storage/db/database.js'
import { prepareWrite, type Read } from '../../base/storage/db/prepared.js'
import { ConstraintViolated, tryCommit } from '../../base/storage/db/write.js'
import { toJson } from '../../base/storage/tables/columns.js'
import { type Actor, recordAuditEntry } from '../../workspaces/accounts/access/audit-log.js'
import { findEarlierUse, freeKey, type KeyUse, noteKey } from '../sending/idempotency.js'
import { type Broadcast, type BroadcastRef, broadcastById } from './broadcast-records.js'
import { createDraft, type NewDraft } from './draft.js'

interface DraftRequest {
  readonly workspaceId: string
  readonly draft: NewDraft
  /** Null if the request has no key. */
  readonly use: KeyUse | null
  readonly now: number
}

/** Rejects with the refusals of `createDraft`, or with `conflict` for a key that cannot be used. */
export async function createDraftOnce(
  store: Store,
  { workspaceId, draft, use, now }: DraftRequest,
): Promise<Broadcast> {
  if (use === null) return createDraft(store, workspaceId, draft, now)
  const before = await findCreated(store.read, use, now)
  if (before !== null) return before
  try {
    const note = (id: string) => noteKey(use, { emailId: null, answer: toAnswer(id), progress: null }, now)
    return await createDraft(store, workspaceId, draft, now, note)
  } catch (error) {
    const other = error instanceof ConstraintViolated ? await findCreated(store.read, use, now) : null
    if (other === null) throw error
    return other
  }
}

async function findCreated(read: Read, use: KeyUse, now: number): Promise<Broadcast | null> {
  const earlier = await findEarlierUse(read, use, now)
  if (earlier === null) return null
  const { broadcast: id = '' }: { readonly broadcast?: string } = JSON.parse(earlier.answer ?? '{}')
  const [broadcast] = await broadcastById(read, { workspaceId: use.workspaceId, id })
  if (broadcast !== undefined) return broadcast
  throw new Refusal('conflict', 'the broadcast that was created with this idempotency key is deleted', {
    value: use.key,
  })
}

/** Misses if the broadcast is not a draft, or has changed since `version` was read. */
const removeDraft = prepareWrite<BroadcastRef & { readonly version: number }>(
  ({ db, slot }) =>
    db
      .deleteFrom('broadcasts')
      .where('workspace_id', '=', slot('workspaceId'))
      .where('id', '=', slot('id'))
      .where('status', '=', 'draft')
      .where('version', '=', slot('version')),
  1,
)

interface Refused {
  readonly draft: Broadcast
  /** Null if the request had no key. */
  readonly use: KeyUse | null
  readonly actor: Actor
  readonly now: number
}

/** The version of a draft that was not changed. */
const UNCHANGED = 1

/**
 * Takes back the draft of a request that was refused after all, because its client has no id of the draft. The same commit
 * makes the key usable again. Resolves to false, and changes nothing, if the broadcast is no longer a draft, or if it was
 * changed.
 */
export function takeBackDraft({ commit }: Store, { draft, use, actor, now }: Refused): Promise<boolean> {
  const { id, workspace_id: workspaceId, name, status } = draft
  return tryCommit(
    commit([
      removeDraft({ workspaceId, id, version: UNCHANGED }),
      ...(use === null ? [] : [freeKey({ workspaceId, key: use.key, answer: toAnswer(id) })]),
      recordAuditEntry({
        ...{ workspaceId, actor, action: 'broadcast.deleted', target: id, at: now },
        details: { name, status },
      }),
    ]),
  )
}

/** What the row of a key says of the draft that the request with the key has created. */
function toAnswer(id: string): string {
  return toJson({ broadcast: id })
}
