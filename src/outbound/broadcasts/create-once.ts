/**
 * Creates a draft for a request that may be repeated. Within the lifetime of an idempotency key, the same key with the same
 * request gets the same broadcast again, as it is now. The commit of the draft stores the key.
 */
import { Refusal } from '../../base/mail/refusal.js'
import type { Store } from '../../base/storage/db/database.js'
import type { Read } from '../../base/storage/db/prepared.js'
import { ConstraintViolated } from '../../base/storage/db/write.js'
import { toJson } from '../../base/storage/tables/columns.js'
import { expireIdempotency, findEarlierUse, type KeyUse, noteKey } from '../sending/idempotency.js'
import { type Broadcast, broadcastById } from './broadcast-records.js'
import { createDraft, type NewDraft } from './draft.js'

interface DraftRequest {
  readonly workspaceId: string
  readonly draft: NewDraft
  /** Null if the request has no key. */
  readonly use: KeyUse | null
  readonly now: number
}

interface CreatedDraft {
  readonly broadcast: Broadcast
  /** False if an earlier request has created it. */
  readonly isNew: boolean
}

/** Rejects with the refusals of `createDraft`, or with `conflict` for a key that cannot be used. */
export async function createDraftOnce(
  store: Store,
  { workspaceId, draft, use, now }: DraftRequest,
): Promise<CreatedDraft> {
  if (use === null) return { broadcast: await createDraft(store, workspaceId, draft, now), isNew: true }
  const before = await findCreated(store.read, use, now)
  if (before !== null) return { broadcast: before, isNew: false }
  try {
    const note = (id: string) => noteKey(use, { emailId: null, answer: toJson({ broadcast: id }), progress: null }, now)
    return { broadcast: await createDraft(store, workspaceId, draft, now, note), isNew: true }
  } catch (error) {
    const other = error instanceof ConstraintViolated ? await findCreated(store.read, use, now) : null
    if (other === null) throw error
    return { broadcast: other, isNew: false }
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

/** Makes the key usable again after its request was refused. */
export async function forgetKey({ commit }: Store, { workspaceId, key }: KeyUse, now: number): Promise<void> {
  await commit([expireIdempotency({ workspaceId, key, before: now + 1 })])
}
